# SPDX-License-Identifier: Apache-2.0
"""Time of a schedule over a fabric by flows at max-min fair rates, for comparison with the packet engine.

All sends of a step begin together, each on its paths in fixed shares; the next step begins when the last of
them is done. Frames, queues, windows and acknowledgements are left out, headers only counted, and of delays
those of the longest path of each step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np

from controller.plan.entry import Path
from controller.plan.plan import Plan
from emulation.traffic.schedule.schedule import Schedule
from harness.errors import ModelError
from papers.flow_level.rates import Floats, Routes, max_min
from tests.papers.flow_level.flows import routes
from topologies import Fabric

__all__ = ["Ways", "completion_seconds", "drained", "planned_ways", "shortest_ways"]

# By source and destination, paths and their shares.
Ways = Mapping[tuple[str, str], Sequence[tuple[Path, float]]]


def shortest_ways(fabric: Fabric, pairs: Sequence[tuple[str, str]]) -> Ways:
    """All paths of fewest hops, in equal shares."""
    graph = fabric.graph()
    result = {}
    for source, target in pairs:
        paths = [tuple(path) for path in nx.all_shortest_paths(graph, source, target)]
        result[source, target] = [(path, 1 / len(paths)) for path in paths]
    return result


def planned_ways(plan: Plan, pairs: Sequence[tuple[str, str]]) -> Ways:
    """Return the paths of each pair under a plan, with their shares of its traffic."""
    result = {}
    for pair in pairs:
        if pair not in plan.routes:
            raise ModelError(f"no route from {pair[0]} to {pair[1]}", remedy="plan for that pair as well")
        result[pair] = list(plan.shares(*pair).items())
    return result


def completion_seconds(
    fabric: Fabric,
    schedule: Schedule,
    members: Sequence[str],
    ways: Ways | None = None,
    *,
    element_bytes: int = 4,
    overhead: float = 0.0,
) -> float:
    """Rank r is `members[r]`, `overhead` header bytes a byte of payload, `ways` by default the shortest.

    ModelError for a pair without a way.
    """
    pairs = sorted({(members[transfer.source], members[transfer.target]) for transfer in schedule.transfers})
    known = shortest_ways(fabric, pairs) if ways is None else ways
    links = _Links(fabric)
    total = 0.0
    for step in range(schedule.steps):
        sent: dict[tuple[str, str], float] = defaultdict(float)
        for item in schedule.transfers:
            if item.step == step:
                sent[members[item.source], members[item.target]] += (
                    item.length * element_bytes * 8 * (1 + overhead)
                )
        flows, bits = [], []
        longest = 0.0
        for pair, amount in sent.items():
            if pair not in known:
                raise ModelError(f"no way from {pair[0]} to {pair[1]}", remedy="give paths of every pair")
            flows.append(links.entries(known[pair]))
            bits.append(amount)
            longest = max(longest, *(links.delay(path) for path, _ in known[pair]))
        total += drained(routes(flows), np.array(bits), links.rates) + longest
    return total


def drained(flows: Routes, amounts: Floats, capacities: Floats) -> float:
    """Seconds until flows that begin together have sent their amounts; who is done leaves room to others."""
    left = np.array(amounts, float)
    passed = 0.0
    while (going := left > 0).any():
        counts = flows.counts * going
        rates = max_min(replace(flows, counts=counts), capacities, limits=_MOST)
        if (stuck := np.flatnonzero(going & (rates <= 0))).size:
            raise ModelError(f"flow {stuck[0]} has no capacity", remedy="give its links some")
        step = float((left[going] / rates[going]).min())
        passed += step
        left = np.where(going & (left > rates * step * (1 + 1e-9)), left - rates * step, 0.0)
    return passed


# Bits a second that no flow has; keeps rows that have ended without an endless rate.
_MOST = 1e18


class _Links:
    """Each way of each link, and of the lanes between a node and its host, by number."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._number: dict[tuple[str, str], int] = {}
        rates: list[float] = []
        for link in fabric.links:
            for ends in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
                if ends in self._number:
                    continue  # of parallel links, routes use the first
                self._number[ends] = len(rates)
                rates.append(float(link.rate_bps))
        host = float(fabric.lane_rate_bps * fabric.host_lanes)
        for node in fabric.nodes:
            for ends in ((node.name, ""), ("", node.name)):
                self._number[ends] = len(rates)
                rates.append(host)
        self.rates = np.array(rates)

    def entries(self, ways: Sequence[tuple[Path, float]]) -> list[tuple[int, float]]:
        return [
            (self._number[hop], share)
            for path, share in ways
            for hop in (("", path[0]), *pairwise(path), (path[-1], ""))
        ]

    def delay(self, path: Path) -> float:
        """Seconds."""
        between = sum(self._fabric.link_between(*hop).delay_ps for hop in pairwise(path))
        return (between + 2 * self._fabric.host_delay_ps) / 1e12
