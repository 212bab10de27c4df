# SPDX-License-Identifier: Apache-2.0
"""Load of links after sources on both sides of a failed link have moved their traffic."""

from collections import defaultdict
from itertools import pairwise, permutations

import pytest

from controller.paths.shares.overflow import PlannedLoad
from controller.plan.entry import Path
from controller.plan.plan import Plan
from controller.planner import make_plan
from controller.recovery.shared_schemes import SharedSchemes
from controller.schemes.registry import rule_set, scheme_for
from topologies import Fabric, full_mesh

Pair = tuple[str, str]


def neighbours_demand(fabric: Fabric, sizes: tuple[float, float]) -> dict[Pair, float]:
    """Each node sends to all nodes of its lines: so many bytes along X and along Y."""
    ends = {(link.a.node, link.b.node): sizes[link.dimension or 0] for link in fabric.links}
    return ends | {(b, a): amount for (a, b), amount in ends.items()}


def replaced(plan: Plan, failed: str, *, by_load: bool = True) -> dict[Pair, tuple[Path | None, ...]]:
    """Return the routes that each source with a path over a link uses once the link has failed."""
    schemes = SharedSchemes(plan)
    scheme = schemes.without({failed})
    return {
        pair: scheme.repair(paths, (lambda: schemes.load) if by_load else None)
        for pair, paths in plan.routes.items()
        if not all(scheme.finder.is_alive(path) for path in paths)
    }


def busiest(plan: Plan, demand: dict[Pair, float], routes: dict[Pair, tuple[Path | None, ...]]) -> float:
    loads: dict[Pair, float] = defaultdict(float)
    for pair, amount in demand.items():
        weights = plan.weights.get(pair, (1 / 16,) * 16)
        for path, weight in zip(routes.get(pair, plan.routes[pair]), weights, strict=True):
            assert path is not None
            for hop in pairwise(path):
                loads[hop] += amount * weight
    return max(loads.values())


@pytest.mark.parametrize(
    ("dims", "sizes", "by_shortest", "by_load"),
    [([3, 5], (3, 2), 6, 3.6), ([4, 4], (1, 1), 1.5, 1.25), ([8, 8], (1, 1), 7 / 6, 7 / 6)],
)
def test_a_line_of_few_nodes_is_not_overloaded(
    dims: list[int], sizes: tuple[float, float], by_shortest: float, by_load: float
) -> None:
    """In a line of three all of a cut link's traffic would share its two neighbours."""
    mesh = full_mesh(dims)
    demand = neighbours_demand(mesh, sizes)
    plan = make_plan(mesh, demand=demand, standby=4)
    shortest, relieved = (replaced(plan, "npu0-npu1", by_load=chosen) for chosen in (False, True))
    assert busiest(plan, demand, shortest) == pytest.approx(by_shortest, rel=0.15)
    assert busiest(plan, demand, relieved) <= by_load * 1.07
    rules = rule_set("T2-G", mesh)
    assert all(rules.vls_of(mesh, path) for paths in relieved.values() for path in paths if path)


def test_a_narrow_link_gets_little_of_the_traffic() -> None:
    """The load of links counts by their rates: here each Y link has a fiftieth of the rate of an X link."""
    from topologies.transform.serdes_lanes import with_lanes

    mesh = full_mesh([3, 5], lanes=50, host_lanes=400)
    members = [node.name for node in mesh.nodes]
    narrow = with_lanes(mesh, [50, 1], members)
    plan = make_plan(narrow, demand=neighbours_demand(narrow, (3, 0.04)), standby=4)
    assert {len(path or ()) for path in replaced(plan, "npu0-npu1")["npu0", "npu1"]} == {3}


def test_pairs_without_traffic_take_the_shortest_paths() -> None:
    mesh = full_mesh([3, 5])
    demand = {("npu2", "npu5"): 1.0}
    plan = make_plan(
        mesh, demand=demand, standby=4, peers=list(permutations(("npu0", "npu1", "npu2", "npu5"), 2))
    )
    relieved = replaced(plan, "npu0-npu1")
    assert set(relieved["npu0", "npu1"]) == {("npu0", "npu2", "npu1")}


def test_without_a_known_demand_each_pair_counts_alike() -> None:
    plan = make_plan(full_mesh([3, 3]))
    load = PlannedLoad(plan)
    assert sum(load.by_bucket("npu0", "npu4")) == pytest.approx(1)
    hops = sum(share * (len(path) - 1) for pair in plan.routes for path, share in plan.shares(*pair).items())
    assert sum(load.bytes.values()) == pytest.approx(hops)


def test_a_returned_link_gets_its_traffic_back() -> None:
    mesh = full_mesh([3, 5])
    demand = neighbours_demand(mesh, (3, 2))
    plan = make_plan(mesh, demand=demand, standby=4)
    scheme = scheme_for(mesh)
    load = PlannedLoad(plan)
    assert all(scheme.repair(paths, lambda: load) == paths for paths in plan.routes.values())
