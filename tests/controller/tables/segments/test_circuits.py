# SPDX-License-Identifier: Apache-2.0
"""Routes over optical circuits between Pods (LumosCore): parallel ones, uneven ones, and by a third Pod."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import permutations

import numpy as np
import pytest

from controller import Plan, make_plan
from controller.circuits import allocate
from controller.deadlock.dependency_graph import find_cycle, permitted_graph
from controller.errors import PlanError
from controller.forwarding.next_hop import table_path
from controller.paths.finder import PathFinder
from controller.recovery.messages import Mode
from controller.recovery.node_controller import NodeController
from controller.schemes.registry import rule_set, scheme_for
from controller.tables.segments.circuits import leaf_segments
from tests.controller.fake_fabric import FakeFabric, Frame, Walk
from topologies import Fabric, NodeKind, lumos
from topologies.families.lumos.core import DARK, maps_of, with_maps

SMALL = lumos(accelerators=4, hb_size=4)
# Two Pods with many circuits, others with few.
UNEVEN = with_maps(
    lumos(4, 4, 2, accelerators=4, hb_size=4),
    allocate(np.array([[0, 9, 2, 1], [9, 0, 1, 2], [2, 1, 0, 7], [1, 2, 7, 0]]), 2, 8).maps,
)
# Of the spines 0, Pods 0 and 1 have three circuits to each other, of the spines 1 one.
LOPSIDED = with_maps(
    lumos(3, 2, 2, accelerators=4, hb_size=4, ports=4),
    [[[1, 0, DARK], [1, 2, 0]], [[1, 2, 0], [2, DARK, 1]]],
)
# Pods in a row.
ROW = with_maps(lumos(3, 2, 2, accelerators=4, hb_size=4), [[[1, 2, DARK], [1, 2, DARK]]] * 2)
FABRICS = {
    "small": SMALL,
    "a switch in a server": lumos(accelerators=4, hb_size=8, inside="switch"),
    "uniform": lumos(accelerators=4, hb_size=4, wiring="uniform"),
    "three spines": lumos(5, 2, 3, accelerators=6, hb_size=4),
    "uneven": UNEVEN,
    "lopsided": LOPSIDED,
    "a row": ROW,
}
named = pytest.mark.parametrize("fabric", FABRICS.values(), ids=FABRICS.keys())


@cache
def plan_of(fabric: Fabric, planned: bool) -> Plan:
    """Source routes between all, or tables alone: made once, plans never change."""
    return make_plan(fabric, peers=None if planned else [])


def gpus(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind is NodeKind.GPU]


def pod(fabric: Fabric, name: str) -> int:
    return fabric.node(name).coordinates[2]


def frame(fabric: Fabric, source: str, destination: str, lb: int = 0, lb_mode: int = 0) -> Frame:
    scna, dcna = (fabric.node(name).address for name in (source, destination))
    return Frame(dcna, scna=scna, lb=lb, lb_mode=lb_mode)


def sent(fake: FakeFabric, source: str, destination: str, lb: int = 0) -> Walk:
    return fake.send(source, frame(fake.fabric, source, destination, lb))


def bundles(
    fake: FakeFabric, pairs: Iterable[tuple[str, str]], lbs: range, lb_mode: int
) -> dict[tuple[str, str], list[int]]:
    """Frames of pairs in different Pods on each circuit of their first hop between Pods, by that hop."""
    fabric = fake.fabric
    carried: dict[tuple[str, str], dict[int, int]] = {}
    for source, destination in pairs:
        for lb in lbs if pod(fabric, source) != pod(fabric, destination) else ():
            item = frame(fabric, source, destination, lb, lb_mode)
            walk = fake.send(source, item)
            assert walk.end == "host"
            node, neighbour = walk.nodes[2:4]
            bundle = carried.setdefault((node, neighbour), dict.fromkeys(fabric.ports_to(node, neighbour), 0))
            bundle[fake.switches[node].table_port(item)] += 1
    return {hop: list(counts.values()) for hop, counts in carried.items()}


@pytest.mark.long("source routes-uneven", "source routes-three spines")
@named
@pytest.mark.parametrize("planned", [True, False], ids=["source routes", "tables"])
def test_everybody_is_reached(fabric: Fabric, planned: bool) -> None:
    fake, scheme = FakeFabric(plan_of(fabric, planned)), scheme_for(fabric)
    for source, destination in permutations(gpus(fabric)[:: 1 if len(gpus(fabric)) < 20 else 3], 2):
        for lb in (0, 1, 6, 77):
            assert sent(fake, source, destination, lb).end == "host"
        if not planned:
            assert sent(fake, source, destination).nodes == table_path(scheme, source, destination)


@named
def test_nothing_that_the_rules_permit_deadlocks(fabric: Fabric) -> None:
    graph = permitted_graph(fabric, rule_set("T2-G", fabric))
    assert graph.channels
    assert find_cycle(graph) == ()


def test_a_source_steers_as_far_as_its_spine() -> None:
    plan = plan_of(SMALL, True)
    source, neighbour = "gpu0", gpus(SMALL)[-1]
    dcna = SMALL.node(neighbour).address
    for entry in plan.entries[source]:
        match = dict(entry.match)
        if entry.table == "all_path" and match["dcna"].value == dcna:  # pyright: ignore
            path = plan.routes[source, neighbour][match["bucket"].value]  # pyright: ignore
            ports = [SMALL.port_to(*hop) for hop in (path[:2], path[1:3])]
            assert dict(entry.params) == {"bitmap": 0b1100 << 8, "instr": int.from_bytes(bytes(ports)) << 32}
    fake = FakeFabric(plan)
    for bucket, path in enumerate(plan.routes[source, neighbour]):
        assert sent(fake, source, neighbour, bucket).nodes == path


@pytest.mark.parametrize("planned", [True, False], ids=["source routes", "tables"])
@pytest.mark.parametrize(
    ("fabric", "most"), [(SMALL, 1.0), (UNEVEN, 1.05), (lumos(3, 2, 2, accelerators=6, hb_size=4), 1.02)]
)
def test_parallel_circuits_share_a_count_of_frames_evenly(fabric: Fabric, most: float, planned: bool) -> None:
    """lb_mode 1, in which a sender counts: 256 frames of one pair in each two Pods."""
    few = [next(name for name in gpus(fabric) if pod(fabric, name) == item) for item in range(fabric.dims[2])]
    fake = FakeFabric(make_plan(fabric, peers=permutations(few, 2) if planned else []))
    result = bundles(fake, permutations(few, 2), range(256), 1)
    assert {len(counts) for counts in result.values()} & {2, 3, 5, 6}
    for counts in result.values():
        assert max(counts) <= most * sum(counts) / len(counts)


def test_parallel_circuits_share_flows() -> None:
    """lb_mode 0: as evenly as a hash does, of about 512 flows in each of the bundles."""
    pairs = [(source, gpu) for source in gpus(SMALL)[:8] for gpu in gpus(SMALL)[16:24]]
    for planned in (pairs, []):
        result = bundles(FakeFabric(make_plan(SMALL, peers=planned)), pairs, range(16), 0)
        assert result.keys() == {("spine0.0", "spine2.0"), ("spine0.1", "spine2.1")}
        for counts in result.values():
            assert max(counts) < 1.2 * min(counts)


def test_a_leaf_shares_in_proportion_to_its_spines_circuits() -> None:
    assert [len(LOPSIDED.links_between(f"spine0.{h}", f"spine1.{h}")) for h in (0, 1)] == [3, 1]
    for planned in (True, False):
        fake = FakeFabric(plan_of(LOPSIDED, planned))
        taken = Counter(sent(fake, "gpu0", "gpu8", lb).nodes[2] for lb in range(256))
        assert taken["spine0.0"] == pytest.approx(192, abs=0 if planned else 25)
    # Where no shares differ, the default does.
    finder = PathFinder(SMALL)
    assert leaf_segments(finder, SMALL.node("leaf0.0"), ("spine0.0", "spine0.1")) == []
    groups = [entry for entry in scheme_for(SMALL).address_entries("leaf0.0") if entry.action == "set_group"]
    assert len(groups) == 1


def test_a_spine_without_a_way_to_a_pod_gets_nothing_for_it() -> None:
    maps = np.array(maps_of(SMALL))
    maps[1, :, 0] = DARK
    maps[1][maps[1] == 0] = DARK
    fabric = with_maps(SMALL, maps)
    for planned in (None, []):
        fake = FakeFabric(make_plan(fabric, peers=planned))
        for gpu in gpus(fabric)[8:]:
            for lb in range(16):
                assert sent(fake, "gpu0", gpu, lb).nodes[2] == "spine0.0"
                assert sent(fake, gpu, "gpu0", lb).nodes[2].endswith(".0")
        between = {sent(fake, gpus(fabric)[8], gpus(fabric)[-1], lb).nodes[2] for lb in range(64)}
        assert between == {"spine1.0", "spine1.1"}


def test_a_third_pod_is_crossed_only_where_no_circuit_leads_straight() -> None:
    for planned in (True, False):
        fake = FakeFabric(plan_of(ROW, planned))
        for source, destination in permutations(gpus(ROW), 2):
            ends = pod(ROW, source), pod(ROW, destination)
            for lb in (0, 1, 200):
                pods = [pod(ROW, name) for name in sent(fake, source, destination, lb).nodes]
                assert len(set(pods)) == (3 if ends in ((0, 2), (2, 0)) else len({*ends}))


def test_pods_without_any_way_are_not_planned_for() -> None:
    apart = with_maps(SMALL, [[[1, DARK, 3, DARK]] * 2] * 2)
    with pytest.raises(PlanError, match="no path from gpu0 to gpu16, no link failed; use rules"):
        make_plan(apart)
    inside = [name for name in gpus(apart) if pod(apart, name) < 2]
    fake = FakeFabric(make_plan(apart, peers=permutations(inside, 2)))
    assert sent(fake, "gpu0", "gpu9").end == "host"
    assert sent(fake, "gpu0", "gpu16").end == "no route"


def test_without_circuits_rules_number_hops_alike() -> None:
    """Tables that a new map leaves as they are stay so."""
    dark = with_maps(SMALL, [[[DARK] * 4] * 2] * 2)
    assert rule_set("T2-G", dark).order == rule_set("T2-G", SMALL).order


def circuits(fabric: Fabric, node: str, neighbour: str) -> list[str]:
    return [link.name for link in fabric.links_between(node, neighbour)]


def test_a_plan_without_some_of_parallel_circuits_uses_the_others() -> None:
    first, second = circuits(SMALL, "spine0.0", "spine2.0")
    for failed in ({first}, {second}):
        for planned in (None, []):
            fake = FakeFabric(make_plan(SMALL, peers=planned, failed=failed))
            assert all(sent(fake, "gpu0", "gpu16", lb).end == "host" for lb in range(64))
    taken = Counter(sent(fake, "gpu0", "gpu16", lb).nodes[2] for lb in range(256))
    assert taken["spine0.0"] == pytest.approx(256 / 3, abs=25)


def react(fake: FakeFabric, plan: Plan, cut: list[str], mode: Mode = "direct") -> None:
    """All that nodes do when circuits fail, until no notice is on its way."""
    fabric = plan.fabric
    controllers = {node.name: NodeController(plan, node.name, mode) for node in fabric.nodes}
    for name in cut:
        link = fabric.link(name)
        fake.dead.add(name)
        waiting = [(end.node, controllers[end.node].on_port(end.port, False)) for end in (link.a, link.b)]
        while waiting:
            node, reaction = waiting.pop(0)
            fake.apply(node, reaction.updates)
            for out in (*reaction.notices, *reaction.subscriptions):
                neighbour = fabric.node_of(out.destination_cna)
                assert neighbour is not None
                asked = controllers[neighbour.name]
                if hasattr(out.message, "up"):
                    waiting.append((neighbour.name, asked.on_notice(out.message, 0)))  # pyright: ignore
                else:
                    waiting.append((neighbour.name, asked.on_subscription(out.message)))  # pyright: ignore


@pytest.mark.parametrize("planned", [True, False], ids=["source routes", "tables"])
def test_a_cut_circuit_is_for_its_spines_the_last_one_for_all(planned: bool) -> None:
    plan = plan_of(SMALL, planned)
    fake = FakeFabric(plan)
    first, _ = circuits(SMALL, "spine0.0", "spine2.0")
    before = {name: dict(fake.switches[name].tables.content) for name in ("gpu0", "spine0.0", "spine1.0")}
    react(fake, plan, [first])
    for lb in range(64):
        assert sent(fake, "gpu0", "gpu16", lb).end == "host"
        assert sent(fake, "gpu16", "gpu0", lb).end == "host"
    assert fake.switches["gpu0"].tables.content == before["gpu0"]
    assert fake.switches["spine1.0"].tables.content == before["spine1.0"]
    assert fake.switches["spine0.0"].tables.content != before["spine0.0"]


@pytest.mark.parametrize("planned", [True, False], ids=["source routes", "tables"])
def test_when_the_last_circuit_goes_other_spines_take_over(planned: bool) -> None:
    plan = plan_of(SMALL, planned)
    fake = FakeFabric(plan)
    react(fake, plan, circuits(SMALL, "spine0.0", "spine2.0"))
    for source, destination in permutations(gpus(SMALL)[::3], 2):
        ends = {pod(SMALL, source), pod(SMALL, destination)}
        for lb in range(0, 64, 5):
            walk = sent(fake, source, destination, lb)
            assert walk.end == "host", (source, destination, walk)
            if ends == {0, 2}:
                assert walk.nodes[2].endswith(".1")


@pytest.mark.parametrize("mode", ["direct", "flooding"])
def test_tables_come_to_be_those_of_a_plan_without_the_circuits(mode: Mode) -> None:
    """In direct mode those of whoever is told: both ends and the leaves below."""
    plan = plan_of(LOPSIDED, False)
    fake = FakeFabric(plan)
    cut = [circuits(LOPSIDED, "spine0.0", "spine1.0")[0], *circuits(LOPSIDED, "spine0.1", "spine1.1")]
    react(fake, plan, cut, mode)
    wanted = FakeFabric(make_plan(LOPSIDED, peers=[], failed=set(cut)))
    told = [
        node.name for node in LOPSIDED.nodes if mode == "flooding" or (node.tier and node.coordinates[2] < 2)
    ]
    assert any(
        fake.switches[name].tables.content != FakeFabric(plan).switches[name].tables.content for name in told
    )
    for name in told:
        assert fake.switches[name].tables.content == wanted.switches[name].tables.content, name


def test_until_a_source_has_heard_its_spine_goes_by_a_third_pod() -> None:
    plan = plan_of(SMALL, True)
    fake = FakeFabric(plan)
    controller = NodeController(plan, "spine0.0")
    for port in SMALL.ports_to("spine0.0", "spine2.0"):
        link = SMALL.link_at("spine0.0", port)
        assert link is not None
        fake.dead.add(link.name)
        fake.apply("spine0.0", controller.on_port(port, False).updates)
    walks = [sent(fake, "gpu0", "gpu16", lb) for lb in range(16)]
    assert {walk.end for walk in walks} == {"host"}
    assert {len(walk.nodes) for walk in walks} == {6, 7}
