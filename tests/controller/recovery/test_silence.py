# SPDX-License-Identifier: Apache-2.0
"""Paths that a node's controller gives to an agent that hears nothing over the paths that it knows."""

from itertools import pairwise
from random import Random

import networkx as nx
import pytest

from controller import NodeController, Plan, make_plan
from controller.plan.entry import BUCKETS, Path, hops_of
from controller.schemes.registry import rule_set
from tests.controller.fake_fabric import FakeFabric, Frame
from topologies import full_mesh

ROUNDS = 20


def controllers_of(plan: Plan) -> dict[str, NodeController]:
    return {node.name: NodeController(plan, node.name) for node in plan.fabric.nodes}


def works(path: Path | None, dead: set[tuple[str, str]]) -> bool:
    return path is not None and dead.isdisjoint(hops_of(path))


@pytest.mark.parametrize("dims", [[3, 3], [2, 4], [6], [2, 2, 2]])
@pytest.mark.parametrize("seed", range(6))
def test_a_permitted_path_that_works_is_found_while_there_is_one(dims: list[int], seed: int) -> None:
    """The search for a remaining path is networkx's, and the hops that swallow frames are drawn."""
    fabric = full_mesh(dims)
    plan = make_plan(fabric)
    rules = rule_set(plan.rules, fabric)
    random = Random(seed)
    pairs = [(link.a.node, link.b.node) for link in fabric.links]
    hops = [hop for a, b in pairs for hop in ((a, b), (b, a))]
    dead = set(random.sample(hops, len(hops) // 3))
    graph = nx.DiGraph([hop for hop in hops if hop not in dead])
    graph.add_nodes_from(node.name for node in fabric.nodes)
    reached = 0
    for source, controller in controllers_of(plan).items():
        for node in fabric.nodes:
            if node.name == source:
                continue
            remains = any(
                rules.vls_of(fabric, tuple(path)) is not None
                for path in nx.all_simple_paths(graph, source, node.name, cutoff=4)
            )
            for _ in range(ROUNDS):
                routes = controller.routes(node.name)
                if any(works(path, dead) for path in routes):
                    break
                controller.on_repath(node.address, range(BUCKETS))
            has_path = any(works(path, dead) for path in controller.routes(node.name))
            assert has_path or not remains, (source, node.name)
            reached += remains
    assert reached


def test_frames_take_the_new_paths_and_no_set_of_them_can_deadlock() -> None:
    """The channels are collected from the forwarding of the dumped tables alone, over all paths ever used."""
    fabric = full_mesh([3, 3])
    plan = make_plan(fabric)
    fake, controllers, random = FakeFabric(plan), controllers_of(plan), Random(1)
    channels = nx.DiGraph()
    lengths = set()
    for _ in range(6):
        for source, controller in controllers.items():
            for node in fabric.nodes:
                if node.name == source:
                    continue
                silent = random.sample(range(BUCKETS), 12)
                before = controller.routes(node.name)
                reaction = controller.on_repath(node.address, silent)
                fake.apply(source, reaction.updates)
                after = controller.routes(node.name)
                assert reaction.lost == {
                    node.address: frozenset(b for b in range(BUCKETS) if after[b] != before[b])
                }
                withdrawn = {before[bucket] for bucket in silent}
                assert withdrawn.isdisjoint(after)
                for bucket in range(BUCKETS):
                    walk = fake.send(source, Frame(node.address, lb=bucket))
                    assert walk.end == "host"
                    assert walk.nodes == after[bucket]
                    nx.add_path(channels, zip(pairwise(walk.nodes), walk.vls, strict=True))
                    lengths.add(len(walk.vls))
    assert max(lengths) > 3
    assert nx.is_directed_acyclic_graph(channels)


def test_new_paths_avoid_the_hops_of_silent_paths_first() -> None:
    fabric = full_mesh([4, 4])
    plan = make_plan(fabric)
    controller = NodeController(plan, "npu0")
    silent = {hop for path in controller.routes("npu5") if path for hop in pairwise(path)}
    controller.on_repath(fabric.node("npu5").address, range(BUCKETS))
    assert all(path and silent.isdisjoint(pairwise(path)) for path in controller.routes("npu5"))


def test_a_silent_path_stays_out_of_use_when_links_fail_and_return() -> None:
    fabric = full_mesh([3, 3])
    controller = NodeController(make_plan(fabric), "npu0")
    planned = set(controller.routes("npu1"))
    controller.on_repath(fabric.node("npu1").address, range(BUCKETS))
    port = fabric.port_to("npu0", "npu3")
    for up in (False, True):
        controller.on_port(port, up)
        routes = controller.routes("npu1")
        assert planned.isdisjoint(routes)
        assert up or all(path and path[1] != "npu3" for path in routes)


def test_the_source_is_told_of_failures_on_its_new_paths() -> None:
    fabric = full_mesh([3, 3])
    plan = make_plan(fabric)
    reaction = NodeController(plan, "npu0").on_repath(fabric.node("npu1").address, range(BUCKETS))
    asked = {frozenset((m.message.cna_a, m.message.cna_b)) for m in reaction.subscriptions}
    beyond = {
        link.name
        for link in fabric.links
        if frozenset((fabric.node(link.a.node).address, fabric.node(link.b.node).address)) in asked
    }
    assert beyond
    assert all("npu0" not in plan.subscribers[name] for name in beyond)


def test_the_strategy_shortest_has_no_other_path() -> None:
    fabric = full_mesh([3, 3])
    controller = NodeController(make_plan(fabric, strategy="shortest"), "npu0")
    before = controller.routes("npu1")
    assert not controller.on_repath(fabric.node("npu1").address, range(BUCKETS))
    assert controller.routes("npu1") == before


def test_a_report_about_no_node_is_counted_and_ignored() -> None:
    fabric = full_mesh([3, 3])
    controller = NodeController(make_plan(fabric), "npu0")
    assert not controller.on_repath(0xFFF, [1])
    assert not controller.on_repath(fabric.node("npu0").address, [1])
    assert controller.ignored == 2
