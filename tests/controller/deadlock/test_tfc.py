# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction
from itertools import pairwise

import pytest

from controller.deadlock.dependency_graph import find_cycle, path_graph, permitted_graph
from controller.deadlock.tfc import PathClass, admitted_orders, analyse
from controller.deadlock.turn_rules import RULE_NAMES
from controller.errors import PlanError
from controller.paths.finder import PathFinder
from controller.schemes.registry import rule_set
from topologies import Fabric, NodeKind, full_mesh, rail_optimised
from topologies.families.registry import build

DIRECT, ORDERED, DETOUR = PathClass.DIRECT, PathClass.ORDERED, PathClass.DETOUR


def test_paths_of_a_rack_by_kind(rack: Fabric) -> None:
    result = analyse(rack, rule_set("T2-G", rack))
    assert [result.count_paths(hops, result.simple) for hops in (1, 2, 3)] == [896, 11_648, 146_048]
    assert result.admitted == result.simple
    # 448 links; of 64 x 49 pairs in two dimensions two orders; a detour over each of 6 others in the line.
    assert result.admitted[DIRECT, 1] == 2 * 448
    assert result.admitted[ORDERED, 2] == 64 * 49 * 2
    assert result.admitted[DETOUR, 2] == 896 * 6
    assert result.admitted[PathClass.INTERLEAVED, 3] + result.admitted[DETOUR, 3] == 146_048
    assert (result.channels, result.dependencies, result.cycle) == (1_790, 17_442, ())
    assert result.vls == 2
    assert sum(result.lanes.values()) == 896 + 11_648 + 146_048
    assert set(result.lanes) == {(0,), (0, 0), (0, 1), (0, 0, 0), (0, 0, 1), (0, 1, 1)}


def test_one_vl_admits_two_thirds_of_the_detours_of_a_line() -> None:
    line = full_mesh([8])
    counts = {name: analyse(line, rule_set(name, line), 2) for name in RULE_NAMES}
    admitted = {name: count.admitted.get((DETOUR, 2), 0) for name, count in counts.items()}
    assert admitted == {
        "T2-G": 336,
        "T2-V": 336,
        "T2-DOR": 336,
        "T1-UD": 224,
        "T1-DOR+": 224,
        "T1-DOR": 0,
        "single-vl": 336,
    }
    assert all((count.cycle == ()) == (name != "single-vl") for name, count in counts.items())


def test_both_orders_on_one_vl_close_a_cycle() -> None:
    mesh = full_mesh([4, 4])
    free = analyse(mesh, rule_set("single-vl", mesh), 2)
    assert free.cycle
    assert free.vls == 1
    assert analyse(mesh, rule_set("T2-G", mesh), 2).cycle == ()


@pytest.mark.parametrize("name", RULE_NAMES)
def test_the_walk_counts_what_enumeration_counts(name: str) -> None:
    mesh = full_mesh([3, 2, 2])
    rules, finder = rule_set(name, mesh), PathFinder(mesh)
    names = [node.name for node in mesh.nodes]
    paths = [path for a in names for b in names if a != b for path in finder.paths_up_to(a, b, 4)]
    allowed = [path for path in paths if rules.vls_of(mesh, path) is not None]
    result = analyse(mesh, rules, 4)
    assert sum(result.simple.values()) == len(paths)
    assert sum(result.admitted.values()) == len(allowed)
    graph = path_graph(mesh, allowed, rules, entry_vls=(0,))
    assert result.graph.waits == graph.waits
    assert analyse(mesh, rules, 4, refused=False).admitted == result.admitted


def test_some_sources_only() -> None:
    mesh = full_mesh([4, 4])
    result = analyse(mesh, rule_set("T2-G", mesh), 2, ["npu5"])
    assert result.simple == {(DIRECT, 1): 6, (ORDERED, 2): 18, (DETOUR, 2): 12}


@pytest.mark.parametrize(
    ("dims", "rules", "share", "fewest"),
    [
        ([2, 2], "T1-UD", Fraction(3, 4), 1),
        ([2, 2, 2], "T1-UD", Fraction(1, 2), 2),
        ([2, 2, 2, 2], "T1-UD", Fraction(5, 16), 4),
        ([3, 3], "T2-V", Fraction(1), 2),
        ([2, 3, 2], "T2-V", Fraction(1), 6),
        ([8, 8, 4, 4], "T2-V", Fraction(15, 16), 20),
        ([8, 8, 4, 4], "T2-DOR", Fraction(1, 24), 1),
    ],
)
def test_orders_of_dimensions(dims: list[int], rules: str, share: Fraction, fewest: int) -> None:
    mesh = full_mesh(dims)
    result = admitted_orders(mesh, rule_set(rules, mesh))
    assert (result.share, result.fewest) == (share, fewest)


def test_the_corners_stand_for_all_pairs() -> None:
    mesh = full_mesh([3, 4, 2])
    rules, finder = rule_set("T1-UD", mesh), PathFinder(mesh)
    apart = [
        (a.name, b.name)
        for a in mesh.nodes
        for b in mesh.nodes
        if all(coordinate != other for coordinate, other in zip(a.coordinates, b.coordinates, strict=True))
    ]
    paths = [path for pair in apart for path in finder.paths_of_length(*pair, 3) if is_shortest(mesh, path)]
    allowed = sum(rules.vls_of(mesh, path) is not None for path in paths)
    assert Fraction(allowed, len(paths)) == admitted_orders(mesh, rules).share


def is_shortest(mesh: Fabric, path: tuple[str, ...]) -> bool:
    return (
        len({mesh.link_between(node, neighbour).dimension for node, neighbour in pairwise(path)})
        == len(path) - 1
    )


def test_no_hops_are_refused() -> None:
    mesh = full_mesh([4])
    with pytest.raises(PlanError, match="paths cannot have up to 0 hops; ask for 1 hop or more"):
        analyse(mesh, rule_set("T2-G", mesh), 0)


def test_kinds_of_paths_over_switches() -> None:
    pods = build("ub-superpod", dims=(2, 2, 2, 2, 2))
    result = analyse(pods, rule_set("T2-G", pods), 6, ["npu0"], refused=False)
    kinds = {kind for kind, _ in result.admitted}
    assert kinds == set(PathClass) - {DETOUR}  # a line of two has none
    # Over a high-radix switch it takes six: to the plane, across it, up, and the same way down.
    assert {hops for kind, hops in result.admitted if kind is PathClass.TOP} == {6}
    assert min(hops for kind, hops in result.admitted if kind is PathClass.SWITCHED) == 2
    assert result.cycle == ()


def test_kinds_of_paths_over_rails() -> None:
    """Paths through the domain's switch, the rail's leaf and the spines; a path inside is no detour."""
    fabric = rail_optimised(4, 4, radix=8, inside="switch")
    result = analyse(fabric, rule_set("T2-G", fabric), 4, ["gpu0"], refused=False)
    switches, top = PathClass.SWITCHED, PathClass.TOP
    # 3 inside, 3 on its rail; 3 x 3 by a neighbour on the other's rail; 12 over each of 2 spines.
    assert result.admitted == {(switches, 2): 3 + 3, (switches, 4): 9, (top, 4): 12 * 2}


def test_no_admitted_path_passes_through_the_spare_or_a_processor() -> None:
    rack = build("ub-rack-lrs", dims=(2, 2))
    graph = permitted_graph(rack, rule_set("T2-G", rack))
    ends = {channel.to for channel, after in graph.waits.items() if after}
    assert not {name for name in ends if rack.node(name).kind in (NodeKind.SPARE, NodeKind.CPU)}
    assert {NodeKind.NPU, NodeKind.LRS} == {rack.node(name).kind for name in ends}


@pytest.mark.parametrize("name", [name for name in RULE_NAMES if name != "single-vl"])
@pytest.mark.parametrize(
    ("fabric", "dims"),
    [
        ("ub-rack-lrs", (2, 2)),
        ("ub-rack-lrs", (8, 8)),
        ("ub-rack-1dfm-a", (4, 4)),
        ("ub-rack-1dfm-b", (4, 4)),
        ("ub-rack-clos", (4, 4)),
        ("ub-superpod", (2, 2, 2, 2, 2)),
    ],
)
def test_whatever_rules_permit_over_switches_has_no_cycle(
    name: str, fabric: str, dims: tuple[int, ...]
) -> None:
    created = build(fabric, dims=dims)
    if fabric == "ub-superpod" and "DOR" in name:
        with pytest.raises(PlanError, match="9 groups of hops"):  # a group a dimension: more than three bits
            rule_set(name, created)
        return
    rules = rule_set(name, created)
    assert find_cycle(permitted_graph(created, rules)) == ()
    free = permitted_graph(created, rule_set("single-vl", created), u_turns=False)
    assert find_cycle(free) != ()
