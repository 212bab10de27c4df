# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from topologies import (
    AddressField,
    AddressPlan,
    End,
    Fabric,
    TopologyError,
    full_mesh,
    ub_pod,
    ub_rack,
    ub_rack_lrs,
)
from topologies.model.checks import LaneUse, check, lane_audit, problems

AS_GRAPH = "; give the fabric `graph_routed: true`"
NO_DIMENSION = "; give it a dimension, or the fabric `graph_routed: true`"


def with_link(fabric: Fabric, number: int, **changes) -> Fabric:
    links = list(fabric.links)
    links[number] = replace(links[number], **changes)
    return replace(fabric, links=tuple(links))


def with_node(fabric: Fabric, number: int, **changes) -> Fabric:
    nodes = list(fabric.nodes)
    nodes[number] = replace(nodes[number], **changes)
    return replace(fabric, nodes=tuple(nodes))


def test_generated_fabrics_have_no_problem() -> None:
    check(ub_rack())
    check(full_mesh([2, 3, 4]))


def test_rack_uses_56_of_72_lanes() -> None:
    audit = lane_audit(ub_rack())
    assert set(audit.values()) == {LaneUse(56, 72)}
    assert audit["npu0"].unconnected == 16


MESH = full_mesh([4, 4])
RACK = ub_rack_lrs(dims=(2, 2), planes=1, uplink_lanes=4)
POD = ub_pod(dims=(2, 2, 2, 1), planes=1, uplink_lanes=4)
HOST_ONLY = (MESH.nodes[0].ports[0],)


@pytest.mark.parametrize(
    ("fabric", "problem"),
    [
        (replace(MESH, nodes=(), links=()), "no nodes"),
        (with_node(MESH, 1, name="npu0"), "node name npu0 is used more than once"),
        (with_node(MESH, 1, index=0), "node index 0 is used more than once"),
        (with_node(MESH, 1, address=0), "address 0x0000 belongs to npu0, npu1"),
        (with_node(MESH, 1, address=0), "npu1: address 0x0000 is not that of coordinates (1, 0)"),
        (with_node(MESH, 1, address=1 << 16), "npu1: address 0x10000 does not fit 16 bits"),
        (with_node(MESH, 1, coordinates=(4, 0)), "npu1: coordinates (4, 0) lie outside dims (4, 4)"),
        (with_node(MESH, 1, coordinates=(1,)), "npu1: coordinates (1,) lie outside dims (4, 4)"),
        (with_node(MESH, 1, ports=MESH.nodes[1].ports[1:]), "npu1: no host port 0"),
        (
            with_node(MESH, 1, ports=(*MESH.nodes[1].ports, MESH.nodes[1].ports[2])),
            "npu1: two ports numbered 2",
        ),
        (
            with_node(MESH, 1, ports=(*HOST_ONLY, replace(MESH.nodes[1].ports[1], lanes=0))),
            "npu1 port 1: 0 lanes",
        ),
        (
            replace(MESH, address_plan=AddressPlan((AddressField("d0", 2),))),
            "address plan: 1 fields, 2 bits, for 2 dimensions",
        ),
        (replace(MESH, groups=((0,),)), "groups ((0,),) do not name each of 2 dimensions once"),
        (with_link(MESH, 0, name="npu0-npu2"), "link name npu0-npu2 is used more than once"),
        (with_link(MESH, 0, b=End("npu99", 1)), "link npu0-npu1: no node named 'npu99'"),
        (with_link(MESH, 0, b=End("npu1", 77)), "link npu0-npu1: npu1 has no port 77"),
        (with_link(MESH, 0, b=End("npu1", 0)), "link npu0-npu1: ends on the host port of npu1"),
        (with_link(MESH, 0, b=End("npu0", 2)), "link npu0-npu1: both ends on npu0"),
        (with_link(MESH, 0, b=End("npu1", 2)), "links npu0-npu1 and npu1-npu2 share port 2 of npu1"),
        (
            with_link(MESH, 0, lanes=8),
            "link npu0-npu1: x8 in dimension 0, but port 1 of npu0 is x4 in dimension 0",
        ),
        (
            with_link(MESH, 0, dimension=1),
            "link npu0-npu1: (0, 0) to (1, 0) is no step in dimension 1 alone" + AS_GRAPH,
        ),
        (with_link(MESH, 0, rate_bps=0), "link npu0-npu1: rate of 0 bit/s"),
        (with_link(MESH, 0, delay_ps=-1), "link npu0-npu1: delay of -1 ps"),
        (replace(MESH, lane_rate_bps=0), "lane rate of 0 bit/s"),
        (replace(MESH, host_lanes=0), "0 host lanes"),
        (replace(MESH, links=MESH.links[1:]), "npu0: port 1 (x1) has no link"),
        (full_mesh([16, 16]), "npu0, npu1, npu2 and 253 more: links use 120 of 72 lanes"),
    ],
)
def test_each_problem_is_found_and_named(fabric: Fabric, problem: str) -> None:
    assert problem in problems(fabric)


def named(fabric: Fabric, name: str) -> int:
    return next(number for number, link in enumerate(fabric.links) if link.name == name)


NPU_UP = named(RACK, "npu0-lrs0p0n0")
BETWEEN = named(POD, "lrs0p0r0-lrs1p0r0")


@pytest.mark.parametrize(
    ("fabric", "problem"),
    [
        (
            with_link(RACK, NPU_UP, dimension=1),
            "link npu0-lrs0p0n0: in dimension 1, but joins tiers 0 and 1",
        ),
        (
            with_link(RACK, NPU_UP, dimension=1),
            "link npu0-lrs0p0n0: x4 in dimension 1, but port 3 of npu0 is x4 in no dimension",
        ),
        (
            with_link(RACK, 0, dimension=None),
            "link npu0-npu1: in no dimension, but joins two nodes of tier 0" + NO_DIMENSION,
        ),
        (
            with_link(POD, BETWEEN, dimension=3),
            "link lrs0p0r0-lrs1p0r0: (0, 1, 0, 0) to (0, 1, 1, 0) is no step in dimension 3 alone" + AS_GRAPH,
        ),
        (with_node(RACK, 0, tier=1), "npu0: has host port 0, but a node of tier 1 must have none"),
        (with_node(RACK, 0, tier=-1), "npu0: tier is -1, below 0"),
        (with_node(RACK, 6, tier=0), "lrs0p0n0: no host port 0"),
        (with_node(RACK, 6, lanes=0), "lrs0p0n0: 0 lanes"),
        (with_node(RACK, 6, lanes=23), "lrs0p0n0: links use 24 of 23 lanes"),
        (
            with_node(MESH, 1, ports=(replace(HOST_ONLY[0], dimension=0), *MESH.nodes[1].ports[1:])),
            "npu1 port 0: the host port is in no dimension, not 0",
        ),
        (
            with_node(MESH, 1, ports=(*HOST_ONLY, replace(MESH.nodes[1].ports[1], dimension=2))),
            "npu1 port 1: dimension 2 does not exist",
        ),
    ],
)
def test_each_problem_of_tiers_is_found_and_named(fabric: Fabric, problem: str) -> None:
    assert problem in problems(fabric)


def test_lanes_are_counted_against_what_each_node_has() -> None:
    audit = lane_audit(RACK)
    assert audit["npu0"] == LaneUse(12, 72)
    assert audit["cpu0"] == LaneUse(8, 32)
    assert audit["lrs0p0n0"] == LaneUse(24, 72)


def test_parts_that_nothing_joins_are_named() -> None:
    apart = tuple(link for link in MESH.links if "npu15" not in (link.a.node, link.b.node))
    assert "no path joins npu15 to npu0" in problems(replace(MESH, links=apart))


def test_all_problems_come_at_once() -> None:
    broken = with_node(with_link(with_link(MESH, 0, rate_bps=0), 1, b=End("npu99", 1)), 5, address=0)
    with pytest.raises(TopologyError) as caught:
        check(broken)
    for part in ("rate of 0", "npu99", "belongs to npu0, npu5"):
        assert part in str(caught.value)
