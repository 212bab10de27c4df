# SPDX-License-Identifier: Apache-2.0
"""Direct notification against flooding: messages, time, nodes told; on graphs each node is told once."""

import random

import networkx as nx
import pytest

from controller import Plan, make_plan
from controller.recovery.notification import Delays, Notification, NotificationReport
from topologies import Fabric, from_graph
from topologies.families.registry import build

US = 10**6
COSTS = Delays(detect_ps=US, processing_ps=US)
GRAPHS: dict[str, dict[str, object]] = {
    "bcube": {"ports": 4},
    "dragonfly": {"hosts": 1, "groups": 5},
    "dragonfly-plus": {},
    "fat-tree": {},
    "hyperx": {"dims": [4, 4], "hosts": 1},
    "jellyfish": {},
    "slim-fly": {},
    "torus": {"dims": [3, 4]},
}
OTHERS: dict[str, dict[str, object]] = {
    "any-to-any": {"domains": 3, "hb_size": 4, "radix": 8},
    "dcn-plus": {"hosts": 2, "rails": 2, "aggs": 2, "cores": 2},
    "full-mesh": {"dims": [4, 4]},
    "hpn": {"hosts": 2, "rails": 2},
    "rail-only": {},
    "rail-optimised": {},
    "ub-pod": {"dims": [2, 2, 2, 2], "planes": 2, "uplink_lanes": 8},
    "ub-rack-lrs": {"dims": [4, 4], "planes": 2, "uplink_lanes": 8},
}


def ring(switches: int) -> Fabric:
    """Return a ring of switches with an NPU each."""
    graph = nx.Graph()
    for switch in range(switches):
        graph.add_node(f"s{switch}", kind="switch")
        graph.add_edge(f"s{switch}", f"n{switch}")
    graph.add_edges_from((f"s{switch}", f"s{(switch + 1) % switches}") for switch in range(switches))
    return from_graph(graph, "ring")


def random_fabric(seed: int) -> Fabric:
    """Return a random connected graph of 6 to 14 nodes, 3 or more links a node on average.

    Its nodes are NPUs, or switches with one or two NPUs each.
    """
    draw = random.Random(seed)
    while True:
        count = 2 * draw.randint(3, 7)
        if draw.random() < 0.5:
            graph = nx.random_regular_graph(draw.choice([3, 4]), count, seed=draw.randint(0, 10**6))
        else:
            graph = nx.gnm_random_graph(
                count, draw.randint(3 * count // 2, 2 * count), draw.randint(0, 10**6)
            )
        if nx.is_connected(graph):
            break
    if draw.random() < 0.25:
        return from_graph(graph, "random")
    for node in graph:
        graph.nodes[node]["kind"] = "switch"
    for node in list(graph):
        graph.add_edges_from((node, f"n{node}.{host}") for host in range(draw.choice([1, 1, 2])))
    return from_graph(graph, "random")


def both(plan: Plan, links: list[str], apart_ps: int) -> tuple[NotificationReport, NotificationReport]:
    """Return the outcome of the same failures, told directly and flooded."""
    direct, flooded = (
        Notification(plan, mode, COSTS).fail(links, apart_ps) for mode in ("direct", "flooding")
    )
    return direct, flooded


def joined(fabric: Fabric, cut: list[str]) -> bool:
    graph = nx.MultiGraph((link.a.node, link.b.node) for link in fabric.links if link.name not in cut)
    return len(graph) == len(fabric.nodes) and nx.is_connected(graph)


def test_a_ring_of_five_switches_is_told_around_the_cut() -> None:
    direct, flooded = both(make_plan(ring(5)), ["s0-s1"], 0)
    assert (direct.messages, flooded.messages) == (8, 10)  # each node but the two ends, once
    assert len(direct.informed) == 10
    assert (direct.lost, direct.stranded) == (0, 0)
    assert direct.repaired_ps < flooded.repaired_ps


@pytest.mark.long("slim-fly")
@pytest.mark.parametrize("name", GRAPHS)
def test_on_a_family_of_graphs_direct_notices_are_fewer_and_earlier(name: str) -> None:
    fabric = build(name, **GRAPHS[name])
    plan = make_plan(fabric)
    for seed in range(3):
        links = random.Random(seed).sample([link.name for link in fabric.links], seed + 1)
        direct, flooded = both(plan, links, 20 * US)
        assert direct.informed == flooded.informed
        assert direct.messages < flooded.messages
        assert direct.repaired_ps < flooded.repaired_ps
        assert direct.stranded == 0


@pytest.mark.parametrize("name", OTHERS)
def test_on_other_families_direct_notices_are_fewer_and_hardly_ever_later(name: str) -> None:
    """Sources next to an end of the link are told as early by flooding; several notices share a port."""
    fabric = build(name, **OTHERS[name])
    plan = make_plan(fabric)
    kinds = {(fabric.node(link.a.node).tier, fabric.node(link.b.node).tier): link for link in fabric.links}
    for link in kinds.values():
        direct, flooded = both(plan, [link.name], 0)
        assert direct.messages < flooded.messages
        assert direct.repaired_ps < flooded.repaired_ps + US // 50
        assert (direct.lost, direct.stranded) == (0, 0)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.long] * (seed >= 8)) for seed in range(100)]
)
def test_on_random_graphs_direct_notices_are_fewer_and_earlier(seed: int) -> None:
    fabric = random_fabric(seed)
    plan = make_plan(fabric)
    draw = random.Random(seed)
    for cuts in (1, 2, 3):
        links = draw.sample([link.name for link in fabric.links], cuts)
        direct, flooded = both(plan, links, 20 * US)
        assert direct.informed == flooded.informed
        assert direct.messages < flooded.messages
        assert direct.repaired_ps < flooded.repaired_ps + US // 50
        assert direct.stranded == 0
        if joined(fabric, links):
            assert direct.lost == 0


@pytest.mark.long("slim-fly")
@pytest.mark.parametrize("name", ["dragonfly", "slim-fly", "torus"])
def test_failures_at_the_same_time_are_told_to_everybody(name: str) -> None:
    """A notice that another failure has cut goes again, by another path."""
    fabric = build(name, **GRAPHS[name])
    plan = make_plan(fabric)
    for seed in range(3):
        links = random.Random(seed).sample([link.name for link in fabric.links], 3)
        direct, flooded = both(plan, links, 0)
        assert direct.informed == flooded.informed
        assert direct.messages < flooded.messages
        assert direct.stranded == 0


@pytest.mark.long("slim-fly")
@pytest.mark.parametrize("name", ["slim-fly", "fat-tree", "torus"])
def test_a_lost_node_is_announced_by_a_neighbour(name: str) -> None:
    """Messages of the lost node reach nobody, and its neighbours do not know at first that it is lost."""
    fabric = build(name, **GRAPHS[name])
    plan = make_plan(fabric)
    lost = max(fabric.nodes, key=lambda node: (node.tier, len(node.ports))).name
    links = [link.name for link in fabric.links if lost in (link.a.node, link.b.node)]
    direct, flooded = both(plan, links, 0)
    assert direct.stranded == flooded.stranded == 0
    assert direct.informed - {lost} == flooded.informed - {lost}
    assert direct.messages - direct.lost < flooded.messages - flooded.lost


def test_news_floods_where_source_routes_do_not_reach_every_node() -> None:
    direct, flooded = both(make_plan(ring(16)), ["s0-s1"], 0)
    assert direct == flooded
    assert len(direct.informed) == 32
