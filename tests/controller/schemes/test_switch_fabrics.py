# SPDX-License-Identifier: Apache-2.0
"""Planning where endpoints are joined by switches: racks with LRS, Pods, a SuperPod in small."""

from collections import Counter
from itertools import pairwise, permutations

import pytest

from controller import BUCKETS, Plan, PlanError, Update, make_plan
from controller.deadlock.turn_rules import Direction
from controller.forwarding.next_hop import table_path
from controller.paths.finder import PathFinder, distance
from controller.paths.switch_paths import SwitchPaths
from controller.schemes.registry import rule_set, scheme_for
from controller.schemes.strategy import STRATEGIES
from controller.tables.segments.prefixes import Prefix, descendants, subprefixes
from controller.tables.turns import turn_entries
from tests.controller.fake_fabric import FakeFabric, Frame
from topologies import Fabric, NodeKind
from topologies.families.registry import build
from topologies.families.ub_mesh.fabrics import ub_pod, ub_rack_lrs, ub_superpod

SMALL_POD = (2, 2, 2, 2)
SMALL_SUPERPOD = (2, 2, 2, 2, 2)


@pytest.fixture(scope="module")
def small() -> Fabric:
    return ub_pod(dims=SMALL_POD, planes=1, uplink_lanes=4)


@pytest.fixture(scope="module")
def high() -> Fabric:
    return ub_superpod(dims=SMALL_SUPERPOD, planes=1, uplink_lanes=4)


@pytest.fixture(scope="module")
def switched() -> Fabric:
    return ub_rack_lrs()


@pytest.fixture(scope="module")
def pod() -> Fabric:
    return ub_pod()


def ends(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.endpoints]


def tables_lead_everywhere(fabric: Fabric, plan: Plan) -> None:
    """Check delivery by P4's own look-ups and turn rules, without source routes."""
    fake = FakeFabric(plan)
    for switch in fake.switches.values():
        for entry in switch.tables.entries("all_path"):
            switch.tables.write(Update("delete", entry))
    scheme = scheme_for(fabric)
    for source, destination in permutations(ends(fabric), 2):
        walk = fake.send(source, Frame(fabric.node(destination).address))
        assert walk.end == "host"
        assert walk.nodes == table_path(scheme, source, destination)


@pytest.mark.long("ub-rack-clos", "ub-rack-1dfm-a")
@pytest.mark.parametrize("name", ["ub-rack-1dfm-a", "ub-rack-clos"])
def test_other_racks_are_planned_for_as_well(name: str) -> None:
    fabric = build(name)
    tables_lead_everywhere(fabric, make_plan(fabric))  # which refuses what could deadlock


@pytest.mark.parametrize("name", ["small", "high", "switched"])
def test_the_tables_alone_lead_everywhere(name: str, request: pytest.FixtureRequest) -> None:
    fabric: Fabric = request.getfixturevalue(name)
    tables_lead_everywhere(fabric, make_plan(fabric, peers=[], check=False))


@pytest.mark.parametrize("name", ["small", "high", "switched"])
def test_switches_reach_every_endpoint_with_management(name: str, request: pytest.FixtureRequest) -> None:
    fabric: Fabric = request.getfixturevalue(name)
    fake = FakeFabric(make_plan(fabric, peers=[], check=False))
    for switch in (node for node in fabric.switches):
        for destination in ends(fabric):
            walk = fake.send(switch.name, Frame(fabric.node(destination).address, mgmt=True))
            assert walk.end == "controller", (switch.name, destination, walk)
            assert walk.nodes[-1] == destination


@pytest.mark.long("high-borrow", "high-detour", "high-shortest", "high-all-path")
@pytest.mark.parametrize("strategy", ["all-path", "shortest", "detour", "borrow"])
@pytest.mark.parametrize("name", ["small", "high"])
def test_every_bucket_arrives_by_its_planned_path(
    name: str, strategy: str, request: pytest.FixtureRequest
) -> None:
    fabric: Fabric = request.getfixturevalue(name)
    plan = make_plan(fabric, strategy=strategy)  # pyright: ignore
    fake, rules = FakeFabric(plan), rule_set(plan.rules, fabric)
    for (source, destination), paths in plan.routes.items():
        for bucket in (0, 7, 15):
            walk = fake.send(source, Frame(fabric.node(destination).address, lb=bucket))
            assert (walk.nodes, walk.end) == (paths[bucket], "host")
            assert walk.vls == rules.vls_of(fabric, paths[bucket])


def test_groups_of_a_route_rise_as_stated(pod: Fabric) -> None:
    rules = rule_set("T2-G", ub_superpod(dims=SMALL_SUPERPOD, planes=1, uplink_lanes=4))
    fabric = ub_superpod(dims=SMALL_SUPERPOD, planes=1, uplink_lanes=4)
    path = ("npu0", "npu1", "lrs0p0n0", "lrs0p0r0", "lrs1p0r0", "hrs0", "lrs7p0r0", "lrs7p0n0", "npu28")
    assert [rules.direction(fabric, *hop) for hop in pairwise(path)] == [
        Direction(1, True),
        Direction(2, True),
        Direction(3, True),
        Direction(4, True),
        Direction(5, True),
        Direction(5, False),
        Direction(6, False),
        Direction(7, False),
    ]
    assert rules.vls_of(fabric, path) == (0,) * 8
    assert (
        rules.vls_of(fabric, ("lrs7p0n0", "npu28", "npu29")) is None
    )  # no hop in the mesh after coming down
    # A Pod without HRS has no group for them.
    assert len(rule_set("T2-G", pod).order.numbers) == 6


def test_a_rule_set_with_too_many_groups_is_refused(high: Fabric) -> None:
    with pytest.raises(
        PlanError,
        match="rules T2-DOR: there are 9 groups of hops, and the tables can name 7; use fewer dimensions",
    ):
        rule_set("T2-DOR", high)


def test_what_is_below_a_switch(pod: Fabric, switched: Fabric) -> None:
    bits = 16
    reach = descendants(pod)
    assert reach["lrs0p0n3"].hops == {Prefix(3 << 3, 13): 1}  # board 3
    spare = pod.node("spare0").address
    assert reach["lrs0p0c0"].hops_to(spare, bits) == 1
    assert reach["lrs0p0r5"].hops == {Prefix(0, 10): 2, Prefix(1 << 13, 10): 2, Prefix(2 << 13, 10): 2}
    assert reach["lrs0p0r5"].hops_to(pod.node("npu64").address, bits) is None
    # One rack: all of a class would be below, but no segment is as wide as a class.
    assert all(prefix.length > 3 for prefix in descendants(switched)["lrs0p0r0"].hops)
    assert len(subprefixes(pod, Prefix(0, 10), 13)) == 8


def test_an_inter_rack_switch_goes_down_by_boards_and_across_by_rack(pod: Fabric) -> None:
    result = {segment.prefix: segment for segment in scheme_for(pod).segments("lrs5p2r3")}
    own = pod.node("npu320").address  # rack 5: column 1, row 1
    boards = result[Prefix(own, 10)]
    assert boards.next_hops == tuple(f"lrs5p2n{board}" for board in range(8))
    assert result[Prefix(own >> 8 << 8, 8)].next_hops == ("lrs4p2r3", None, "lrs6p2r3", "lrs7p2r3")
    assert result[Prefix(0, 6)].next_hops == ("lrs1p2r3", None, "lrs9p2r3", "lrs13p2r3")


def test_a_dead_link_to_a_board_is_passed_by_another_switch(switched: Fabric) -> None:
    scheme = scheme_for(switched, failed={"lrs0p1n2-lrs0p1r4"})
    assert table_path(scheme, "lrs0p1r4", "npu17") == ("lrs0p1r4", "lrs0p1c0", "lrs0p1n2", "npu17")
    assert table_path(scheme, "lrs0p1r4", "npu25") == ("lrs0p1r4", "lrs0p1n3", "npu25")


def test_an_npu_keeps_few_entries(pod: Fabric) -> None:
    """23 of them lead to all 1,024 NPUs, spares and CPUs; a flat table has one each."""
    assert len(scheme_for(pod).address_entries("npu700")) == 23
    assert max(len(scheme_for(pod).address_entries(node.name)) for node in pod.nodes[-72:]) < 64


def test_vl_entries_are_those_of_the_nodes_own_turns(pod: Fabric) -> None:
    rules = rule_set("T2-G", pod)
    for name in ("npu0", "spare0", "lrs0p0n0", "lrs0p0c0", "lrs0p0r0"):
        entries = [entry for entry in turn_entries(rules, pod, name) if entry.table == "vl_turn"]
        assert 0 < len(entries) < 80


def test_paths_between_racks(pod: Fabric) -> None:
    search = SwitchPaths(PathFinder(pod), rule_set("T2-G", pod))
    row = search.shortest_paths("npu0", "npu64")
    assert len(row) == 32
    assert {len(path) for path in row} == {6}
    assert len({path[1] for path in row}) == 4
    assert len({path[2] for path in row}) == 32
    corner = search.shortest_paths("npu3", "npu330")
    assert len(corner) == 64
    assert {len(path) for path in corner} == {7}
    third = search.detours(row[0], borrow=False)
    assert len(third) == 64
    assert all(sum(name.split("p")[0] == "lrs0" for name in path) == 2 for path in third)
    assert distance(pod, "npu0", "npu64") == 5


def test_borrow_takes_the_high_switches_only_when_asked(high: Fabric) -> None:
    def tops(strategy: str, source: str, destination: str) -> set[bool]:
        plan = make_plan(high, strategy=strategy, peers=[(source, destination)])  # pyright: ignore
        return {any(name.startswith("hrs") for name in path) for path in plan.routes[source, destination]}

    assert tops("all-path", "npu0", "npu4") == {False}
    assert tops("detour", "npu0", "npu12") == {False}
    assert tops("borrow", "npu0", "npu12") == {True, False}
    assert tops("all-path", "npu0", "npu16") == {True}  # another Pod


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", ["small", "high", "clos"])
def test_no_path_is_a_candidate_twice(name: str, strategy: str, request: pytest.FixtureRequest) -> None:
    """It would have two shares."""
    fabric: Fabric = build("ub-pod-clos", dims=SMALL_POD) if name == "clos" else request.getfixturevalue(name)
    router = scheme_for(fabric, strategy=strategy)
    for pair in permutations(ends(fabric), 2):
        result = router.candidates(*pair)
        assert len(result) == len(set(result)), pair


@pytest.mark.long
def test_pairs_spread_over_all_planes_and_places(pod: Fabric) -> None:
    """More paths than buckets: which of them a pair leaves out differs from pair to pair."""
    pairs = [(f"npu{number}", f"npu{64 + number}") for number in range(64)]
    plan = make_plan(pod, peers=pairs)
    used = Counter(path[2] for pair in pairs for path in plan.routes[pair])
    assert len(used) == 32
    assert max(used.values()) <= 1.5 * min(used.values())
    assert all(len(paths) == BUCKETS for paths in plan.routes.values())


@pytest.mark.long
def test_only_peers_have_paths(pod: Fabric) -> None:
    plan = make_plan(pod, peers=[("npu0", "npu1")])
    assert set(plan.routes) == {("npu0", "npu1"), ("npu1", "npu0")}
    assert plan.routes_from("npu5") == {}
    with pytest.raises(PlanError, match="plan between two different endpoints"):
        make_plan(pod, peers=[("npu0", "lrs0p0n0")])


def test_the_spare_is_no_transit(switched: Fabric) -> None:
    plan = make_plan(switched)
    spares = {node.name for node in switched.nodes if node.kind in (NodeKind.SPARE, NodeKind.CPU)}
    for (source, destination), paths in plan.routes.items():
        for path in paths:
            assert not spares.intersection(path[1:-1]), (source, destination)
