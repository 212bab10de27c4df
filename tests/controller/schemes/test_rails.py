# SPDX-License-Identifier: Apache-2.0
"""Planning for rails: PXN where nothing joins them, spines or PXN where spines do (Rail-only, routing)."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, permutations

import pytest

from controller import BUCKETS, Plan, make_plan
from controller.deadlock.dependency_graph import find_cycle, permitted_graph
from controller.deadlock.turn_rules import Direction
from controller.forwarding.next_hop import table_path
from controller.forwarding.pipeline import DropReason, Pipeline, Tables
from controller.schemes.registry import rule_set, scheme_for
from controller.tables.groups import group_size, hash_shift, lb_selects_path
from controller.tables.segments.rails import rail_of
from tests.controller.fake_fabric import FakeFabric, Frame, Walk
from topologies import (
    End,
    Fabric,
    NodeKind,
    any_to_any,
    ecmp_clos,
    hpn,
    lumos,
    rail_only,
    rail_optimised,
)

RAIL_ONLY = {
    "one switch a rail": rail_only(4, 4),
    "domains that are full": rail_only(2, 4),
    "a switch in a domain": rail_only(3, 4, inside="switch"),
    "leaves and spines": rail_only(8, 2, radix=4),
    "leaves and spines, a switch in a domain": rail_only(8, 3, radix=4, inside="switch"),
    "three tiers": rail_only(16, 2, radix=4),
}
JOINED = {
    "spines": rail_optimised(4, 4, radix=8),
    "spines, a switch in a domain": rail_optimised(4, 4, radix=8, inside="switch"),
    "a leaf for some domains": rail_optimised(6, 2, radix=4),
    "cores": rail_optimised(4, 4, radix=4),
    "any to any": any_to_any(4, 4, radix=8),
    "a domain on two leaves": any_to_any(5, 6, radix=8),
}
FABRICS = RAIL_ONLY | JOINED
NIC_SIDE = (NodeKind.RAIL, NodeKind.SPINE, NodeKind.CORE)


def named(fabrics: dict[str, Fabric]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("fabric", fabrics.values(), ids=fabrics.keys())


def gpus(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind is NodeKind.GPU]


def rank(fabric: Fabric, name: str) -> int:
    return fabric.node(name).coordinates[0]


def domain(fabric: Fabric, name: str) -> int:
    return fabric.node(name).coordinates[1]


def kinds(fabric: Fabric, path: tuple[str, ...]) -> str:
    return " ".join(fabric.node(name).kind for name in path)


def sent(fake: FakeFabric, source: str, destination: str, lb: int = 0) -> Walk:
    scna, dcna = (fake.fabric.node(name).address for name in (source, destination))
    return fake.send(source, Frame(dcna, scna=scna, lb=lb))


@named(FABRICS)
def test_the_tables_alone_lead_everywhere(fabric: Fabric) -> None:
    fake, scheme = FakeFabric(make_plan(fabric, peers=[], check=False)), scheme_for(fabric)
    for source, destination in permutations(gpus(fabric), 2):
        walk = sent(fake, source, destination)
        assert walk.end == "host", (source, destination, walk)
        assert walk.nodes == table_path(scheme, source, destination)
        for lb in (1, 77):
            assert sent(fake, source, destination, lb).end == "host"


@named(FABRICS)
@pytest.mark.parametrize(
    "strategy", ["all-path", *(pytest.param(name, marks=pytest.mark.long) for name in ("shortest", "detour"))]
)
def test_every_bucket_arrives_by_its_planned_path(fabric: Fabric, strategy: str) -> None:
    plan = make_plan(fabric, strategy=strategy)  # pyright: ignore
    fake, rules = FakeFabric(plan), rule_set(plan.rules, fabric)
    for (source, destination), paths in plan.routes.items():
        for bucket in (0, 7, 15):
            walk = sent(fake, source, destination, bucket)
            assert (walk.nodes, walk.end) == (paths[bucket], "host")
            assert walk.vls == rules.vls_of(fabric, paths[bucket])


@named(FABRICS)
def test_nothing_that_the_rules_permit_deadlocks(fabric: Fabric) -> None:
    graph = permitted_graph(fabric, rule_set("T2-G", fabric))
    assert graph.channels
    assert find_cycle(graph) == ()


def crossings(plan: Plan, lb: int = 0) -> dict[tuple[str, str], Walk]:
    """Return the walks of all pairs on different rails and in different domains."""
    fabric, fake = plan.fabric, FakeFabric(plan)
    return {
        (source, permutation): sent(fake, source, permutation, lb)
        for source, permutation in permutations(gpus(fabric), 2)
        if rank(fabric, source) != rank(fabric, permutation)
        and domain(fabric, source) != domain(fabric, permutation)
    }


@pytest.mark.parametrize("planned", [True, False], ids=["source routes", "tables"])
@named(RAIL_ONLY)
def test_across_rails_goes_one_hop_inside_and_one_rail(fabric: Fabric, planned: bool) -> None:
    """Inside the sender's domain to its neighbour on the destination's rail, then over that rail."""
    result = crossings(make_plan(fabric, peers=None if planned else [], check=False))
    assert result
    for (source, destination), walk in result.items():
        inside = [name for name in walk.nodes if fabric.node(name).kind is NodeKind.GPU]
        assert len(inside) == 3
        assert domain(fabric, inside[1]) == domain(fabric, source)
        assert rank(fabric, inside[1]) == rank(fabric, destination)
        rails = [rail_of(fabric, name) for name in walk.nodes if fabric.node(name).kind in NIC_SIDE]
        seen = {rail and rail.value for rail in rails}
        assert seen == {rank(fabric, destination)}
        assert walk.nodes.index(inside[1]) == (1 if kinds(fabric, walk.nodes[:2]) == "gpu gpu" else 2)


@named(RAIL_ONLY)
def test_a_rail_switch_never_sees_a_foreign_destination(fabric: Fabric) -> None:
    plan = make_plan(fabric)
    fake = FakeFabric(plan)
    for source, destination in permutations(gpus(fabric), 2):
        for lb in range(0, 16, 5):
            walk = sent(fake, source, destination, lb)
            for name in walk.nodes:
                rail = rail_of(fabric, name) if fabric.node(name).is_switch else None
                assert rail is None or rail.value == rank(fabric, destination)


@named(RAIL_ONLY)
def test_a_rail_switch_refuses_a_foreign_destination(fabric: Fabric) -> None:
    fake = FakeFabric(make_plan(fabric, peers=[], check=False))
    foreign = next(name for name in gpus(fabric)[::-1] if rank(fabric, name) == 1)
    for node in fabric.nodes:
        rail = rail_of(fabric, node.name) if node.is_switch else None
        if rail is not None and rail.value == 0:
            below = next(
                neighbour
                for neighbour in fabric.neighbours(node.name)
                if fabric.node(neighbour).tier < node.tier
            )
            frame, port = Frame(fabric.node(foreign).address), fabric.port_to(node.name, below)
            assert fake.switches[node.name].forward(frame, port) is DropReason.FOREIGN_RAIL


@named(JOINED)
def test_no_rail_is_foreign_where_spines_join_them(fabric: Fabric) -> None:
    for node in fabric.nodes:
        entries = scheme_for(fabric).address_entries(node.name)
        assert not any(entry.action == "foreign_rail" for entry in entries)
        assert not any(entry.table.startswith("pxn") for entry in entries)


def test_shortest_goes_by_the_spines_and_all_paths_by_a_neighbour_too() -> None:
    fabric = JOINED["spines"]
    spines = {"gpu rail spine rail gpu"}
    for strategy, wanted in (("shortest", spines), ("all-path", spines | {"gpu gpu rail gpu"})):
        plan = make_plan(fabric, strategy=strategy)  # pyright: ignore
        assert {kinds(fabric, path) for path in plan.routes["gpu0", "gpu5"]} == wanted
        assert {kinds(fabric, path) for path in plan.routes["gpu0", "gpu4"]} == {"gpu rail gpu"}
    fabric = JOINED["spines, a switch in a domain"]
    plan = make_plan(fabric)
    assert {kinds(fabric, path) for path in plan.routes["gpu0", "gpu5"]} == {
        "gpu rail spine rail gpu",
        "gpu hbs gpu rail gpu",
    }


@named(JOINED)
def test_where_shortest_paths_go_by_the_top_nothing_is_left_to_borrow(fabric: Fabric) -> None:
    assert make_plan(fabric, strategy="borrow").routes == make_plan(fabric).routes


def test_groups_of_a_route_rise() -> None:
    fabric = RAIL_ONLY["leaves and spines, a switch in a domain"]
    path = ("gpu0", "hbs0", "gpu1", "rail1l0", "rail1s0", "rail1l3", "gpu19")
    assert fabric.node("gpu19").coordinates == (1, 6)
    rules = rule_set("T2-G", fabric)
    assert [rules.direction(fabric, *hop) for hop in pairwise(path)] == [
        Direction(1, True),
        Direction(1, False),
        Direction(2, True),
        Direction(3, True),
        Direction(3, False),
        Direction(4, False),
    ]
    assert rules.vls_of(fabric, path) == (0,) * 6
    # Whoever came down from its rail does not go on inside the domain.
    assert rules.vls_of(fabric, ("rail1l3", "gpu19", "hbs6")) is None


def test_a_rail_is_one_array_whatever_the_number_of_domains() -> None:
    fabric = rail_only(200, 2, radix=255)
    tables = Counter(entry.table for entry in scheme_for(fabric).address_entries("rail1"))
    assert tables == {"rail": 2, "segment": 1, "linear": 201}
    assert Counter(entry.table for entry in scheme_for(fabric).address_entries("gpu7")) == {
        "segment": 2,
        "linear": 3,
        "pxn_segment": 2,
        "pxn": 2,
    }


def test_a_dead_link_inside_a_domain_is_passed_by_a_third_gpu() -> None:
    fabric = RAIL_ONLY["one switch a rail"]
    scheme = scheme_for(fabric, failed={"gpu0-gpu1"})
    assert table_path(scheme, "gpu0", "gpu5") == ("gpu0", "gpu2", "gpu1", "rail1", "gpu5")
    plan = make_plan(fabric, failed={"gpu0-gpu1"})
    assert sent(FakeFabric(plan), "gpu0", "gpu5").end == "host"


def test_a_switch_that_is_gone_takes_only_its_gpus_with_it() -> None:
    fabric = RAIL_ONLY["one switch a rail"]
    cut = {link.name for link in fabric.links if "rail2" in (link.a.node, link.b.node)}
    lost = {name for name in gpus(fabric) if rank(fabric, name) == 2}
    peers = [pair for pair in permutations(gpus(fabric), 2) if lost.isdisjoint(pair)]
    plan = make_plan(fabric, failed=cut, peers=peers)
    fake = FakeFabric(plan)
    for source, destination in peers:
        assert sent(fake, source, destination).end == "host"
    # Within their domain they are there, and they reach other rails by their neighbours.
    assert sent(fake, "gpu2", "gpu3").end == "host"
    assert sent(fake, "gpu2", "gpu7").end == "host"
    assert sent(fake, "gpu0", "gpu6").end != "host"


def test_ways_up_are_shared_and_tiers_look_at_other_bits() -> None:
    fabric = RAIL_ONLY["three tiers"]
    leaf, spine = "rail0l0", "rail0s0"
    assert hash_shift(fabric, leaf) == 0
    assert hash_shift(fabric, spine) == 1
    fake = FakeFabric(make_plan(fabric, peers=[], check=False))
    neighbour = gpus(fabric)[-2]
    used = Counter(sent(fake, "gpu0", neighbour, lb).nodes[2:4] for lb in range(256))
    assert len(used) == 4
    assert max(used.values()) < 2 * min(used.values())


@pytest.mark.parametrize(
    ("ways", "members"), [(1, 1), (2, 2), (3, 32), (24, 256), (32, 32), (127, 512), (128, 128)]
)
def test_a_group_has_a_power_of_two_of_members(ways: int, members: int) -> None:
    assert group_size(ways) == members


def test_lb_mode_1_counts_the_ways() -> None:
    fabric = RAIL_ONLY["leaves and spines"]
    leaf = Pipeline(Tables(scheme_for(fabric).address_entries("rail0l0")))
    frames = (Frame(fabric.node("gpu14").address, lb, scna=1, lb_mode=1) for lb in range(4))
    spines = [fabric.port_to("rail0l0", spine) for spine in ("rail0s0", "rail0s1")]
    assert [leaf.table_port(frame) for frame in frames] == 2 * spines


def with_port_256(fabric: Fabric, name: str) -> Fabric:
    """As if the link ended on port 256 of its switch, which no instruction can name."""
    link = fabric.link(name)
    switch = fabric.node(link.b.node)
    ports = tuple(replace(port, number=256) if port.number == link.b.port else port for port in switch.ports)
    moved = replace(link, b=End(switch.name, 256))
    return replace(
        fabric,
        nodes=tuple(replace(node, ports=ports) if node is switch else node for node in fabric.nodes),
        links=tuple(moved if item is link else item for item in fabric.links),
    )


def test_a_descent_by_a_port_that_no_instruction_names_is_left_to_the_tables() -> None:
    fabric = with_port_256(RAIL_ONLY["one switch a rail"], "gpu5-rail1")
    plan = make_plan(fabric)
    assert plan.routes["gpu0", "gpu5"][0] == ("gpu0", "gpu1", "rail1", "gpu5")
    walk = sent(FakeFabric(plan), "gpu0", "gpu5")
    assert (walk.nodes, walk.end) == (plan.routes["gpu0", "gpu5"][0], "host")


@pytest.mark.long
@pytest.mark.parametrize(("make", "radix"), [(rail_only, 64), (rail_optimised, 128)])
def test_a_job_in_a_fabric_of_2048_gpus_is_planned_for_alone(make: Callable[..., Fabric], radix: int) -> None:
    fabric = make(256, 8, radix=radix)
    job = gpus(fabric)[:64]
    plan = make_plan(fabric, peers=permutations(job, 2))
    fake = FakeFabric(plan)
    for destination in job[1::9]:
        assert sent(fake, job[0], destination, 3).end == "host"
    # The tables lead the others.
    assert sent(fake, "gpu2047", "gpu8").end == "host"
    sizes = [Counter(entry.table for entry in entries) for entries in plan.entries.values()]
    most = {table: max(size[table] for size in sizes) for table in set().union(*sizes)}
    assert most["all_path"] == 63 * BUCKETS
    assert all(count <= 260 for table, count in most.items() if table != "all_path")


@pytest.mark.parametrize(
    ("fabric", "selects"),
    [
        (ecmp_clos(), True),
        (ecmp_clos(hosts=4, tors=4, aggs=16, pods=2, cores=256), True),
        (ecmp_clos(hosts=4, tors=4, aggs=17, pods=2, cores=17), True),
        (ecmp_clos(hosts=4, tors=4, aggs=32, pods=2, cores=512), False),
        (hpn(2, 2, 2, aggs=2, tors="single"), True),
        (hpn(2, 2, 2, aggs=2), False),
        (lumos(), False),
    ],
    ids=["4 bits", "8 bits", "17 uplinks", "9 bits", "one ToR", "two NIC ports", "optical"],
)
def test_lb_selects_a_path_if_each_tier_has_bits_of_its_own(fabric: Fabric, selects: bool) -> None:
    assert lb_selects_path(fabric) is selects
    assert not lb_selects_path(fabric, "identical")
