# SPDX-License-Identifier: Apache-2.0
from collections import Counter, defaultdict
from itertools import pairwise, product
from pathlib import Path

import pytest
from finsy.proto import p4r

from controller import BUCKETS, DeadlockError, Plan, PlanError, make_plan
from controller.p4runtime.p4info import P4Info
from controller.paths.source_route import SourceRoute
from controller.schemes.registry import rule_set
from tests.controller.fake_fabric import FakeFabric, Frame, Walk
from topologies import Fabric, TopologyError, full_mesh

ROOT = Path(__file__).resolve().parents[2]


def arrives_as_planned(
    plan: Plan, fake: FakeFabric, source: str, destination: str, bucket: int, sl: int
) -> None:
    path = plan.routes[source, destination][bucket]
    vls = rule_set(plan.rules, plan.fabric).vls_of(plan.fabric, path, entry_vl=2 if sl else 0)
    assert vls is not None
    dcna = plan.fabric.node(destination).address
    assert fake.send(source, Frame(dcna, lb=0xA0 | bucket, sl=sl)) == Walk(path, vls, "host")


@pytest.mark.long
def test_buckets_of_every_pair_arrive_by_their_planned_paths(rack_plan: Plan) -> None:
    # One a pair, another from pair to pair: all of all pairs take a minute.
    fake = FakeFabric(rack_plan)
    for number, (source, destination) in enumerate(rack_plan.routes):
        bucket = number // 2 % BUCKETS
        arrives_as_planned(rack_plan, fake, source, destination, bucket, sl=number % 2)


@pytest.mark.parametrize(
    ("dims", "strategy"),
    [([2], "all-path"), ([3, 3], "shortest"), ([3, 2, 2], "all-path"), ([2, 2, 2, 3], "shortest")],
)
def test_other_meshes_arrive_as_planned(dims: list[int], strategy: str) -> None:
    plan = make_plan(full_mesh(dims), strategy=strategy)
    fake = FakeFabric(plan)
    for (source, destination), bucket in product(plan.routes, (0, 5)):
        arrives_as_planned(plan, fake, source, destination, bucket, sl=1)


@pytest.mark.long("dims0")
@pytest.mark.parametrize("dims", [[8, 8], [3, 5], [3, 2, 2], [2, 2, 3, 2]])
def test_the_tables_alone_lead_everywhere(dims: list[int]) -> None:
    mesh = full_mesh(dims)
    plan = make_plan(mesh)
    fake = FakeFabric(plan)
    ways = SourceRoute(0, 0, (0,) * 6)
    for source, destination in product(mesh.nodes, mesh.nodes):
        walk = fake.send(source.name, Frame(destination.address, route=ways))
        assert walk.end == "host"
        assert (walk.nodes[0], walk.nodes[-1]) == (source.name, destination.name)
        differing = [
            axis for axis in range(len(dims)) if source.coordinates[axis] != destination.coordinates[axis]
        ]
        stepped = [mesh.link_between(*hop).dimension for hop in pairwise(walk.nodes)]
        assert stepped == differing[::-1]


def test_a_route_may_mix_instructions_and_tables(rack_plan: Plan) -> None:
    # Bitmap 1,1,0,1: npu0 and npu1 are steered along X, npu2 asks its tables, npu10 is steered back.
    rack = rack_plan.fabric
    ports = [
        rack.port_to("npu0", "npu1"),
        rack.port_to("npu1", "npu2"),
        rack.port_to("npu10", "npu9"),
        0,
        0,
        0,
    ]
    frame = Frame(rack.node("npu9").address, route=SourceRoute(0, 0b1101_0000_0000, tuple(ports)))
    assert FakeFabric(rack_plan).send("npu0", frame) == Walk(
        ("npu0", "npu1", "npu2", "npu10", "npu9"), (0, 0, 0, 0), "host"
    )


def test_management_goes_to_the_controller_on_the_second_class(rack_plan: Plan) -> None:
    fake, dcna = FakeFabric(rack_plan), rack_plan.fabric.node("npu63").address
    walk = fake.send("npu0", Frame(dcna, mgmt=True))
    assert (walk.nodes[-1], walk.end) == ("npu63", "controller")
    assert set(walk.vls) <= {2, 3}
    out = fake.packet_out("npu0", Frame(rack_plan.fabric.node("npu1").address, mgmt=True), 1)
    assert out == Walk(("npu0", "npu1"), (2,), "controller")


def test_entries_of_one_npu(rack_plan: Plan) -> None:
    for entries in rack_plan.entries.values():
        counted = Counter(entry.table for entry in entries)
        assert counted["all_path"] == 63 * BUCKETS
        assert (counted["linear"], counted["segment"]) == (16, 2)
        assert (counted["departure"], counted["arrival"]) == (15, 16)
        assert len({entry.key for entry in entries}) == len(entries)


def test_without_a_demand_shares_follow_rate_and_length(rack_plan: Plan) -> None:
    line = Counter(map(len, rack_plan.routes["npu0", "npu1"]))
    assert line == {2: 4, 3: 12}
    assert len(set(rack_plan.routes["npu0", "npu1"])) == 7
    assert sorted(Counter(rack_plan.routes["npu0", "npu9"]).values()) == [8, 8]


def test_a_demand_gives_the_hot_pair_all_paths_and_the_rest_their_shortest(rack: Fabric) -> None:
    plan = make_plan(rack, demand={("npu0", "npu1"): 1e9})
    # The 14 links of a port all carry a fourteenth: 16 buckets, with exact weights.
    share: defaultdict[str, float] = defaultdict(float)
    for path, weight in zip(plan.routes["npu0", "npu1"], plan.weights["npu0", "npu1"], strict=True):
        share[path[1]] += weight
    assert share == pytest.approx(dict.fromkeys(rack.neighbours("npu0"), 1 / 14))
    assert set(plan.routes["npu1", "npu0"]) == {("npu1", "npu0")}
    assert sorted(Counter(plan.routes["npu0", "npu9"]).values()) == [8, 8]


def test_watchers_of_shortest_routes(shortest_plan: Plan) -> None:
    # X first: a link along X is used by its two ends only, one along Y by the two boards it joins.
    assert shortest_plan.subscribers["npu9-npu12"] == ("npu9", "npu12")
    assert shortest_plan.subscribers["npu9-npu57"] == tuple(
        f"npu{index}" for index in (*range(8, 16), *range(56, 64))
    )
    assert Counter(map(len, shortest_plan.subscribers.values())) == {2: 224, 16: 224}


def test_watchers_of_all_paths(rack_plan: Plan) -> None:
    # The line of the link, by detours, and the columns of its ends, by the other order.
    board = {f"npu{index}" for index in range(8)}
    columns = {f"npu{slot + 8 * row}" for slot in (0, 1) for row in range(8)}
    assert set(rack_plan.subscribers["npu0-npu1"]) == board | columns
    assert {len(watchers) for watchers in rack_plan.subscribers.values()} == {22}


@pytest.mark.parametrize("strategy", ["all-path", "shortest"])
def test_a_plan_avoids_failed_links(rack: Fabric, strategy: str) -> None:
    failed = {"npu0-npu1", "npu0-npu8", "npu6-npu7"}
    plan = make_plan(rack, strategy=strategy, failed=failed)
    dead = {(link.a.node, link.b.node) for link in map(rack.link, failed)}
    for paths in plan.routes.values():
        for path in paths:
            assert not dead & {*pairwise(path), *pairwise(path[::-1])}
    fake = FakeFabric(plan)
    for node in rack.nodes[1:]:
        arrives_as_planned(plan, fake, "npu0", node.name, 3, sl=0)
        assert fake.send("npu0", Frame(node.address, route=SourceRoute(0, 0, (0,) * 6))).end == "host"


def test_a_fabric_in_two_parts_has_no_plan() -> None:
    with pytest.raises(PlanError, match="no path from npu0 to npu1, 1 links failed"):
        make_plan(full_mesh([2]), failed={"npu0-npu1"})
    with pytest.raises(TopologyError, match="no link named"):
        make_plan(full_mesh([2]), failed={"npu0-npu7"})


def test_a_line_of_two_is_planned_around_its_dead_link() -> None:
    plan = make_plan(full_mesh([2, 2]), failed={"npu0-npu1"})
    assert set(plan.routes["npu0", "npu1"]) == {("npu0", "npu2", "npu3", "npu1")}


@pytest.mark.long("dims3-shortest")
@pytest.mark.parametrize(
    ("dims", "strategy"),
    [([8], "all-path"), ([4, 4], "all-path"), ([4, 4], "shortest"), ([8, 8], "shortest")],
)
def test_routes_that_could_deadlock_are_refused_unless_asked_for(dims: list[int], strategy: str) -> None:
    mesh = full_mesh(dims)
    with pytest.raises(
        DeadlockError,
        match="wait for each other in a circle",
    ) as caught:
        make_plan(mesh, strategy=strategy, rules="single-vl")
    assert len(caught.value.cycle) >= 3
    plan = make_plan(mesh, strategy=strategy, rules="single-vl", check=False)
    fake = FakeFabric(plan)
    for (source, destination), paths in plan.routes.items():
        walk = fake.send(source, Frame(mesh.node(destination).address))
        assert walk == Walk(paths[0], (0,) * (len(paths[0]) - 1), "host")


def test_routes_of_the_tables_belong_to_the_check() -> None:
    # Alone, X-first routes are safe on one VL; the tables go Y first, and both together are not.
    with pytest.raises(DeadlockError):
        make_plan(full_mesh([3, 3]), strategy="shortest", rules="single-vl")
    plan = make_plan(full_mesh([3, 3]), strategy="shortest", rules="T1-DOR")
    # Dimension order is the order of the tables.
    walk = FakeFabric(plan).send(
        "npu0", Frame(plan.fabric.node("npu4").address, route=SourceRoute(0, 0, (0,) * 6))
    )
    assert walk == Walk(("npu0", "npu3", "npu4"), (0, 0), "host")


@pytest.mark.parametrize("rules", ["T2-V", "T2-DOR", "T1-UD", "T1-DOR+"])
def test_other_rules_plan_what_they_allow(rules: str) -> None:
    plan = make_plan(full_mesh([4, 4]), rules=rules)
    turns, fake = rule_set(rules, plan.fabric), FakeFabric(plan)
    for (source, destination), paths in plan.routes.items():
        assert all(turns.vls_of(plan.fabric, path) is not None for path in paths)
        arrives_as_planned(plan, fake, source, destination, 7, sl=0)


def test_the_same_input_gives_the_same_plan() -> None:
    mesh = full_mesh([3, 3])
    demand = {("npu0", "npu1"): 3.0, ("npu4", "npu8"): 1.0}
    assert make_plan(mesh, demand=demand) == make_plan(full_mesh([3, 3]), demand=dict(demand))


def test_every_entry_fits_the_committed_program(rack_plan: Plan) -> None:
    info = P4Info.parse((ROOT / "p4/build/ub_npu.p4info.txtpb").read_bytes())
    for node in ("npu0", "npu63"):
        for entry in rack_plan.entries[node]:
            assert info.decode(p4r.TableEntry.FromString(info.encode(entry))) == entry
