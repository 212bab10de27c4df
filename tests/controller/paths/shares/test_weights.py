# SPDX-License-Identifier: Apache-2.0
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import pytest

from controller import PlanError
from controller.paths.finder import PathFinder, distance
from controller.paths.shares.buckets import row_rates
from controller.paths.shares.weights import check_demand, minimise_utilisation, share_load, utilisation_bound
from controller.plan.entry import Pair
from controller.plan.path_columns import PathColumns
from controller.schemes.registry import scheme_for
from topologies import Fabric, TopologyError, full_mesh
from topologies.model.graphs import from_graph


def shares_of(fabric: Fabric, demand: dict[Pair, float]) -> tuple[dict, dict[Pair, list]]:
    router = scheme_for(fabric)
    candidates = {pair: router.candidates(*pair) for pair in demand}
    return minimise_utilisation(fabric, demand, candidates), candidates


def busiest(fabric: Fabric, demand: dict[Pair, float], shares: dict, candidates: dict) -> float:
    load: dict[Pair, float] = defaultdict(float)
    for pair, paths in candidates.items():
        for share, path in zip(shares[pair], paths, strict=True):
            for hop in pairwise(path):
                load[hop] += demand[pair] * share / fabric.link_between(*hop).rate_bps
    return max(load.values())


def test_one_hot_pair_spreads_over_all_its_paths(rack: Fabric) -> None:
    shares, _ = shares_of(rack, {("npu0", "npu1"): 1e9})
    assert shares["npu0", "npu1"] == pytest.approx([1 / 7] * 7, abs=1e-6)


def test_equal_demand_on_every_line_pair_stays_on_the_direct_links(rack: Fabric) -> None:
    names = [node.name for node in rack.nodes]
    demand = {(a, b): 5e6 for a in names for b in names if distance(rack, a, b) == 1}
    assert len(demand) == 896
    shares, _ = shares_of(rack, demand)
    for share in shares.values():
        assert share == pytest.approx([1] + [0] * 6, abs=1e-6)


def test_a_hot_pair_leaves_the_least_room_on_the_busiest_link() -> None:
    line = full_mesh([3])
    demand = {("npu0", "npu1"): 3.0, ("npu0", "npu2"): 1.0}
    shares, candidates = shares_of(line, demand)
    # 4 bytes leave npu0 on two links: 2 each is the best there is.
    assert busiest(line, demand, shares, candidates) * 4e11 == pytest.approx(2.0, abs=1e-5)
    assert shares["npu0", "npu1"] == pytest.approx([2 / 3, 1 / 3], abs=1e-5)
    assert shares["npu0", "npu2"] == pytest.approx([1, 0], abs=1e-5)


def test_a_slow_link_gets_less() -> None:
    line = full_mesh([3])
    slow = replace(line.links[0], rate_bps=line.links[0].rate_bps // 4)
    uneven = replace(line, links=(slow, *line.links[1:]))
    shares, _ = shares_of(uneven, {("npu0", "npu1"): 1.0})
    assert shares["npu0", "npu1"] == pytest.approx([0.2, 0.8], abs=1e-5)
    paths = PathColumns.of(uneven, {("npu0", "npu1"): [("npu0", "npu1"), ("npu0", "npu2", "npu1")]})
    direct, detour = row_rates(paths, frozenset())
    assert detour == 2 * direct


def test_a_bundle_that_has_lost_a_link_gets_less() -> None:
    graph = nx.MultiGraph(rate_gbps=100)
    graph.add_edges_from([("a", "s"), ("a", "s"), ("s", "b"), ("s", "b"), ("a", "t"), ("t", "b")])
    fabric = from_graph(graph, "bundle")
    paths = {("a", "b"): [("a", "s", "b"), ("a", "t", "b")]}
    demand = {("a", "b"): 1.0}
    whole = minimise_utilisation(fabric, demand, paths)
    assert whole["a", "b"] == pytest.approx([2 / 3, 1 / 3], abs=1e-5)
    lost = frozenset({fabric.links_between("a", "s")[1].name})
    assert minimise_utilisation(fabric, demand, paths, lost)["a", "b"] == pytest.approx([0.5, 0.5], abs=1e-5)


def test_the_bound_counts_a_second_hop_for_bytes_that_do_not_fit_on_the_link_between_neighbours() -> None:
    fabric, names = full_mesh([8]), [f"npu{number}" for number in range(8)]
    ring = dict.fromkeys(zip(names, names[1:] + names[:1], strict=True), 1.0)
    paths = {(a, b): [(a, b), *((a, via, b) for via in names if via not in (a, b))] for a, b in ring}
    load = share_load(fabric, ring, paths)
    # 8 bytes take 16 hops, less one hop for what the 8 direct links carry, over 56 directions of links.
    assert load.utilisation == pytest.approx(16 / (56 + 8))
    assert utilisation_bound(PathFinder(fabric), ring, load.fastest) == pytest.approx(16 / (56 + 8))


def test_demands_of_very_different_size_are_solved_together(rack: Fabric) -> None:
    demand = {("npu0", "npu1"): 1e12, ("npu5", "npu60"): 1.0, ("npu8", "npu9"): 0.5}
    shares, _ = shares_of(rack, demand)
    assert shares["npu0", "npu1"] == pytest.approx([1 / 7] * 7, abs=1e-6)
    assert all(sum(share) == pytest.approx(1) for share in shares.values())


def test_no_demand_needs_no_shares(rack: Fabric) -> None:
    assert minimise_utilisation(rack, {}, {}) == {}
    assert check_demand(rack, {("npu0", "npu1"): 0}) == {}


def test_demands_that_cannot_be_are_refused(rack: Fabric) -> None:
    for pair, amount in ((("npu0", "npu0"), 1), (("npu0", "npu1"), -1), (("npu0", "npu1"), float("nan"))):
        with pytest.raises(PlanError, match=f"the demand from {pair[0]} to {pair[1]} is {amount} bytes"):
            check_demand(rack, {pair: amount})
    with pytest.raises(TopologyError, match="no node named 'npu64'"):
        check_demand(rack, {("npu0", "npu64"): 1})
