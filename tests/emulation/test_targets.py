# SPDX-License-Identifier: Apache-2.0
"""Targets of faults in fabrics with switches."""

from functools import cache

import networkx as nx
import pytest

from emulation.targets import Target, find_target
from topologies import Fabric, TopologyError, from_graph, hpn, rail_only, ub_pod, ub_rack_clos, ub_rack_lrs

rack = cache(ub_rack_lrs)
pod = cache(ub_pod)


@cache
def small() -> Fabric:
    return ub_pod(dims=(2, 2, 2, 1), planes=2, uplink_lanes=8, hrs_per_lrs=1)


def touched(fabric: Fabric, target: Target) -> set[str]:
    """Nodes of which all links are struck."""
    return {
        node.name
        for node in fabric.nodes
        if all(
            fabric.link_between(node.name, neighbour).name in target.links
            for neighbour in fabric.neighbours(node.name)
        )
    }


def test_a_board_is_its_npus_and_not_the_spare() -> None:
    board = find_target(rack(), "board", 0)
    assert board.hosts == tuple(f"npu{i}" for i in range(8))
    assert touched(rack(), board) == set(board.hosts)
    assert len(board.links) == 28 + 8 * 7 + 8 * 4


def test_a_group_is_the_nodes_of_a_graph_with_this_attribute() -> None:
    graph = nx.Graph()
    for server in (0, 1):
        graph.add_node(f"nvswitch{server}", kind="switch", group=f"server{server}")
        graph.add_nodes_from((f"gpu{server}.0", f"gpu{server}.1"), group=f"server{server}")
        graph.add_edges_from((f"nvswitch{server}", f"gpu{server}.{rank}") for rank in (0, 1))
    graph.add_node("tor", kind="switch")
    graph.add_edges_from(("tor", f"gpu{server}.{rank}") for server in (0, 1) for rank in (0, 1))
    fabric = from_graph(graph, "two-servers")
    target = find_target(fabric, "group", "server1")
    assert target.nodes == ("nvswitch1", "gpu1.0", "gpu1.1")
    assert target.hosts == ("gpu1.0", "gpu1.1")
    assert touched(fabric, target) == {"nvswitch1", "gpu1.0", "gpu1.1"}
    with pytest.raises(TopologyError, match="no group named 'server2'; its groups are server0, server1"):
        find_target(fabric, "group", "server2")
    with pytest.raises(TopologyError, match="its nodes have no attribute `group`; take another target"):
        find_target(rack(), "group", "server0")


def test_boards_are_counted_pod_by_pod_and_rack_by_rack() -> None:
    for number in (0, 7, 8, 100, 127):
        hosts = find_target(pod(), "board", number).hosts
        assert hosts == tuple(f"npu{8 * number + slot}" for slot in range(8))
    with pytest.raises(TopologyError, match="no board 128; its boards are 0 to 127"):
        find_target(pod(), "board", 128)


def test_a_plane_is_the_switches_of_one_rack() -> None:
    fabric = small()
    plane = find_target(fabric, "plane", 3)
    assert plane.name == "plane 3"
    assert touched(fabric, plane) == {f"lrs1p1{end}" for end in ("n0", "n1", "r0", "r1", "c0", "c1")}
    assert plane.hosts == ()
    # To the other rack and to HRS it has links, but the switches there are not of it.
    assert "lrs0p1r0-lrs1p1r0" in plane.links
    assert "lrs1p1r0-hrs2" in plane.links
    assert not any("lrs0p1" in name and "lrs1p1" not in name for name in plane.links)


@pytest.mark.parametrize(("fabric", "count"), [(rack, 4), (pod, 64), (ub_rack_clos, 72)])
def test_planes_are_counted_rack_by_rack(fabric, count: int) -> None:
    last = find_target(fabric(), "plane", count - 1)
    assert last.links
    with pytest.raises(TopologyError, match=f"its planes are 0 to {count - 1}"):
        find_target(fabric(), "plane", count)


def test_a_plane_of_hpn_is_the_switches_behind_one_port_of_the_nics() -> None:
    fabric = hpn(2, 2, 2, aggs=2, pods=2, cores=2)
    plane = find_target(fabric, "plane", 1)
    tors = {f"tor{segment}.{rail}.1" for segment in range(4) for rail in range(2)}
    aggs = {f"agg{pod}.1.{number}" for pod in range(2) for number in range(2)}
    assert set(plane.nodes) == tors | aggs | {"core1.0", "core1.1"}
    with pytest.raises(TopologyError, match="its planes are 0 to 1"):
        find_target(fabric, "plane", 2)
    for joined in (hpn(2, 2, 2, planes=1), hpn(2, 2, 2, tors="single"), rail_only()):
        with pytest.raises(TopologyError, match="it has no planes"):
            find_target(joined, "plane", 0)


def test_the_spare_is_an_npu_and_has_a_side_of_its_own() -> None:
    spare = find_target(rack(), "npu", "spare0")
    assert spare.links == tuple(f"spare0-lrs0p{plane}c0" for plane in range(4))
    assert spare.hosts == ("spare0",)
    npu = find_target(rack(), "npu", "npu20")
    assert len(npu.links) == 18
    with pytest.raises(TopologyError, match="cpu0 is no NPU but cpu; write `switch: cpu0`"):
        find_target(rack(), "npu", "cpu0")


def test_a_switch_is_all_its_links() -> None:
    lrs = find_target(rack(), "switch", "lrs0p0n3")
    assert lrs.hosts == ()
    assert len(lrs.links) == 18
    assert touched(rack(), lrs) == {"lrs0p0n3"}
    hrs = find_target(small(), "switch", "hrs3")
    assert hrs.links == ("lrs0p1r1-hrs3", "lrs1p1r1-hrs3")
    assert find_target(rack(), "switch", "cpu0").hosts == ("cpu0",)


@pytest.mark.parametrize(
    ("kind", "name", "links"),
    [
        ("link", "npu3-lrs0p2n0", ("npu3-lrs0p2n0",)),
        ("port", "lrs0p2n0:4", ("npu3-lrs0p2n0",)),
        ("port", "npu3:17", ("npu3-lrs0p2n0",)),
    ],
)
def test_links_to_switches_are_found_by_name_and_port(kind: str, name: str, links: tuple[str, ...]) -> None:
    assert find_target(rack(), kind, name).links == links


def test_a_way_to_a_switch_has_a_direction() -> None:
    assert find_target(rack(), "direction", "lrs0p2n0->npu3").one_way == (("npu3-lrs0p2n0", 1),)


def test_a_switch_has_no_side_of_its_own() -> None:
    with pytest.raises(TopologyError, match="no port 0 on lrs0p0n3; lrs0p0n3 has 1, 2, 3"):
        find_target(rack(), "port", "lrs0p0n3:host")


def test_a_gpu_is_found_by_either_word_with_all_circuits_it_may_have() -> None:
    fabric = rail_only(2, 2, spares=1, spare_rails=1, optical=True)
    target = find_target(fabric, "gpu", "gpu3")
    assert target == find_target(fabric, "npu", "gpu3")
    assert touched(fabric, target) == {"gpu3", "sparerail0"}  # which is dark, so has no link
    assert target.hosts == ("gpu3",)
    # Its fibre is at port 1 of the optical switch, on which there are five others.
    assert {link for link in target.links if link.startswith("ocs")} == {
        "ocs1:0-1",
        *(f"ocs1:1-{port}" for port in range(2, 6)),
    }
    assert find_target(rack(), "gpu", "npu3") == find_target(rack(), "npu", "npu3")
    with pytest.raises(TopologyError, match="rail0 is no NPU but rail; write `switch: rail0`"):
        find_target(fabric, "gpu", "rail0")


def test_a_domain_is_its_gpus_idle_ones_too() -> None:
    fabric = rail_only(2, 2, spares=1, spare_domains=1)
    assert find_target(fabric, "domain", 1).hosts == ("gpu2", "gpu3", "spare1")
    assert find_target(fabric, "domain", 2).hosts == ("gpu4", "gpu5", "spare2")
    assert touched(fabric, find_target(fabric, "domain", 0)) == {"gpu0", "gpu1", "spare0"}
    with pytest.raises(TopologyError, match="no domain 3; its domains are 0 to 2"):
        find_target(fabric, "domain", 3)
    with pytest.raises(TopologyError, match="no domain 0; it has no domains"):
        find_target(rack(), "domain", 0)
