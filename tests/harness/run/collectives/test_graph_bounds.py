# SPDX-License-Identifier: Apache-2.0
"""Bounds on graphs against values known in closed form."""

import pytest

from controller.schemes.registry import routing_of
from harness.run.collectives.bounds import bound_ps
from harness.run.collectives.graph_bounds import CONCURRENT_FLOW, CUTS, HOPS, graph_bounds
from harness.scenario.schema import Collective
from topologies import Fabric, fat_tree, from_graph, hyperx, torus

GBPS = 10**9


def bounds_of(fabric: Fabric, kind: str, elements: int) -> dict[str, float]:
    members = [node.name for node in fabric.endpoints]
    collective = Collective.model_validate({"kind": kind, "algorithm": "direct", "elements": elements})
    return graph_bounds(fabric, members, collective)


def test_a_ring_of_8_carries_an_all_to_all_in_its_known_time() -> None:
    # Hops of a pair: 16/7 on average; each of 16 directions carries 8 * 16 / 16 blocks of 400 bytes.
    bounds = bounds_of(torus([8]), "all-to-all", 800)
    exact = 8 * 400 * 8 / (400 * GBPS) * 10**12
    assert bounds[HOPS] == pytest.approx(exact)
    assert bounds[CONCURRENT_FLOW] == pytest.approx(exact)
    # Between halves 16 blocks cross two links each way.
    assert bounds[CUTS] == pytest.approx(exact)


def test_an_allreduce_on_a_ring_crosses_two_links() -> None:
    bounds = bounds_of(torus([8]), "allreduce", 800)
    assert bounds == {CUTS: pytest.approx(3200 * 8 / (800 * GBPS) * 10**12)}


def test_a_fat_tree_is_bound_by_its_hosts_alone() -> None:
    fabric = fat_tree(4)
    bounds = bounds_of(fabric, "all-to-all", 1600)
    host = 15 * 400 * 8 / (400 * GBPS) * 10**12
    assert bounds[CONCURRENT_FLOW] == pytest.approx(host)
    assert bounds[CUTS] <= host


def test_a_bridge_between_two_cliques_bounds_what_crosses_it() -> None:
    import networkx as nx

    graph = nx.barbell_graph(4, 0)
    fabric = from_graph(graph, "barbell")
    crossing = 16 * 400 * 8 / (400 * GBPS) * 10**12
    for name, value in bounds_of(fabric, "all-to-all", 800).items():
        assert value == pytest.approx(crossing) if name != HOPS else value < crossing
    assert bounds_of(fabric, "broadcast", 800)[CUTS] == pytest.approx(3200 * 8 / (400 * GBPS) * 10**12)


@pytest.mark.parametrize(("kind", "strategy"), [("all-to-all", "all-path"), ("allreduce", "shortest")])
def test_the_bound_of_a_run_is_the_largest(kind: str, strategy: str) -> None:
    fabric = hyperx((3, 3), hosts=1)
    members = [node.name for node in fabric.endpoints]
    collective = Collective.model_validate({"kind": kind, "algorithm": "direct", "elements": 900})
    least = bound_ps(fabric, members, collective, routing_of(fabric, strategy))
    assert least >= round(max(graph_bounds(fabric, members, collective).values()))
    # 8/9 of an array leave a host's link in an all-to-all, twice that in an AllReduce.
    factor = 1 if kind == "all-to-all" else 2
    assert least >= round(factor * 3200 * 8 / (400 * GBPS) * 10**12)
