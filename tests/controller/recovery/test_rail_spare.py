# SPDX-License-Identifier: Apache-2.0
"""Rail-only fabrics: plans in which GPUs, switches and whole domains have been replaced; who finds it out."""

from collections.abc import Iterable
from itertools import permutations

import pytest

from controller.errors import PlanError
from controller.plan.diff import apply_updates
from controller.plan.plan import Plan
from controller.planner import make_plan
from controller.recovery.hello import HelloSessions
from controller.recovery.node_controller import NodeController
from controller.recovery.spare import SparePool, links_of, takeover
from controller.recovery.unreachable import describe_unreachable
from tests.controller.fake_fabric import FakeFabric, Frame
from topologies import Fabric, rail_only
from topologies.transform.spares import Replacement

OPTIONS = {"spares": 1, "spare_domains": 1, "spare_rails": 1, "optical": True}
MESH = rail_only(3, 4, **OPTIONS)
SWITCHED = rail_only(3, 4, inside="switch", **OPTIONS)
LEAVES = rail_only(4, 2, radix=4, spares=1, spare_domains=1, optical=True)

both_insides = pytest.mark.parametrize("fabric", [MESH, SWITCHED], ids=["mesh", "switch"])


def down(standby: SparePool, *ends: tuple[str, int]) -> list[str | None]:
    return [standby.on_port(*end, False) for end in ends]


def around(fabric: Fabric, node: str) -> list[tuple[str, int]]:
    """Ports that lead to a node."""
    return [(neighbour, fabric.port_to(neighbour, node)) for neighbour in fabric.neighbours(node)]


def nic(fabric: Fabric, gpu: str) -> tuple[str, int]:
    return gpu, next(port.number for port in fabric.node(gpu).ports if port.name == "nic")


def after(fabric: Fabric, *lost: str) -> tuple[SparePool, Replacement]:
    standby = SparePool(fabric)
    for node in lost:
        down(standby, *around(fabric, node))
    result = standby.find_replacement(standby.lost_nodes()[0])
    assert result is not None
    return standby, result


def replace(standby: SparePool, result: Replacement) -> None:
    """The new circuits carry."""
    before = {link.name for link in standby.fabric.links}
    standby.replace(result)
    for link in standby.fabric.links:
        for end in (link.a, link.b):
            if link.name not in before:
                standby.on_port(end.node, end.port, True)


def members_of(fabric: Fabric, standby: SparePool) -> list[str]:
    return [standby.holder(node.name) for node in fabric.nodes if node.kind.member]


def all_arrive(plan: Plan, members: Iterable[str]) -> None:
    """Check delivery by the tables alone, and by the source route of every bucket that has one."""
    fake, fabric = FakeFabric(plan), plan.fabric
    for source, permutation in permutations(members, 2):
        scna, dcna = fabric.node(source).address, fabric.node(permutation).address
        for lb in range(4):
            walk = fake.send(source, Frame(dcna, scna=scna, lb=lb))
            assert walk.end == "host", (source, permutation, walk)
            assert walk.nodes[-1] == permutation


@both_insides
@pytest.mark.parametrize("strategy", ["all-path", "shortest"])
@pytest.mark.parametrize("peers", ["all", "none"])
@pytest.mark.parametrize("lost", ["gpu0", "gpu6", "rail2", "domain"])
def test_all_reach_the_places_of_what_was_lost(fabric: Fabric, strategy: str, peers: str, lost: str) -> None:
    plan = make_plan(fabric, strategy=strategy, peers=None if peers == "all" else [])  # type: ignore[arg-type]
    removed = ("gpu4", "gpu5", "gpu6", "gpu7", "spare1") if lost == "domain" else (lost,)
    standby, result = after(fabric, *removed)
    before = {node.name: node.address for node in fabric.nodes}
    replace(standby, result)
    new, updates = takeover(plan, result, down=standby.down)
    assert new.fabric == standby.fabric
    members = members_of(fabric, standby)
    assert len(set(members)) == 12
    assert [new.fabric.node(name).address for name in members] == [
        before[node.name] for node in fabric.nodes if node.kind.member
    ]
    assert set(removed).isdisjoint(members)
    all_arrive(new, members)
    for node, entries in plan.entries.items():
        assert set(apply_updates(entries, updates[node])) == set(new.entries[node])


def test_a_rail_of_several_leaves_loses_a_gpu_and_then_its_domain() -> None:
    plan = make_plan(LEAVES, peers=[])
    standby, result = after(LEAVES, "gpu3")
    assert result.places == {"gpu3": "spare1"}
    replace(standby, result)
    plan, _ = takeover(plan, result, down=standby.down)
    all_arrive(plan, members_of(LEAVES, standby))
    down(standby, *around(standby.fabric, "spare1"))
    result = standby.find_replacement("spare1")
    assert result is not None
    assert result.places == {"gpu2": "gpu8", "spare1": "gpu9"}
    assert standby.replace(result) == {"gpu2": "gpu8", "gpu3": "gpu9"}
    plan, _ = takeover(plan, result, down=standby.down)
    all_arrive(plan, members_of(LEAVES, standby))


def test_a_link_inside_of_the_domain_fails_after_an_idle_gpu_has_taken_over() -> None:
    """The line holds who has its addresses, not who stands there."""
    standby, result = after(MESH, "gpu5")
    replace(standby, result)
    plan, _ = takeover(make_plan(MESH, peers=[]), result, down=standby.down)
    link = plan.fabric.link_between("gpu4", "spare1")
    fake = FakeFabric(plan)
    fake.dead.add(link.name)
    for node, neighbour in (("gpu4", "spare1"), ("spare1", "gpu4")):
        reaction = NodeController(plan, node).on_port(plan.fabric.port_to(node, neighbour), False)
        fake.apply(node, reaction.updates)
    for node, neighbour in (("gpu4", "spare1"), ("spare1", "gpu4")):
        walk = fake.send(
            node, Frame(plan.fabric.node(neighbour).address, scna=plan.fabric.node(node).address)
        )
        assert (walk.end, walk.nodes[-1], len(walk.nodes)) == ("host", neighbour, 3), walk
        assert "gpu5" not in walk.nodes


def test_pairs_without_a_way_are_left_out_only_if_asked() -> None:
    """gpu6 is lost too: it was the way of its domain to rail 2."""
    standby, result = after(MESH, "gpu5")
    down(standby, *around(MESH, "gpu6"))
    replace(standby, result)
    plan = make_plan(MESH)
    with pytest.raises(PlanError, match=r"no path from gpu[46] to gpu"):
        takeover(plan, result, down=standby.down)
    partial, _ = takeover(plan, result, down=standby.down, partial=True)
    assert ("gpu4", "gpu2") not in partial.routes
    assert ("gpu2", "gpu4") not in partial.routes
    assert ("gpu4", "spare1") in partial.routes


def test_a_gpu_without_nic_is_lost_and_so_are_all_below_a_switch() -> None:
    standby = SparePool(MESH)
    assert down(standby, nic(MESH, "gpu5")) == ["gpu5"]
    assert not standby.is_gone("gpu5")
    assert standby.lost_side("gpu5") == "network"
    assert standby.lost_nodes() == ("gpu5",)
    standby.on_port(*nic(MESH, "gpu5"), True)
    assert standby.lost_nodes() == ()
    said = down(standby, *around(MESH, "rail1"))
    assert said == ["gpu1", "gpu5", "gpu9", None]  # the last is idle
    assert standby.is_gone("rail1")
    assert standby.lost_nodes() == ("gpu1", "gpu5", "gpu9")
    result = standby.find_replacement("gpu5")
    assert result is not None
    assert result.places == {"rail1": "sparerail0"}


def test_a_switch_is_not_gone_by_the_word_of_the_dead() -> None:
    fabric = rail_only(2, 3, spare_rails=1, spares=1, optical=True)
    standby = SparePool(fabric)
    for gpu in ("gpu0", "gpu3"):
        down(standby, *around(fabric, gpu), nic(fabric, gpu))
    assert not standby.is_gone("rail0")
    result = standby.find_replacement("gpu0")
    assert result is not None
    assert result.places == {"gpu0": "spare0"}


def test_who_loses_its_domain_is_lost_too() -> None:
    standby = SparePool(SWITCHED)
    said = down(standby, *around(SWITCHED, "hbs1"))
    assert said == ["gpu4", "gpu5", "gpu6", "gpu7", None]
    assert standby.lost_side("gpu4") == "domain"
    result = standby.find_replacement("gpu4")  # its idle GPU is of no use
    assert result is not None
    assert result.places == {"gpu4": "gpu12", "gpu5": "gpu13", "gpu6": "gpu14", "gpu7": "gpu15"}


def test_what_has_been_used_or_replaced_is_no_spare_again() -> None:
    standby, result = after(MESH, "rail0")
    assert standby.replace(result) == {"rail0": "sparerail0"}
    assert standby.holder("rail0") == "sparerail0"
    # The dead one has no links any more, nor had the idle one; it does not serve for another.
    down(standby, *around(standby.fabric, "rail1"))
    assert standby.find_replacement("gpu1") is None
    assert standby.why_none("gpu1") == "rail1 is gone, with no spare rail switch left"


def test_only_members_are_missed() -> None:
    standby = SparePool(MESH, members=["gpu0", "gpu4"])
    assert down(standby, nic(MESH, "gpu5")) == [None]
    assert down(standby, nic(MESH, "gpu4")) == ["gpu4"]
    assert standby.lost_nodes() == ("gpu4",)


def test_all_that_have_lost_the_network_are_named() -> None:
    fabric = rail_only(6, 4)
    plan = make_plan(fabric, peers=[])
    pairs = list(permutations([node.name for node in fabric.endpoints], 2))
    said = describe_unreachable(plan, links_of(fabric, "rail1"), pairs)
    assert said == "gpu1, gpu5, gpu9, gpu13, gpu17, gpu21 have lost the network between domains"
    said = describe_unreachable(plan, frozenset({"gpu5-rail1"}), pairs)
    # Its domain has lost its way to that rail as well.
    assert said.startswith("gpu5 has lost the network between domains; no route joins gpu4 to gpu1,")
    assert describe_unreachable(plan, links_of(fabric, "gpu5"), pairs).startswith(
        "gpu5 is cut off; no route joins gpu4 to"
    )


def test_a_switch_that_is_dark_has_nobody_to_greet() -> None:
    sessions = HelloSessions(MESH, "sparerail0", period_ps=1000, start_ps=5)
    assert sessions.deadline_ps == 5
    assert sessions.on_timer(5).hellos == ()
    assert sessions.deadline_ps == 1005
