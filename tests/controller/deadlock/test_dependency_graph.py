# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from dataclasses import replace

import networkx as nx
import pytest

from controller import DeadlockError, Path, PlanError
from controller.deadlock.dependency_graph import (
    Channel,
    DependencyGraph,
    check_acyclic,
    find_cycle,
    path_graph,
    permitted_graph,
)
from controller.deadlock.turn_rules import RULE_NAMES, RuleSet, VlIncrement
from controller.paths.finder import PathFinder, distance
from controller.schemes.registry import rule_set
from topologies import Fabric, full_mesh


def all_paths(fabric: Fabric, hops: Sequence[int]) -> list[Path]:
    finder, names = PathFinder(fabric), [node.name for node in fabric.nodes]
    return [
        path for a in names for b in names for count in hops for path in finder.paths_of_length(a, b, count)
    ]


def permitted_by_search(fabric: Fabric, rules: RuleSet, u_turns: bool) -> dict[Channel, set[Channel]]:
    """Compute the result of `permitted` channel by channel, from the channels where frames enter."""
    waits: dict[Channel, set[Channel]] = {}
    fresh = [
        (node.name, neighbour, vl)
        for node in fabric.nodes
        for neighbour in fabric.neighbours(node.name)
        for vl in (0, 2)
    ]
    while fresh:
        local, node, vl = fresh.pop()
        channel = Channel(fabric.link_between(local, node).name, node, vl)
        if channel in waits:
            continue
        waits[channel] = set()
        for remote in fabric.neighbours(node):
            arrived, leaves = rules.direction(fabric, local, node), rules.direction(fabric, node, remote)
            following = rules.next_vl(arrived, leaves, vl)
            if following is not None and (u_turns or remote != local):
                waits[channel].add(Channel(fabric.link_between(node, remote).name, remote, following))
                fresh.append((node, remote, following))
    return waits


def is_cycle(graph: DependencyGraph, cycle: Sequence[Channel]) -> bool:
    return all(
        after in graph.waits[before] for before, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True)
    )


@pytest.mark.long
def test_all_paths_of_three_hops_on_t2g_have_no_cycle(rack: Fabric) -> None:
    graph = path_graph(rack, all_paths(rack, (1, 2, 3)), rule_set("T2-G", rack), entry_vls=(0,))
    assert graph.channels == 1_790
    assert graph.dependencies == 17_442
    assert find_cycle(graph) == ()


def test_classes_share_no_channel() -> None:
    mesh = full_mesh([4, 4])
    paths, rules = all_paths(mesh, (1, 2)), rule_set("T2-G", mesh)
    both, data = path_graph(mesh, paths, rules), path_graph(mesh, paths, rules, entry_vls=(0,))
    assert (both.channels, both.dependencies) == (2 * data.channels, 2 * data.dependencies)
    for channel, following in both.waits.items():
        assert {after.vl // 2 for after in following} <= {channel.vl // 2}


def test_all_detours_of_a_line_on_one_vl_close_a_cycle() -> None:
    line = full_mesh([8])
    paths = all_paths(line, (2,))
    graph = path_graph(line, paths, rule_set("single-vl", line), entry_vls=(0,))
    assert (len(paths), graph.channels, graph.dependencies) == (336, 56, 336)
    cycle = find_cycle(graph)
    assert cycle
    assert is_cycle(graph, cycle)
    assert find_cycle(path_graph(line, paths, rule_set("T2-G", line))) == ()


def test_both_orders_on_one_vl_close_a_cycle() -> None:
    mesh = full_mesh([4, 4])
    paths = [path for path in all_paths(mesh, (1, 2)) if len(path) - 1 == distance(mesh, path[0], path[-1])]
    graph = path_graph(mesh, paths, rule_set("single-vl", mesh), entry_vls=(0,))
    assert (graph.channels, graph.dependencies) == (96, 288)
    with pytest.raises(
        DeadlockError,
        match="these routes can deadlock: 4 channels wait for each other in a circle: npu0-npu1 to npu1",
    ) as caught:
        check_acyclic(graph)
    assert len(caught.value.cycle) == 4
    assert is_cycle(graph, [Channel(*channel) for channel in caught.value.cycle])
    # The cycle follows the links: each leads to a node from which the next one starts.
    for (link, to, vl), (onward, _, _) in zip(
        caught.value.cycle, [*caught.value.cycle[1:], caught.value.cycle[0]], strict=True
    ):
        assert to in (mesh.link(link).a.node, mesh.link(link).b.node)
        assert to in (mesh.link(onward).a.node, mesh.link(onward).b.node)
        assert vl == 0
    assert find_cycle(path_graph(mesh, paths, rule_set("T2-G", mesh))) == ()


def test_one_order_on_one_vl_has_no_cycle() -> None:
    mesh = full_mesh([4, 4])
    x_first = [path for path in all_paths(mesh, (2,)) if mesh.link_between(*path[:2]).dimension == 0]
    straight = [path for path in x_first if mesh.link_between(*path[1:]).dimension == 1]
    assert find_cycle(path_graph(mesh, straight, rule_set("single-vl", mesh))) == ()


@pytest.mark.parametrize("name", [name for name in RULE_NAMES if name != "single-vl"])
@pytest.mark.parametrize("dims", [[8], [8, 8], [3, 3, 2], [3, 2, 2, 3]])
def test_whatever_the_rules_permit_has_no_cycle(name: str, dims: list[int]) -> None:
    mesh = full_mesh(dims)
    assert find_cycle(permitted_graph(mesh, rule_set(name, mesh))) == ()


@pytest.mark.parametrize("name", RULE_NAMES)
@pytest.mark.parametrize("u_turns", [False, True])
@pytest.mark.parametrize("dims", [[5], [4, 4], [3, 2, 2]])
def test_arrays_find_what_a_search_finds(name: str, u_turns: bool, dims: list[int]) -> None:
    mesh = full_mesh(dims)
    rules = rule_set(name, mesh)
    result, searched = (
        permitted_graph(mesh, rules, u_turns=u_turns),
        permitted_by_search(mesh, rules, u_turns),
    )
    assert result.waits == searched
    assert result.channels == len(searched)
    assert result.dependencies == sum(map(len, searched.values()))
    graph = nx.DiGraph({channel: list(after) for channel, after in searched.items()})
    assert (find_cycle(result) == ()) == nx.is_directed_acyclic_graph(graph)


@pytest.mark.parametrize(
    ("name", "turn", "turns"),
    [
        ("T2-G", VlIncrement.VALLEY, 543_744),
        ("T2-V", VlIncrement.VALLEY, 672_768),
        # In dimension order each dimension has a second lane: for its second hop, or, with more paths than
        # those with a detour in each, from its first valley on.
        ("T2-DOR", VlIncrement.STEP, 389_120),
        ("T2-DOR", VlIncrement.VALLEY, 454_656),
    ],
)
def test_dependencies_of_a_pod(name: str, turn: VlIncrement, turns: int) -> None:
    pod = full_mesh([8, 8, 4, 4], lanes=3)
    rules = replace(rule_set(name, pod), increment=turn)
    graph = permitted_graph(pod, rules, entry_vls=(0,), u_turns=False)
    assert (graph.channels, graph.dependencies) == (40_960, turns)
    assert find_cycle(graph) == ()


def test_what_one_vl_permits_has_a_cycle() -> None:
    mesh = full_mesh([3])
    graph = permitted_graph(mesh, rule_set("single-vl", mesh), entry_vls=(0,), u_turns=False)
    cycle = find_cycle(graph)
    assert len(cycle) == 3
    assert is_cycle(graph, cycle)


def test_the_cycle_is_the_same_every_time_and_real(rack: Fabric) -> None:
    graph = path_graph(rack, all_paths(rack, (1, 2)), rule_set("single-vl", rack))
    cycle = find_cycle(graph)
    turned = DependencyGraph(graph.hops, graph.used, graph.before[::-1], graph.after[::-1])
    assert cycle == find_cycle(turned)
    assert is_cycle(graph, cycle)
    assert len(set(cycle)) == len(cycle)
    assert not nx.is_directed_acyclic_graph(nx.DiGraph({k: list(v) for k, v in graph.waits.items()}))


def test_a_path_that_the_rules_do_not_allow_is_named() -> None:
    mesh = full_mesh([4, 4])
    with pytest.raises(PlanError, match="path npu0 npu1 npu5: rules T1-DOR do not allow the turn at npu1"):
        path_graph(mesh, [("npu0", "npu1", "npu5")], rule_set("T1-DOR", mesh))
