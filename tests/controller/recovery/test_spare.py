# SPDX-License-Identifier: Apache-2.0
"""64+1: the fabric, the plan and the updates when a spare takes the place of an NPU; who finds it out."""

from collections.abc import Iterator
from itertools import permutations

import pytest

from controller.forwarding.next_hop import table_path
from controller.plan.diff import apply_updates
from controller.plan.entry import Path, hops_of
from controller.plan.plan import Plan
from controller.planner import make_plan
from controller.recovery.messages import Notice, latest_sequences
from controller.recovery.node_controller import NodeController
from controller.recovery.spare import SparePool, links_of, takeover
from controller.recovery.unreachable import describe_unreachable
from controller.schemes.registry import rule_set, scheme_of
from topologies import Fabric, TopologyError, ub_pod, ub_rack, ub_rack_lrs
from topologies.transform.spares import Replacement, replaced, spares_for


@pytest.fixture(scope="module")
def rack() -> Fabric:
    return ub_rack_lrs()


@pytest.fixture(scope="module")
def rack_plan(rack: Fabric) -> Plan:
    return make_plan(rack)


@pytest.fixture(scope="module")
def two_racks() -> Fabric:
    return ub_pod(dims=(2, 2, 2, 1), planes=1, uplink_lanes=8)


@pytest.fixture(scope="module")
def two_plan(two_racks: Fabric) -> Plan:
    return make_plan(two_racks)


def taking(failed: str, spare: str) -> Replacement:
    return Replacement({failed: spare})


def ends_of(plan: Plan, failed: str) -> list[str]:
    return [node.name for node in plan.fabric.endpoints if node.name != failed]


def ways(plan: Plan, failed: str) -> Iterator[Path]:
    """All routes, and all ways of the tables."""
    scheme = scheme_of(plan)
    for paths in plan.routes.values():
        yield from paths
    for source, permutation in permutations(ends_of(plan, failed), 2):
        path = table_path(scheme, source, permutation)
        assert path[-1] == permutation, path
        yield path


def test_the_spare_has_the_address_and_nothing_else_changes(rack: Fabric) -> None:
    taken = replaced(rack, Replacement({"npu9": "spare0"}))
    assert taken.node("spare0").address == rack.node("npu9").address
    assert taken.node("npu9").address == rack.node("spare0").address
    assert taken.links == rack.links
    assert replaced(taken, Replacement({"npu9": "spare0"})) == rack
    for other in ("npu9", "lrs0p0n0"):
        with pytest.raises(TopologyError, match="cannot take the address of npu9"):
            replaced(rack, Replacement({"npu9": other}))


def test_spares_are_those_of_the_rack(two_racks: Fabric) -> None:
    assert [spares_for(two_racks, name) for name in ("npu0", "npu3", "npu4")] == [
        ("spare0",),
        ("spare0",),
        ("spare1",),
    ]
    assert spares_for(ub_rack(), "npu0") == ()
    assert spares_for(ub_rack_lrs(spares=2), "npu63") == ("spare0.0", "spare0.1")


@pytest.mark.long("npu0", "npu9")
@pytest.mark.parametrize("failed", ["npu0", "npu9", "npu63"])
def test_all_peers_reach_the_address_by_two_switches_in_series(rack_plan: Plan, failed: str) -> None:
    plan, _ = takeover(rack_plan, taking(failed, "spare0"))
    peers = [name for name in ends_of(plan, failed) if name.startswith("npu")]
    assert len(peers) == 63
    scheme = scheme_of(plan)
    for peer in peers:
        for path in (table_path(scheme, peer, "spare0"), *plan.routes[peer, "spare0"]):
            assert [plan.fabric.node(name).kind for name in path] == ["npu", "lrs", "lrs", "spare"]
        for path in (table_path(scheme, "spare0", peer), *plan.routes["spare0", peer]):
            assert len(path) == 4
    # All planes of the rack lead there.
    assert {path[2] for path in plan.routes["npu1", "spare0"]} == {f"lrs0p{plane}c0" for plane in range(4)}


def test_nothing_goes_by_way_of_the_spare_or_of_what_failed(rack_plan: Plan) -> None:
    plan, _ = takeover(rack_plan, taking("npu9", "spare0"))
    for path in ways(plan, "npu9"):
        assert "spare0" not in path[1:-1]
        assert "npu9" not in path


def test_after_a_takeover_hops_still_rise_through_their_groups(two_racks: Fabric, two_plan: Plan) -> None:
    for number in range(8):
        failed, spare = f"npu{number}", f"spare{number // 4}"
        plan, _ = takeover(two_plan, taking(failed, spare))
        rules = rule_set(plan.rules, plan.fabric)
        for path in ways(plan, failed):
            assert rules.vls_of(plan.fabric, path) is not None, path
            assert spare not in path[1:-1]
            climbs = [
                plan.fabric.node(neighbour).tier - plan.fabric.node(node).tier
                for node, neighbour in hops_of(path)
            ]
            fell = next((at for at, step in enumerate(climbs) if step < 0), len(climbs))
            assert all(step < 0 for step in climbs[fell:]), path


def test_updates_lead_from_what_is_installed_to_the_new_plan(two_plan: Plan) -> None:
    def same(item: object, other: object) -> bool:
        return set(item) == set(other)  # type: ignore[call-overload]

    plan, updates = takeover(two_plan, taking("npu5", "spare1"))
    for node, entries in two_plan.entries.items():
        assert same(apply_updates(entries, updates[node]), plan.entries[node])
    # What a node has changed by itself in the meantime is where it starts from.
    link = two_plan.fabric.link_between("npu4", "npu5")
    port = two_plan.fabric.port_to("npu4", "npu5")
    changed = NodeController(two_plan, "npu4").on_port(port, False).updates
    assert changed
    installed = {**two_plan.entries, "npu4": apply_updates(two_plan.entries["npu4"], changed)}
    again, updates = takeover(two_plan, taking("npu5", "spare1"), installed=installed)
    assert same(apply_updates(installed["npu4"], updates["npu4"]), again.entries["npu4"])
    assert again.entries == plan.entries
    assert link.name in again.failed


def test_a_second_failure_is_planned_around(two_plan: Plan) -> None:
    down = frozenset({"npu4-npu6"})
    plan, _ = takeover(two_plan, taking("npu5", "spare1"), down=down)
    assert plan.failed == down | links_of(two_plan.fabric, "npu5")
    assert not any({"npu4", "npu6"} == set(hop) for path in ways(plan, "npu5") for hop in hops_of(path))


def test_controllers_go_on_from_the_new_plan(two_plan: Plan) -> None:
    fabric = two_plan.fabric
    port = fabric.port_to("npu4", "npu5")
    old = {name: NodeController(two_plan, name) for name in ("npu4", "npu5")}
    reaction = old["npu4"].on_port(port, False)
    notice = reaction.notices[0].message
    assert isinstance(notice, Notice)
    plan, _ = takeover(two_plan, taking("npu5", "spare1"), down=old["npu4"].down)
    new = NodeController(plan, "npu4", sequences=latest_sequences(old.values()))
    assert new.on_port(port, False).notices == ()  # told already
    assert new.on_notice(notice, port).updates == ()  # old news
    assert new.ignored == 1
    new.on_port(port, True)  # its neighbour is back, whatever it is now
    assert fabric.link_between("npu4", "npu5").name not in new.down


def ports_to(fabric: Fabric, node: str) -> list[tuple[str, int]]:
    return [(neighbour, fabric.port_to(neighbour, node)) for neighbour in fabric.neighbours(node)]


def test_a_node_is_gone_when_all_its_neighbours_say_so(two_racks: Fabric) -> None:
    standby = SparePool(two_racks)
    ends = ports_to(two_racks, "npu5")
    assert [standby.on_port(*end, False) for end in ends[:-1]] == [None] * (len(ends) - 1)
    # What it says of itself does not count.
    for neighbour in two_racks.neighbours("npu5"):
        assert standby.on_port("npu5", two_racks.port_to("npu5", neighbour), False) is None
    assert standby.on_port(*ends[-1], False) == "npu5"
    assert standby.lost_nodes() == ("npu5",)
    assert standby.find_replacement("npu5") == taking("npu5", "spare1")
    standby.on_port(*ends[0], True)
    assert standby.lost_nodes() == ()


def test_a_spare_serves_once_and_only_when_it_is_there(two_racks: Fabric) -> None:
    standby = SparePool(two_racks)
    assert standby.replace(taking("npu5", "spare1")) == {"npu5": "spare1"}
    assert standby.holder("npu5") == "spare1"
    assert standby.find_replacement("npu6") is None
    assert standby.why_none("npu6") == "spare1 is used already"
    for end in ports_to(two_racks, "spare0"):
        assert standby.on_port(*end, False) is None  # nobody misses it
    assert standby.find_replacement("npu0") is None
    assert standby.why_none("npu0") == "spare0 is gone"
    assert SparePool(ub_rack()).why_none("npu0") == "its rack has no spare NPU"


def test_a_spare_in_service_is_missed_and_replaced() -> None:
    fabric = ub_rack_lrs(spares=2)
    standby = SparePool(fabric)
    standby.replace(taking("npu5", "spare0.0"))
    said = [standby.on_port(*end, False) for end in ports_to(fabric, "spare0.0")]
    assert said[-1] == "spare0.0"
    assert standby.find_replacement("spare0.0") == taking("spare0.0", "spare0.1")
    assert standby.replace(taking("spare0.0", "spare0.1")) == {"npu5": "spare0.1"}
    assert standby.holders == {"npu5": "spare0.1"}


def test_what_is_cut_off_is_named(two_plan: Plan) -> None:
    fabric = two_plan.fabric
    npus = [f"npu{number}" for number in range(8)]
    pairs = list(permutations(npus, 2))
    assert describe_unreachable(two_plan, frozenset(), pairs) == ""
    assert describe_unreachable(two_plan, links_of(fabric, "npu5"), pairs) == "npu5 is cut off"
    between = frozenset(link.name for link in fabric.links if link.dimension == 2)
    said = describe_unreachable(two_plan, between, pairs)
    assert said == "no route joins npu0 to npu4, npu0 to npu5, npu0 to npu6, npu0 to npu7 and 28 more"
