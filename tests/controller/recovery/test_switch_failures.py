# SPDX-License-Identifier: Apache-2.0
"""Failures where switches join endpoints, and second failures, by the notices' own way through the tables."""

import random

import pytest

from controller import Mode, NodeController, Notice, Plan, Reaction, Subscription, make_plan
from controller.plan.entry import hops_of
from controller.planner import check_routes
from controller.schemes.registry import scheme_of
from tests.controller.recovery.test_node_controller import Rack, planned
from topologies import Fabric, Link, full_mesh
from topologies.families.ub_mesh.fabrics import ub_pod, ub_rack_lrs

MODES: tuple[Mode, ...] = ("direct", "flooding")


@pytest.fixture(scope="module")
def pod_plan() -> Plan:
    return make_plan(ub_pod(dims=(2, 2, 2, 2), planes=2, uplink_lanes=8))


@pytest.fixture(scope="module")
def small_rack_plan() -> Plan:
    return make_plan(ub_rack_lrs(dims=(2, 2), planes=2, uplink_lanes=8), strategy="shortest")


class Joined(Rack):
    """Endpoints are what has routes; a notice may find no way where a switch has lost its only one."""

    def routes(self):
        for source, destination in self.plan.routes:
            yield from self.controllers[source].routes(destination)


def kinds(fabric: Fabric) -> list[Link]:
    """A link of each kind: by the tiers that it joins, and its dimension."""
    result: dict[object, Link] = {}
    for link in fabric.links:
        tiers = fabric.node(link.a.node).tier, fabric.node(link.b.node).tier
        result.setdefault((tiers, link.dimension), link)
    return list(result.values())


@pytest.mark.long("pod_plan-flooding")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fixture", ["pod_plan", "small_rack_plan"])
def test_any_kind_of_link_may_fail_and_come_back(
    fixture: str, mode: Mode, request: pytest.FixtureRequest
) -> None:
    plan: Plan = request.getfixturevalue(fixture)
    rack = Joined(plan, mode)
    links = kinds(plan.fabric)
    assert len(links) == (9 if fixture == "pod_plan" else 7)
    for link in links:
        rack.set_link(link.name, up=False)
        rack.assert_no_entry_uses({link.name})
        alone = {link.a.node, link.b.node} & {
            node.name for node in plan.fabric.nodes if len(plan.fabric.neighbours(node.name)) == 1
        }
        if not alone:
            assert None not in rack.routes()
        routes = [path for path in rack.routes() if path]
        check_routes(scheme_of(plan, {link.name}), routes)
        rack.set_link(link.name, up=True)
        assert rack.tables() == planned(plan)


def test_flooding_reaches_switches_too(pod_plan: Plan) -> None:
    rack = Joined(pod_plan, "flooding")
    link = next(link for link in pod_plan.fabric.links if link.dimension == 2)
    rack.set_link(link.name, up=False)
    assert all(controller.down == {link.name} for controller in rack.controllers.values())


def test_sources_behind_both_ends_hear_of_a_link_between_racks(pod_plan: Plan) -> None:
    fabric = pod_plan.fabric
    rack = Joined(pod_plan, "direct")
    link = next(link for link in fabric.links if link.dimension == 2)
    rack.set_link(link.name, up=False)
    knowing = {name for name, controller in rack.controllers.items() if link.name in controller.down}
    # And the one other switch of each of these lines that could be a way around it: lines of two have none.
    assert knowing == {*pod_plan.subscribers[link.name], link.a.node, link.b.node}
    racks = {fabric.node(name).coordinates[2:] for name in knowing}
    assert {fabric.node(end.node).coordinates[2:] for end in (link.a, link.b)} <= racks


def test_a_switch_sends_no_notice_where_it_has_no_way_left(small_rack_plan: Plan) -> None:
    """Down to a board there is one way from an inter-rack switch: the board's own switch tells its NPUs."""
    fabric = small_rack_plan.fabric
    link = fabric.link("lrs0p0n0-lrs0p0r0")
    rack = Joined(small_rack_plan, "direct")
    rack.set_link(link.name, up=False)  # every notice that is sent arrives: see Rack.settle
    assert all(link.name in rack.controllers[name].down for name in small_rack_plan.subscribers[link.name])


def replacement_of(plan: Plan, controller: NodeController, destination: str) -> str:
    """The second link of the path that a source has moved to."""
    path = controller.routes(destination)[0]
    assert path is not None
    return plan.fabric.link_between(*list(hops_of(path))[1]).name


@pytest.mark.long("npu3-npu27")
@pytest.mark.parametrize("first", ["npu0-npu1", "npu3-npu27"])
def test_a_source_beyond_its_candidates_hears_of_a_second_failure(shortest_plan: Plan, first: str) -> None:
    rack = Rack(shortest_plan, "direct")
    rack.set_link(first, up=False)
    source, destination = first.split("-")
    second = replacement_of(shortest_plan, rack.controllers[source], destination)
    assert source not in shortest_plan.subscribers[second]
    rack.set_link(second, up=False)
    assert second in rack.controllers[source].down
    rack.assert_no_entry_uses({first, second})
    for link in (second, first):
        rack.set_link(link, up=True)
    assert rack.tables() == planned(shortest_plan)


def test_who_moves_onto_a_link_that_is_down_already_is_told_at_once(shortest_plan: Plan) -> None:
    rack = Rack(shortest_plan, "direct")
    alone = NodeController(shortest_plan, "npu0")
    alone.on_port(shortest_plan.fabric.port_to("npu0", "npu1"), up=False)
    second = replacement_of(shortest_plan, alone, "npu1")
    rack.set_link(second, up=False)
    assert second not in rack.controllers["npu0"].down
    rack.set_link("npu0-npu1", up=False)
    assert second in rack.controllers["npu0"].down
    rack.assert_no_entry_uses({second, "npu0-npu1"})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strategy", ["shortest", "all-path"])
def test_failures_one_after_the_other_leave_no_dead_path(mode: Mode, strategy) -> None:
    plan = make_plan(full_mesh([4, 4]), strategy=strategy)
    rack = Rack(plan, mode)
    dead: list[str] = []
    for link in random.Random(11).sample(plan.fabric.links, 8):
        dead.append(link.name)
        rack.set_link(link.name, up=False)
        used = {
            plan.fabric.link_between(*hop).name for path in rack.routes() if path for hop in hops_of(path)
        }
        assert not used & set(dead)
    for name in dead:
        rack.set_link(name, up=True)
    assert rack.tables() == planned(plan)


def test_routes_within_the_candidates_ask_nobody(rack_plan: Plan) -> None:
    controller = NodeController(rack_plan, "npu0")
    assert controller.on_port(rack_plan.fabric.port_to("npu0", "npu1"), up=False).subscriptions == ()


def test_flooding_asks_nobody(shortest_plan: Plan) -> None:
    controller = NodeController(shortest_plan, "npu0", "flooding")
    assert controller.on_port(shortest_plan.fabric.port_to("npu0", "npu1"), up=False).subscriptions == ()


def test_a_watch_of_somebody_elses_link_changes_nothing(shortest_plan: Plan) -> None:
    a, b = shortest_plan.fabric.link("npu0-npu1").a, shortest_plan.fabric.link("npu0-npu1").b
    watch = Subscription(0, a.port, 1, b.port, origin=9)
    controller = NodeController(shortest_plan, "npu2")
    assert controller.on_subscription(watch) == Reaction()
    assert controller.ignored == 1
    end = NodeController(shortest_plan, "npu1")
    assert end.on_subscription(watch) == Reaction()
    (told,) = [
        notice for notice in end.on_port(b.port, up=False).notices
        if notice.destination_cna == 9
    ]  # fmt: skip
    assert isinstance(told.message, Notice)
    assert (told.message.up, told.ports) == (False, (end_port(shortest_plan, "npu1", "npu9"),))
    (again,) = end.on_subscription(watch).notices
    assert again.message == told.message


def end_port(plan: Plan, node: str, neighbour: str) -> int:
    return plan.fabric.port_to(node, neighbour)


def test_with_one_plane_a_lost_way_up_is_a_lost_way_down() -> None:
    """No route moves within a mesh after it has come down (the turn rules), so nobody elsewhere has one."""
    plan = make_plan(ub_pod(dims=(2, 2, 2, 2), planes=1, uplink_lanes=4))
    rack = Joined(plan, "direct")
    link = next(link for link in plan.fabric.links if link.a.node == "npu0" and link.dimension is None)
    rack.set_link(link.name, up=False)
    assert rack.controllers["npu15"].routes("npu0") == (None,) * 16
    assert None not in rack.controllers["npu0"].routes("npu15")
    assert None not in rack.controllers["npu1"].routes("npu0")
    rack.set_link(link.name, up=True)
    assert rack.tables() == planned(plan)
