# SPDX-License-Identifier: Apache-2.0
from itertools import pairwise

import pytest

from controller import CPU_PORT, Entry, PlanError
from controller.deadlock.stages import StageOrder
from controller.deadlock.turn_rules import HOST, RULE_NAMES, Direction, RuleSet
from controller.paths.finder import PathFinder
from controller.schemes.registry import rule_set
from controller.tables.turns import turn_entries
from topologies import HOST_PORT, Fabric, full_mesh

UP, DOWN = Direction(1, True), Direction(1, False)
FAR_UP = Direction(2, True)


def mesh_paths(mesh: Fabric, hops: int) -> list[tuple[str, ...]]:
    finder, names = PathFinder(mesh), [node.name for node in mesh.nodes]
    return [path for a in names for b in names if a != b for path in finder.paths_of_length(a, b, hops)]


def allowed(mesh: Fabric, rules: str, hops: int) -> int:
    turns = rule_set(rules, mesh)
    return sum(turns.vls_of(mesh, path) is not None for path in mesh_paths(mesh, hops))


def test_a_valley_takes_the_next_vl_of_the_class(rack: Fabric) -> None:
    rules = rule_set("T2-G", rack)
    for entry in (0, 2):
        assert rules.next_vl(HOST, UP, entry) == entry
        assert rules.next_vl(DOWN, UP, entry) == entry + 1
        assert rules.next_vl(UP, DOWN, entry) == entry
        assert rules.next_vl(DOWN, DOWN, entry + 1) == entry + 1
        assert rules.next_vl(DOWN, UP, entry + 1) is None
        assert rules.next_vl(DOWN, HOST, entry + 1) == entry + 1


def test_vls_start_afresh_in_the_next_group_and_never_go_back() -> None:
    rules = rule_set("T2-G", full_mesh([2, 2, 2]))
    assert rules.next_vl(Direction(1, False), FAR_UP, 1) == 0
    assert rules.next_vl(Direction(1, False), FAR_UP, 3) == 2
    assert rules.next_vl(FAR_UP, Direction(1, True), 0) is None


def test_every_path_of_three_hops_in_the_rack_is_allowed(rack: Fabric) -> None:
    assert allowed(rack, "T2-G", 2) == 11_648
    rules, finder = rule_set("T2-G", rack), PathFinder(rack)
    for neighbour in range(1, 64):
        for path in finder.paths_of_length("npu0", f"npu{neighbour}", 3):
            assert rules.vls_of(rack, path) is not None


def test_of_four_hops_only_two_valleys_are_refused() -> None:
    mesh = full_mesh([4, 4])
    rules = rule_set("T2-G", mesh)
    paths = mesh_paths(mesh, 4)[::7]
    assert rules.permitted(mesh, paths) == [path for path in paths if rules.vls_of(mesh, path) is not None]
    for path in paths:
        ups = [rules.direction(mesh, node, neighbour).up for node, neighbour in pairwise(path)]
        assert (rules.vls_of(mesh, path) is None) == (ups == [False, True, False, True])


def test_detours_that_each_rule_set_admits_in_a_line_of_eight() -> None:
    line = full_mesh([8])
    admitted = {name: allowed(line, name, 2) for name in RULE_NAMES}
    # One VL admits at most two thirds of the 336 one-hop detours, and T1-DOR+ and T1-UD reach that.
    assert admitted == {
        "T2-G": 336,
        "T2-V": 336,
        "T2-DOR": 336,
        "T1-UD": 224,
        "T1-DOR+": 224,
        "T1-DOR": 0,
        "single-vl": 336,
    }


def test_dimension_order_rules_refuse_the_other_order() -> None:
    mesh = full_mesh([4, 4])
    x_first, y_first = ("npu0", "npu1", "npu5"), ("npu0", "npu4", "npu5")
    for name in ("T1-DOR", "T1-DOR+", "T2-DOR"):
        assert rule_set(name, mesh).vls_of(mesh, y_first) == (0, 0)
        assert rule_set(name, mesh).vls_of(mesh, x_first) is None
    assert rule_set("T2-DOR", mesh).vls_of(mesh, ("npu0", "npu12", "npu4", "npu5")) == (0, 1, 0)


def table(rules: RuleSet, fabric: Fabric, node: str, name: str) -> list[Entry]:
    return [entry for entry in turn_entries(rules, fabric, node) if entry.table == name]


@pytest.mark.parametrize("name", RULE_NAMES)
def test_the_table_says_what_the_rules_say(name: str) -> None:
    mesh = full_mesh([2, 3, 2])
    rules = rule_set(name, mesh)
    installed = {}
    for entry in table(rules, mesh, "npu0", "vl_turn"):
        values = {key: match.value for key, match in entry.match}  # pyright: ignore
        assert list(values) == ["in_group", "in_up", "out_group", "out_up", "vl"]
        way = Direction(values["in_group"], bool(values["in_up"]))
        leaves = Direction(values["out_group"], bool(values["out_up"]))
        installed[way, leaves, values["vl"]] = dict(entry.params)["vl"]
    assert isinstance(rules.order, StageOrder)
    groups = len(rules.order.groups)
    ways = [HOST, *(Direction(group, up) for group in range(1, groups + 1) for up in (False, True))]
    for way in ways:
        for leaves in ways:
            for vl in range(4):
                reachable = vl % 2 == 0 or (way != HOST and rules.vls == 2)
                expected = rules.next_vl(way, leaves, vl) if reachable else None
                assert installed.pop((way, leaves, vl), None) == expected
    assert not installed


def test_on_one_vl_the_vl_never_changes(rack: Fabric) -> None:
    entries = table(rule_set("single-vl", rack), rack, "npu0", "vl_turn")
    assert entries
    for entry in entries:
        assert dict(entry.match)["vl"].value == dict(entry.params)["vl"]  # pyright: ignore


def test_ports_know_their_direction(rack: Fabric) -> None:
    rules = rule_set("T2-G", rack)
    ports = {
        name: {
            entry.match[0][1].value: tuple(value for _, value in entry.params)  # pyright: ignore
            for entry in table(rules, rack, "npu9", name)
        }
        for name in ("arrival", "departure")
    }
    # npu9 is (1, 1): port 1 leads down to npu8, port 2 up to npu10, port 8 down to npu1, port 9 up to npu17.
    assert {port: ports["departure"][port] for port in (1, 2, 8, 9)} == {
        1: (1, 0),
        2: (1, 1),
        8: (1, 0),
        9: (1, 1),
    }
    assert {port: ports["arrival"][port] for port in (1, 2, 8, 9)} == {
        1: (1, 1),
        2: (1, 0),
        8: (1, 1),
        9: (1, 0),
    }
    assert set(ports["departure"]) == set(range(15))
    assert set(ports["arrival"]) == {*range(15), CPU_PORT}
    assert (
        ports["arrival"][HOST_PORT] == ports["arrival"][CPU_PORT] == ports["departure"][HOST_PORT] == (0, 0)
    )


def test_unknown_rules_are_refused_with_those_there_are(rack: Fabric) -> None:
    with pytest.raises(
        PlanError,
        match=r"the turn rules 'T3' do not exist; use one of T2-G, T2-V, T2-DOR, T1-UD, T1-DOR\+, T1-DOR,",
    ):
        rule_set("T3", rack)
