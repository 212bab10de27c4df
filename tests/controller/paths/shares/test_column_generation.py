# SPDX-License-Identifier: Apache-2.0
"""Longer paths for a demand: loads of links, and deadlock freedom recomputed from the dumped tables."""

import random
from collections import Counter, defaultdict
from itertools import pairwise, permutations

import networkx as nx
import numpy as np
import pytest

from controller import make_plan
from controller.deadlock.turn_rules import RULE_NAMES
from controller.paths.finder import PathFinder
from controller.paths.shares.buckets import add_standby_rows
from controller.paths.shares.column_generation import _add_columns, _LayeredSearch
from controller.paths.shares.standby import add_standby_paths
from controller.paths.shares.weights import divide, share_load, utilisation_bound
from controller.plan.path_columns import PathColumns
from controller.plan.plan import Plan
from controller.schemes.registry import rule_set, scheme_for
from tests.controller.fake_fabric import FakeFabric, Frame
from topologies.families.full_mesh import full_mesh

Pair = tuple[str, str]


def walked_loads(plan: Plan, demand: dict[Pair, float]) -> tuple[dict[Pair, float], nx.DiGraph]:
    """Return bytes by hop and the graph of waiting channels, from what the tables do with each bucket."""
    fake, channels = FakeFabric(plan), nx.DiGraph()
    loads: dict[Pair, float] = defaultdict(float)
    for (source, destination), amount in demand.items():
        weights = plan.weights.get((source, destination), (1 / 16,) * 16)
        assert sum(weights) == pytest.approx(1)
        for bucket, weight in enumerate(weights):
            walk = fake.send(source, Frame(plan.fabric.node(destination).address, lb=bucket))
            assert walk.end == "host"
            assert len(walk.nodes) == len(set(walk.nodes))
            nx.add_path(channels, zip(pairwise(walk.nodes), walk.vls, strict=True))
            for hop in pairwise(walk.nodes):
                loads[hop] += amount * weight
    return loads, channels


@pytest.mark.parametrize("pair", [("npu0", "npu9"), ("npu0", "npu1")])
def test_a_single_pair_fills_all_links_of_its_ports(pair: Pair) -> None:
    demand = {pair: 1.0}
    plan = make_plan(full_mesh([8, 8]), demand=demand, peers=demand, standby=4)
    loads, channels = walked_loads(plan, demand)
    assert max(loads.values()) == pytest.approx(1 / 14)
    assert nx.is_directed_acyclic_graph(channels)


@pytest.mark.parametrize("name", [name for name in RULE_NAMES if name != "single-vl"])
def test_paths_of_a_skewed_demand_cannot_deadlock_under_any_rules(name: str) -> None:
    fabric = full_mesh([4, 4])
    # Half of the mesh sends to two nodes: minimal paths leave most links idle.
    demand = {(f"npu{source}", f"npu{target}"): 1.0 + source for source in range(8) for target in (10, 15)}
    plan = make_plan(fabric, demand=demand, peers=demand, rules=name, standby=4)
    loads, channels = walked_loads(plan, demand)
    assert nx.is_directed_acyclic_graph(channels)
    ports = sum(demand.values()) / 2 / 6  # each target takes in by six links
    assert max(loads.values()) >= ports * (1 - 1e-6)
    if name in ("T2-G", "T2-V"):
        assert max(loads.values()) <= ports * 1.02


def test_a_demand_that_minimal_paths_serve_best_keeps_its_paths() -> None:
    nodes = [f"npu{number}" for number in range(9)]
    demand = {(source, target): 1.0 for source in nodes for target in nodes if source != target}
    plan = make_plan(full_mesh([3, 3]), demand=demand)
    assert max(len(path) for paths in plan.routes.values() for path in paths) == 3
    assert plan.weights == {}


def test_a_ring_keeps_paths_of_two_hops_since_longer_ones_relieve_its_links_too_little() -> None:
    columns = (range(6), range(5, -1, -1))  # the ring goes along the rows, forth and back
    ring = [f"npu{6 * row + column}" for row in range(6) for column in columns[row % 2]]
    demand = dict.fromkeys(zip(ring, ring[1:] + ring[:1], strict=True), 1.0)
    plan = make_plan(full_mesh([6, 6]), demand=demand, peers=demand)
    assert {len(path) - 1 for pair in demand for path in plan.shares(*pair)} == {1, 2}
    # The first pair alone uses longer paths.
    pair = ring[0], ring[1]
    alone = make_plan(full_mesh([6, 6]), demand={pair: 1.0}, peers=[pair])
    assert max(len(path) - 1 for path in alone.shares(*pair)) == 3


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_a_round_is_below_the_load_with_every_permitted_path(seed: int) -> None:
    fabric, limit, draw = full_mesh([3, 3]), 3, random.Random(seed)
    finder, rules = PathFinder(fabric), rule_set("T2-G", fabric)
    names = [node.name for node in fabric.nodes]
    demand = {pair: float(draw.randint(1, 9)) for pair in draw.sample(list(permutations(names, 2)), 20)}
    walks = [walk for hops in range(1, limit + 1) for walk in permutations(names, hops + 1)]
    permitted: dict[Pair, list[tuple[str, ...]]] = defaultdict(list)
    for walk in walks:
        linked = all(finder.has_link(*hop) for hop in pairwise(walk))
        if linked and rules.vls_of(fabric, walk) is not None:
            permitted[walk[0], walk[-1]].append(walk)
    least = share_load(fabric, demand, permitted).utilisation
    paths = {pair: permitted[pair][:1] for pair in demand}
    search = _LayeredSearch.of(finder, rules)
    assert search is not None
    load = share_load(fabric, demand, paths)
    added, bounds = True, []
    while added:
        load = share_load(fabric, demand, paths)
        added, bound = _add_columns(search, load, demand, paths, list(demand), limit)
        bounds.append(bound)
    assert max(bounds) <= least + 1e-9
    assert utilisation_bound(finder, demand, load.fastest) <= least + 1e-9
    assert load.utilisation == pytest.approx(least, abs=limit * 1e-3)
    assert bounds[-1] == pytest.approx(least, abs=limit * 1e-3)  # all bytes take cheapest paths at the end


def test_shares_that_are_no_sixteenths_have_exact_weights() -> None:
    names = [f"path{number}" for number in range(7)]
    buckets, weights = divide(names, [1 / 7] * 7)
    assert weights is not None
    total: dict[str, float] = defaultdict(float)
    for name, weight in zip(buckets, weights, strict=True):
        total[name] += weight
    assert total == pytest.approx(dict.fromkeys(names, 1 / 7))
    buckets, weights = divide(["a", "b"], [0.25, 0.75])
    assert (Counter(buckets), weights) == ({"a": 4, "b": 12}, None)


def test_of_very_many_equal_paths_sixteen_have_a_bucket() -> None:
    buckets, weights = divide(range(20_000), [1 / 20_000] * 20_000)
    assert len(set(buckets)) == 16
    assert weights == pytest.approx([1 / 16] * 16)


def test_standby_paths_share_no_link_with_the_path_in_use_and_carry_nothing() -> None:
    mesh = full_mesh([4, 4])
    demand = {("npu0", "npu1"): 1.0, ("npu1", "npu0"): 1.0, ("npu2", "npu1"): 1.0, ("npu3", "npu1"): 1.0}
    plan = make_plan(mesh, standby=2, rules="T1-DOR+", demand=demand)
    for pair, paths in plan.routes.items():
        weights = plan.weights.get(pair)
        if weights is None or all(weights):
            continue
        used = {hop for path, weight in zip(paths, weights, strict=True) if weight for hop in pairwise(path)}
        idle = [path for path, weight in zip(paths, weights, strict=True) if not weight]
        assert 1 <= len(idle) <= 2
        assert all(used.isdisjoint(pairwise(path)) for path in idle)


def test_pairs_with_too_few_frames_for_exact_shares_use_no_longer_paths() -> None:
    mesh, demand = full_mesh([8, 8]), {("npu0", "npu9"): 65536.0}
    lengths = [
        {
            len(path) - 1
            for path in make_plan(mesh, demand=demand, peers=demand, payload_bytes=payload).routes[pair]
        }
        for pair in demand
        for payload in (4096, 4100)
    ]
    assert lengths == [{2, 3}, {2}]


def test_all_paths_of_adaptive_sources_are_permitted_and_share_no_link_with_planned_paths() -> None:
    mesh = full_mesh([4, 4])
    demand = {("npu0", "npu5"): 1.0, ("npu0", "npu1"): 1.0, ("npu6", "npu5"): 1.0}
    plan = make_plan(mesh, strategy="adaptive", standby=6, demand=demand)
    channels = nx.DiGraph()
    fake = FakeFabric(plan)
    for (source, destination), paths in plan.routes.items():
        assert len(set(paths)) >= 3
        weights = plan.weights.get((source, destination), (1 / 16,) * 16)
        used = {hop for path, weight in zip(paths, weights, strict=True) if weight for hop in pairwise(path)}
        for bucket, (path, weight) in enumerate(zip(paths, weights, strict=True)):
            walk = fake.send(source, Frame(mesh.node(destination).address, lb=bucket))
            assert (walk.end, tuple(walk.nodes)) == ("host", path)
            assert weight or used.isdisjoint(pairwise(path))
            nx.add_path(channels, zip(pairwise(walk.nodes), walk.vls, strict=True))
    assert nx.is_directed_acyclic_graph(channels)


def test_longer_paths_stand_by_where_a_line_has_two_nodes() -> None:
    mesh = full_mesh([2, 4])
    demand = {("npu0", "npu1"): 1e6}
    plan = make_plan(mesh, standby=4, demand=demand | {("npu2", "npu3"): 1e6}, rules="T2-G")
    in_use = plan.shares("npu0", "npu1")
    standby = {path for path in plan.routes["npu0", "npu1"] if path not in in_use}
    assert set(in_use) == {("npu0", "npu1")}
    assert standby == {("npu0", f"npu{row}", f"npu{row + 1}", "npu1") for row in (2, 4, 6)}


def test_shares_of_planned_paths_stay_beside_standby_paths() -> None:
    mesh, demand = full_mesh([8, 8]), {("npu0", "npu9"): 1.0, ("npu1", "npu9"): 2.0}
    plans = [make_plan(mesh, strategy=name, standby=6, demand=demand) for name in ("all-path", "adaptive")]
    for pair in (("npu0", "npu9"), ("npu3", "npu20")):
        static, adaptive = (plan.shares(*pair) for plan in plans)
        assert {path: share for path, share in adaptive.items() if share} == pytest.approx(static)


def test_a_standby_path_does_not_cross_a_link_in_use_backwards() -> None:
    mesh = full_mesh([4])
    pair = ("npu0", "npu3")
    used, backwards = ("npu0", "npu1", "npu2", "npu3"), ("npu0", "npu2", "npu1", "npu3")
    candidates: dict[Pair, list[tuple[str, ...]]] = {pair: [used, backwards, pair]}
    routes: dict[Pair, tuple[tuple[str, ...], ...]] = {pair: (used,) * 16}
    weights: dict[Pair, tuple[float, ...]] = {}
    add_standby_paths(scheme_for(mesh), routes, weights, candidates, 4, adaptive=False)
    assert set(routes[pair]) == {used, pair}
    columns = PathColumns.of(mesh, candidates)
    buckets = np.zeros((1, 16), np.int64)
    _, counts, _ = add_standby_rows(columns, buckets, 4, np.ones(1, np.bool_))
    assert counts.tolist() == [1]
    assert set(buckets[0].tolist()) == {0, 2}
