# SPDX-License-Identifier: Apache-2.0
import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from controller import (
    CPU_PORT,
    Mode,
    NodeController,
    Notice,
    Outgoing,
    Plan,
    PlanError,
    Reaction,
    Subscription,
    make_plan,
)
from controller.paths.source_route import MAX_INSTRUCTIONS, SourceRoute, pack
from controller.planner import check_routes
from controller.schemes.registry import scheme_of
from tests.controller.fake_fabric import FakeFabric, Frame, Walk
from topologies import full_mesh


def steered(ports: Sequence[int]) -> SourceRoute:
    bitmap, instructions = pack(ports)
    return SourceRoute(0, bitmap, tuple(instructions.to_bytes(MAX_INSTRUCTIONS)))


class Rack:
    """Controllers of all nodes of a plan; their notices travel through the switches they control."""

    def __init__(self, plan: Plan, mode: Mode) -> None:
        self.plan = plan
        self.fabric = plan.fabric
        self.fake = FakeFabric(plan)
        self.controllers = {node.name: NodeController(plan, node.name, mode) for node in plan.fabric.nodes}
        self.told: list[str] = []  # nodes that got a notice, once a notice
        self.walks: list[Walk] = []
        self.waiting: deque[tuple[str, Outgoing]] = deque()

    def set_link(self, name: str, up: bool) -> None:
        """The carrier changes, and both ends see it."""
        link = self.fabric.link(name)
        (self.fake.dead.discard if up else self.fake.dead.add)(name)
        for end in (link.a, link.b):
            self.react(end.node, self.controllers[end.node].on_port(end.port, up))
        self.settle()

    def react(self, node: str, reaction: Reaction) -> None:
        self.fake.apply(node, reaction.updates)
        self.waiting.extend((node, outgoing) for outgoing in (*reaction.notices, *reaction.subscriptions))

    def settle(self) -> None:
        while self.waiting:
            node, outgoing = self.waiting.popleft()
            frame = Frame(outgoing.destination_cna, mgmt=True)
            if isinstance(outgoing.message, Subscription):
                self.watched(node, outgoing.message, frame._replace(route=steered(outgoing.ports)))
                continue
            if not outgoing.ports:
                walk = self.fake.send(node, frame, by=CPU_PORT)
            else:
                (port,) = outgoing.ports
                walk = self.fake.packet_out(node, frame, port)
            self.walks.append(walk)
            if len(self.fake.dead) > 1 and walk.end != "controller":
                continue  # lost at a failure of which a node on its way had not heard
            assert walk.end == "controller", walk
            reached = walk.nodes[-1]
            assert self.fabric.node(reached).address == outgoing.destination_cna
            self.told.append(reached)
            assert isinstance(outgoing.message, Notice)
            arrived_by = self.fabric.port_to(reached, walk.nodes[-2])
            self.react(reached, self.controllers[reached].on_notice(outgoing.message, arrived_by))

    def watched(self, node: str, watch: Subscription, frame: Frame) -> None:
        walk = self.fake.send(node, frame, by=CPU_PORT)
        if walk.end == "dead link":  # that of the link which is watched: its other end answers
            return
        assert (walk.end, self.fabric.node(walk.nodes[-1]).address) == ("controller", frame.dcna), walk
        self.react(walk.nodes[-1], self.controllers[walk.nodes[-1]].on_subscription(watch))

    def tables(self) -> dict[str, set]:
        return {name: set(switch.tables.content.values()) for name, switch in self.fake.switches.items()}

    def routes(self) -> Iterable[tuple[str, ...] | None]:
        for source, controller in self.controllers.items():
            for neighbour in self.controllers:
                if neighbour != source:
                    yield from controller.routes(neighbour)

    def assert_no_entry_uses(self, dead: set[str]) -> None:
        """Neither a steered hop nor a port of a linear entry leads over a dead link."""
        used = {
            self.fabric.link_between(*hop).name for path in self.routes() if path for hop in pairwise(path)
        }
        assert not used & dead
        for node, switch in self.fake.switches.items():
            for entry in switch.tables.entries("linear"):
                link = self.fabric.link_at(node, dict(entry.params)["port"])
                assert link is None or link.name not in dead

    def assert_entries_are_the_routes(self, nodes: Iterable[str], buckets: Iterable[int]) -> None:
        for source in nodes:
            for node in self.fabric.nodes:
                if node.name != source:
                    for bucket in buckets:
                        walk = self.fake.send(source, Frame(node.address, lb=bucket))
                        assert walk.end == "host"
                        assert walk.nodes == self.controllers[source].routes(node.name)[bucket]


def planned(plan: Plan) -> dict[str, set]:
    return {name: set(entries) for name, entries in plan.entries.items()}


LINKS = ["npu0-npu1", "npu62-npu63", "npu3-npu27", "npu1-npu57"]


@pytest.mark.long("npu0-npu1")
@pytest.mark.parametrize("link", LINKS)
def test_direct_notices_reach_exactly_the_watchers(rack_plan: Plan, link: str) -> None:
    rack = Rack(rack_plan, "direct")
    rack.set_link(link, up=False)
    ends = {rack.fabric.link(link).a.node, rack.fabric.link(link).b.node}
    assert set(rack.told) | ends == set(rack_plan.subscribers[link])
    assert len(rack.told) == 2 * (22 - 1)
    knowing = {name for name, controller in rack.controllers.items() if link in controller.down}
    assert knowing == set(rack_plan.subscribers[link])


@pytest.mark.long("npu0-npu1")
@pytest.mark.parametrize("link", LINKS)
def test_direct_notices_of_shortest_routes_reach_few(shortest_plan: Plan, link: str) -> None:
    rack = Rack(shortest_plan, "direct")
    rack.set_link(link, up=False)
    knowing = {name for name, controller in rack.controllers.items() if link in controller.down}
    assert knowing == set(shortest_plan.subscribers[link])
    assert len(knowing) in (2, 16)
    rack.assert_no_entry_uses({link})


@pytest.mark.parametrize("link", LINKS)
def test_flooding_reaches_all_by_single_hops(rack_plan: Plan, link: str) -> None:
    rack = Rack(rack_plan, "flooding")
    rack.set_link(link, up=False)
    assert all(controller.down == {link} for controller in rack.controllers.values())
    assert {len(walk.nodes) for walk in rack.walks} == {2}
    assert len(rack.walks) > 64


@pytest.mark.long("direct-rack_plan")
@pytest.mark.parametrize(("mode", "strategy"), [("direct", "rack_plan"), ("flooding", "shortest_plan")])
def test_after_a_failure_no_entry_uses_the_link_and_after_repair_all_are_as_planned(
    mode: Mode, strategy: str, request: pytest.FixtureRequest
) -> None:
    plan: Plan = request.getfixturevalue(strategy)
    rack = Rack(plan, mode)
    for link in random.Random(7).sample(plan.fabric.links, 3):
        rack.set_link(link.name, up=False)
        rack.assert_no_entry_uses({link.name})
        rack.assert_entries_are_the_routes(
            (link.a.node, link.b.node, plan.subscribers[link.name][0]), range(16)
        )
        check_routes(scheme_of(plan, {link.name}), (path for path in rack.routes() if path))
        for node in plan.fabric.nodes:
            walk = rack.fake.send(link.a.node, Frame(node.address, route=SourceRoute(0, 0, (0,) * 6)))
            assert walk.end == "host"
        rack.set_link(link.name, up=True)
        assert rack.tables() == planned(plan)
        assert not any(controller.down for controller in rack.controllers.values())


@pytest.mark.long
def test_any_single_link_may_fail(rack_plan: Plan) -> None:
    rack = Rack(rack_plan, "direct")
    # Every thirteenth of the 448: along both dimensions, at every board and slot.
    for link in rack_plan.fabric.links[::13]:
        rack.set_link(link.name, up=False)
        rack.assert_no_entry_uses({link.name})
        assert None not in rack.routes()
        rack.set_link(link.name, up=True)
    assert rack.tables() == planned(rack_plan)


def test_only_what_used_the_link_is_rewritten(rack_plan: Plan) -> None:
    controller = NodeController(rack_plan, "npu0")
    reaction = controller.on_port(rack_plan.fabric.port_to("npu0", "npu1"), up=False)
    changed = [update for update in reaction.updates if update.entry.table == "all_path"]
    used = sum(
        ("npu0", "npu1") in pairwise(path)
        for (source, _), paths in rack_plan.routes.items()
        for path in paths
        if source == "npu0"
    )
    assert {update.kind for update in reaction.updates} == {"modify"}
    assert len(changed) == used
    # One member of one linear array led to npu1.
    assert len(reaction.updates) == used + 1
    assert controller.routes("npu56") == rack_plan.routes["npu0", "npu56"]


@pytest.mark.long
def test_many_failures_at_once_are_survived(rack_plan: Plan) -> None:
    rack = Rack(rack_plan, "flooding")
    dead = {link.name for link in random.Random(3).sample(rack_plan.fabric.links, 16)}
    for link in sorted(dead):
        rack.set_link(link, up=False)
    rack.assert_no_entry_uses(dead)
    assert None not in rack.routes()
    rack.assert_entries_are_the_routes(["npu0", "npu37"], [0, 9])
    check_routes(scheme_of(rack_plan, dead), (path for path in rack.routes() if path))
    for link in sorted(dead, reverse=True):
        rack.set_link(link, up=True)
    assert rack.tables() == planned(rack_plan)


def test_a_node_cut_off_loses_its_entries_and_gets_them_back() -> None:
    plan = make_plan(full_mesh([3]))
    rack = Rack(plan, "direct")
    rack.set_link("npu0-npu1", up=False)
    # The notices about the second link find no way to npu0 any more, so only the ends see it.
    link = plan.fabric.link("npu0-npu2")
    for end in (link.a, link.b):
        rack.fake.apply(end.node, rack.controllers[end.node].on_port(end.port, False).updates)
    assert rack.controllers["npu0"].routes("npu1") == (None,) * 16
    assert rack.fake.switches["npu0"].tables.entries("all_path") == []
    for end in (link.a, link.b):
        rack.fake.apply(end.node, rack.controllers[end.node].on_port(end.port, True).updates)
    rack.set_link("npu0-npu1", up=True)
    assert rack.tables() == planned(plan)


def notice_of(plan: Plan, link: str, up: bool, sequence: int) -> Notice:
    ends = plan.fabric.link(link)
    a, b = plan.fabric.node(ends.a.node).address, plan.fabric.node(ends.b.node).address
    return Notice(a, ends.a.port, b, ends.b.port, up, sequence, a)


@pytest.mark.parametrize("mode", ["direct", "flooding"])
def test_notices_no_newer_than_the_last_are_ignored(rack_plan: Plan, mode: Mode) -> None:
    controller = NodeController(rack_plan, "npu2", mode)
    down = notice_of(rack_plan, "npu0-npu1", False, 5)
    first = controller.on_notice(down, 1)
    assert first.updates
    assert bool(first.notices) == (mode == "flooding")
    assert controller.ignored == 0
    for sequence in (5, 4, 0):
        assert controller.on_notice(replace(down, sequence=sequence, up=True), 1) == Reaction()
    assert controller.ignored == 3
    assert controller.down == {"npu0-npu1"}
    restored = controller.on_notice(replace(down, sequence=6, up=True), 1)
    assert {update.entry for update in restored.updates} <= set(rack_plan.entries["npu2"])
    assert len(restored.updates) == len(first.updates)
    assert not controller.down


def test_sequence_numbers_wrap(rack_plan: Plan) -> None:
    controller = NodeController(rack_plan, "npu2")
    down = notice_of(rack_plan, "npu0-npu1", False, 30_000)
    assert controller.on_notice(down, 1).updates
    assert controller.on_notice(replace(down, up=True, sequence=60_000), 1).updates
    assert controller.on_notice(replace(down, sequence=10), 1).updates
    assert controller.on_notice(replace(down, up=True, sequence=65_535), 1) == Reaction()
    assert controller.down == {"npu0-npu1"}


def test_flooding_passes_on_by_all_live_ports_but_the_one_it_came_by(rack_plan: Plan) -> None:
    controller = NodeController(rack_plan, "npu9", "flooding")
    # npu9's own dead port 2 leads to npu10.
    told = controller.on_port(2, up=False)
    assert [outgoing.ports for outgoing in told.notices] == [(port,) for port in (1, *range(3, 15))]
    passed_on = controller.on_notice(notice_of(rack_plan, "npu0-npu1", False, 1), ingress_port=8)
    ports = [1, *range(3, 8), *range(9, 15)]
    assert [outgoing.ports for outgoing in passed_on.notices] == [(port,) for port in ports]
    for outgoing in passed_on.notices:
        neighbour = rack_plan.fabric.peer("npu9", outgoing.ports[0])
        assert neighbour is not None
        assert rack_plan.fabric.node(neighbour.node).address == outgoing.destination_cna


def told_by(reaction: Reaction) -> set[Notice]:
    return {out.message for out in reaction.notices if isinstance(out.message, Notice)}


def test_both_ends_number_a_change_alike(rack_plan: Plan) -> None:
    link = rack_plan.fabric.link("npu0-npu1")
    a, b = NodeController(rack_plan, "npu0"), NodeController(rack_plan, "npu1")
    from_a, from_b = a.on_port(link.a.port, up=False), b.on_port(link.b.port, up=False)
    ones, others = told_by(from_a), told_by(from_b)
    assert len(ones) == len(others) == 1
    assert {replace(notice, origin=0) for notice in ones} == {replace(notice, origin=0) for notice in others}
    assert {notice.origin for notice in ones | others} == {0, 1}


def test_an_end_that_hears_before_it_sees_still_tells_its_watchers_once(rack_plan: Plan) -> None:
    link = rack_plan.fabric.link("npu0-npu1")
    end = NodeController(rack_plan, "npu1")
    assert end.on_notice(notice_of(rack_plan, link.name, False, 1), 3).updates
    seen = end.on_port(link.b.port, up=False)
    assert seen.updates == ()
    assert {notice.sequence for notice in told_by(seen)} == {1}
    assert end.on_port(link.b.port, up=False) == Reaction()


def test_a_port_that_was_up_all_along_is_no_news(rack_plan: Plan) -> None:
    assert NodeController(rack_plan, "npu1").on_port(1, up=True) == Reaction()


def test_a_link_that_the_plan_knows_as_failed_is_no_news_until_it_comes_up() -> None:
    plan = make_plan(full_mesh([4]), failed={"npu0-npu1"})
    end = NodeController(plan, "npu0")
    port = plan.fabric.port_to("npu0", "npu1")
    assert end.on_port(port, up=False) == Reaction()
    assert end.down == {"npu0-npu1"}
    assert end.on_port(port, up=True).updates
    assert not end.down


@pytest.mark.parametrize(
    "changes",
    [{"cna_a": 0xFFFF}, {"cna_b": 0xFFFF}, {"port_a": 0}, {"port_a": 99}, {"port_b": 2}, {"cna_b": 2}],
)
def test_a_notice_that_names_no_link_changes_nothing(rack_plan: Plan, changes: dict[str, int]) -> None:
    controller = NodeController(rack_plan, "npu2", "flooding")
    notice = replace(notice_of(rack_plan, "npu0-npu1", False, 1), **changes)
    assert controller.on_notice(notice, 1) == Reaction()
    assert controller.ignored == 1
    assert not controller.down


def test_a_port_without_a_link_is_refused(rack_plan: Plan) -> None:
    with pytest.raises(PlanError, match="npu1 has no link on port 0"):
        NodeController(rack_plan, "npu1").on_port(0, up=False)
