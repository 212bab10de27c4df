# SPDX-License-Identifier: Apache-2.0
"""HPN and DCN+: what leads where, and what cannot be built."""

import networkx as nx
import pytest

from topologies import Fabric, NodeKind, TopologyError, dcn_plus, hpn
from topologies.families.hpn.shape import planned
from topologies.model.checks import check
from topologies.model.codec import from_json, to_json
from topologies.model.places import domains, nic_ports


def far(fabric: Fabric, node: str, port: int) -> str:
    end = fabric.peer(node, port)
    assert end is not None
    return end.node


@pytest.mark.parametrize(
    "fabric",
    [
        hpn(),
        hpn(3, 3, 2, backup=1, aggs=2, cores=2),
        hpn(2, 2, 2, planes=1),
        hpn(2, 2, 2, tors="single"),
        hpn(2, 2, 2, pods=2, cores=2),
        dcn_plus(2, 2, 2, 4, trunk=2),
    ],
    ids=lambda fabric: f"{fabric.name}-{len(fabric.nodes)}",
)
def test_fabrics_are_whole(fabric: Fabric) -> None:
    check(fabric)
    assert from_json(to_json(fabric)) == fabric
    assert {node.program for node in fabric.nodes} == {"rail_gpu", "rail_switch"}


def test_ports_of_a_nic_lead_to_the_tors_of_its_rail_and_segment() -> None:
    fabric = hpn(2, 3, 4, backup=1)
    for node in fabric.nodes:
        if not node.is_switch:
            rank, _, segment = node.coordinates
            tors = [far(fabric, node.name, port) for port in nic_ports(node)]
            assert tors == [f"tor{segment}.{rank}.{number}" for number in range(2)]


@pytest.mark.parametrize(("planes", "parts"), [(2, 2), (1, 1)])
def test_switches_of_two_planes_are_two_networks(planes: int, parts: int) -> None:
    fabric = hpn(2, 2, 2, planes=planes, cores=1)
    graph = fabric.graph().subgraph([node.name for node in fabric.switches])
    networks = list(nx.connected_components(graph))
    assert len(networks) == parts
    if parts == 2:
        assert all(
            len({name.split(".")[-1] for name in network if "tor" in name}) == 1 for network in networks
        )


def test_one_tor_has_the_rate_of_two_ports() -> None:
    dual, single = hpn(1, 2, 2), hpn(1, 2, 2, tors="single")
    rates = {fabric: fabric.link_between("gpu0", "tor0.0.0").rate_bps for fabric in (dual, single)}
    assert rates[single] == 2 * rates[dual]
    assert [len(nic_ports(fabric.node("gpu0"))) for fabric in (dual, single)] == [2, 1]


def test_backup_hosts_are_idle_and_wired_as_the_others() -> None:
    fabric = hpn(2, 3, 2, backup=1)
    assert {node.kind for node in fabric.nodes if node.name.startswith("spare")} == {NodeKind.SPARE}
    hosts = domains(fabric)
    assert len(hosts) == 2 * (3 + 1)
    assert all(len({nic for node in host for nic in nic_ports(node)}) == 2 for host in hosts)


def test_sizes_of_the_paper_as_numbers() -> None:
    shape = planned(15, 128, 8, backup=8, aggs=60, cores=8)
    assert (shape.gpus, shape.backup_gpus, shape.all_tors, shape.all_aggs) == (15_360, 960, 240, 120)
    assert (shape.active_ports, shape.backup_ports, shape.tor_ports_up) == (128, 8, 60)
    assert (shape.agg_ports_down, shape.agg_ports_up) == (120, 8)
    assert round(shape.tor_oversubscription, 3) == 1.067
    assert shape.agg_oversubscription == 15
    assert [part.bits for part in shape.plan.fields] == [1, 4, 8, 3]


def test_dcn_plus_of_the_paper_is_not_contended() -> None:
    shape = planned(4, 16, 8, planes=1, aggs=8, pods=32, cores=128, mixed=True, trunk=8)
    assert (shape.gpus, shape.tor_oversubscription, shape.agg_oversubscription) == (16_384, 1, 1)
    assert shape.core_ports == 128


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tors": "three"}, "tors is 'three'; give dual or single"),
        (
            {"tors": "single", "planes": 2},
            "2 planes cannot divide 1 ToRs of a set; use 1 plane, or tors dual",
        ),
        ({"rails": 1}, "rails is 1; give a whole number of at least 2"),
        ({"pods": 2}, "2 Pods have no cores to join them; give cores, or one Pod"),
        (
            {"segments": 16, "hosts": 257},
            "1 Pods of 16 segments of 257 hosts of 8 GPUs need addresses of 17 bits, but an address has 16; ",
        ),
        ({"hosts": 250, "rails": 2}, "use fewer hosts or aggs, or more radix"),
    ],
)
def test_what_cannot_be_built(wrong: dict, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        hpn(**wrong)
