# SPDX-License-Identifier: Apache-2.0
"""A plan made from a previous plan equals the plan made from nothing, and shares its tables."""

import gc
import random
import weakref
from dataclasses import replace
from itertools import permutations

import pytest

from controller import Plan, PlanError, make_plan
from controller.circuits.transition import crossconnects_for, keep_common_circuits
from controller.garbage import earlier_objects_left_out, garbage_collection_paused
from controller.plan.diff import diff
from controller.plan.rows import NodeEntries
from topologies import Fabric, full_mesh, lumos, ub_pod
from topologies.families.lumos.core import core_of
from topologies.families.ub_mesh.fabrics import ub_superpod
from topologies.transform.circuits import with_maps
from topologies.transform.spares import Replacement, replaced

FABRICS = {
    "mesh": full_mesh([4, 3]),
    "pod": ub_pod(dims=(2, 2, 2, 1), planes=1, uplink_lanes=8),
    "superpod": ub_superpod(dims=(2, 2, 1, 2, 2), planes=1, uplink_lanes=4),
}


def content(plan: Plan) -> tuple[object, ...]:
    """Return all of a plan that a run sees."""
    return plan.routes, plan.weights, plan.entries, dict(plan.subscribers), plan.candidates, plan.failed


def tables_of(plan: Plan, node: str) -> object:
    """Return the block of a node's entries that maps addresses to ports."""
    entries = plan.entries[node]
    assert isinstance(entries, NodeEntries)
    return entries.blocks[1]


def after(
    fabric: Fabric, failed: frozenset[str], strategy: str, previous: Plan | None, standby: int = 0
) -> tuple[object, ...] | str:
    try:
        plan = make_plan(fabric, strategy=strategy, failed=failed, previous=previous, standby=standby)
    except PlanError as ex:
        return str(ex)
    return content(plan)


@pytest.mark.parametrize("strategy", ["all-path", "shortest", "detour"])
@pytest.mark.parametrize("name", FABRICS)
def test_failures_and_a_spare_change_a_plan_as_if_it_were_made_anew(name: str, strategy: str) -> None:
    fabric, chosen = FABRICS[name], random.Random(f"{name} {strategy}")
    links = [link.name for link in fabric.links]
    for count in (1, 2, 5):
        first = frozenset(chosen.sample(links, count - 1))
        failed = first | set(chosen.sample(links, count))
        try:
            previous = make_plan(fabric, strategy=strategy, failed=first, standby=4)
        except PlanError:
            continue
        assert after(fabric, failed, strategy, previous) == after(fabric, failed, strategy, None)
        if name != "mesh":
            moved = replaced(fabric, Replacement({"npu1": "spare0"}))
            assert after(moved, failed, strategy, previous, 4) == after(moved, failed, strategy, None, 4)


def test_a_source_that_loses_a_switch_gets_paths_by_a_neighbour() -> None:
    """A link that no path uses still decides whether paths by a neighbour join in."""
    fabric = FABRICS["superpod"]
    previous = make_plan(fabric)
    for link in fabric.links[::2]:
        failed = frozenset({link.name})
        assert after(fabric, failed, "all-path", previous) == after(fabric, failed, "all-path", None)


def test_sources_without_a_path_over_a_failed_link_keep_their_source_routes() -> None:
    fabric = FABRICS["pod"]
    previous = make_plan(fabric, peers=[("npu0", "npu1"), ("npu6", "npu7"), ("npu4", "npu6")])
    cut = fabric.link_between("npu0", "npu1").name
    assert "npu6" not in previous.subscribers[cut]
    plan = make_plan(fabric, failed=frozenset({cut}), peers=previous.routes, previous=previous)
    assert [update.entry.table for update in diff(previous.entries["npu6"], plan.entries["npu6"])] == []
    assert {update.entry.table for update in diff(previous.entries["npu0"], plan.entries["npu0"])} >= {
        "all_path"
    }


def test_returned_links_and_other_coordinates_are_planned_anew() -> None:
    fabric = FABRICS["mesh"]
    cut = make_plan(fabric, failed=frozenset({fabric.links[0].name}))
    assert after(fabric, frozenset(), "all-path", cut) == after(fabric, frozenset(), "all-path", None)
    nodes = tuple(
        replace(node, coordinates=node.coordinates[::-1]) if node.coordinates == (0, 0) else node
        for node in fabric.nodes
    )
    same = replace(fabric, nodes=nodes)
    assert content(make_plan(same, previous=cut)) == content(make_plan(same))


LUMOS = {
    "mesh in a server": lumos(5, 2, 2, accelerators=4, hb_size=4, ports=4),
    "switch in a server": lumos(4, 1, 2, accelerators=8, hb_size=4, ports=4, inside="switch"),
    "two fibres on a switch": lumos(4, 2, 2, accelerators=4, hb_size=4, wiring="dual-link"),
}


@pytest.mark.parametrize("strategy", ["shortest", "all-path", "hashed"])
@pytest.mark.parametrize("name", LUMOS)
def test_other_circuits_change_a_plan_as_if_it_were_made_anew(name: str, strategy: str) -> None:
    """Jobs between random Pods come and go, circuits follow them, and links fail on the way."""
    fabric, chosen = LUMOS[name], random.Random(f"{name} {strategy}")
    core = core_of(fabric)
    pods = {p: [n.name for n in fabric.endpoints if n.coordinates[-1] == p] for p in range(core.pods)}
    previous = make_plan(fabric, strategy=strategy, peers=[])
    shared = 0
    for _ in range(4):
        sets = [chosen.sample(range(core.pods), 2) for _ in range(2)]
        demand = {
            pair: 1000.0
            for a, b in sets
            for pair in permutations(chosen.sample(pods[a], 4) + chosen.sample(pods[b], 4), 2)
        }
        wanted = crossconnects_for(previous.fabric, demand)
        target, stay = with_maps(fabric, wanted), keep_common_circuits(previous.fabric, wanted)
        down = chosen.sample([link.name for link in stay.links], chosen.choice([0, 0, 1, 3]))
        for changed in (stay, target):
            failed = frozenset(down) & {link.name for link in changed.links}
            plans: list[Plan | str] = []
            for before, own in ((previous, changed), (None, replace(changed))):  # a copy has no results
                try:
                    plans.append(
                        make_plan(own, strategy=strategy, peers=demand, failed=failed, previous=before)
                    )
                except PlanError as ex:
                    plans.append(str(ex))
            plan, anew = plans
            if isinstance(plan, str) or isinstance(anew, str):
                assert plan == anew
                continue
            assert content(plan) == content(anew)
            shared += sum(
                tables_of(plan, node.name) is tables_of(previous, node.name) for node in fabric.endpoints
            )
            previous = plan
    assert bool(shared) == (strategy == "shortest")


class Held:
    """An object in a cycle with itself."""

    def __init__(self) -> None:
        self.itself = self


def test_collections_leave_earlier_objects_out_and_take_later_ones() -> None:
    with earlier_objects_left_out():
        assert gc.get_freeze_count()
        with garbage_collection_paused():
            assert not gc.isenabled()
            later = weakref.ref(Held())
        assert gc.isenabled()
        with earlier_objects_left_out():
            pass
        assert gc.get_freeze_count(), "an inner exclusion ends none around it"
    assert later() is None
    assert not gc.get_freeze_count()
