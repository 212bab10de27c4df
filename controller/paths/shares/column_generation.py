# SPDX-License-Identifier: Apache-2.0
"""Longer paths for a demand, by column generation: only paths that relieve the busiest links are ever built.

A mesh has too many permitted paths to list them. They are searched in rounds of three steps:

1. The linear program of `weights` divides the demand among the known paths, and prices every hop.
2. A search over (hop, VL), layer by layer, gives each pair the cheapest permitted path at these prices.
3. A path that is cheaper than all known paths of its pair joins the program.

The rounds end when no cheaper path exists or the busiest link cannot be relieved any more. The costs of the
cheapest paths are a dual solution too, and so bound what any further path could gain: the rounds end too when
the bound rules out a gain worth the hops. (All-Path-Routing: every permitted path is a candidate; UB-Mesh
leaves the choice of shares open.)
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.channels import VLS
from controller.deadlock.dependency_graph import DependencyGraph, permitted_graph
from controller.deadlock.turn_rules import ENTRY_VLS, RuleSet
from controller.paths.finder import PathFinder
from controller.paths.shares.weights import SharedLoad, share_load, utilisation_bound
from controller.paths.source_route import MAX_INSTRUCTIONS
from controller.plan.entry import BUCKETS, Pair, Path
from topologies import Fabric
from topologies.model.computed_once import computed_once

__all__ = ["relieve"]

# Largest dependency graph that is searched; an 8 x 8 rack has about 20,000 dependencies, a Pod far more.
_MAX_DEPENDENCIES = 100_000
_MAX_ROUNDS = 40
_MAX_PATHS = 50_000
# Up to this many pairs, each round searches in several passes, each of which avoids hops of earlier passes.
_FEW_PAIRS = 32
_PASSES = 4
# Longer paths must reduce the utilisation of the busiest link by this fraction or more.
_LEAST_GAIN = 0.01
# If less than 1 in _SPARSE channels is reached, only the dependencies of the reached channels are followed.
_SPARSE = 8


def relieve(
    finder: PathFinder,
    rules: RuleSet,
    demand: Mapping[Pair, float],
    candidates: Mapping[Pair, Sequence[Path]],
    meshed: Sequence[Pair],
    payload_bytes: int = 0,
) -> Mapping[Pair, tuple[Sequence[Path], list[float]]]:
    """Return paths and their shares for each pair with demand, with longer paths where they relieve links.

    A pair whose demand fills fewer frames than it has buckets gets no longer paths. So few frames cannot
    follow exact shares: they would take more hops, and still meet on links that the shares keep free.

    Longer paths lengthen the round trip. As only a window of a pair's frames is under way, this reduces the
    throughput. Paths of more hops are therefore used only under two conditions:

    - The product of the limit of hops and the utilisation of the busiest link becomes smaller.
    - The utilisation of the busiest link falls by at least 1 %.

    Otherwise all pairs keep their candidates, with the shares that minimise the utilisation.

    Args:
        finder: Links that work.
        rules: Turn rules that every path obeys.
        demand: Bytes by pair.
        candidates: Candidate paths of each pair with demand.
        meshed: Pairs with demand that may get longer paths than their candidates.
        payload_bytes: Bytes of data in a full frame.
    """
    paths = {pair: list(candidates[pair]) for pair in demand}
    first = load = share_load(finder.fabric, demand, paths, finder.failed)
    planned = {pair: (tuple(candidates[pair]), first.shares[pair]) for pair in demand}
    meshed = [pair for pair in meshed if demand[pair] >= BUCKETS * payload_bytes]
    search = _LayeredSearch.of(finder, rules) if meshed else None
    if search is None:
        return planned
    bound = utilisation_bound(finder, demand, first.fastest)
    hops = max(len(path) - 1 for pair in demand for path in candidates[pair])
    least = first.utilisation * hops
    for limit in range(hops, MAX_INSTRUCTIONS + 1):
        if bound * limit > least:
            break
        enough = min(least / limit, first.utilisation * (1 - _LEAST_GAIN))
        for _ in range(_MAX_ROUNDS):
            if load.utilisation <= bound * (1 + _LEAST_GAIN) or sum(map(len, paths.values())) > _MAX_PATHS:
                break
            added, reachable = _add_columns(search, load, demand, paths, meshed, limit)
            if not added or reachable > enough:
                break
            load = share_load(finder.fabric, demand, paths, finder.failed)
        if load.utilisation * limit < least and load.utilisation <= first.utilisation * (1 - _LEAST_GAIN):
            least = load.utilisation * limit
            planned = {pair: (tuple(paths[pair]), load.shares[pair]) for pair in demand}
    return planned


@computed_once
def _known_graphs(_: Fabric) -> dict[str, DependencyGraph]:
    """Return a cache of a fabric's graphs of permitted turns without U-turns, by name of the rules."""
    return {}


def _add_columns(
    search: "_LayeredSearch",
    load: SharedLoad,
    demand: Mapping[Pair, float],
    paths: dict[Pair, list[Path]],
    meshed: Sequence[Pair],
    limit: int,
) -> tuple[bool, float]:
    """Add paths of up to `limit` hops that are cheaper than all present paths of their pair.

    Returns:
        Whether a path was added, and a lower bound on the utilisation of the busiest link with any paths of
        up to `limit` hops. By weak duality the objective of the program is at least the cost of all bytes on
        their cheapest paths. The cost of the hops, at most `limit` for each byte, is subtracted from it.
    """
    added = False
    byte_costs = dict(load.pair_costs)
    costs = search.costs(load.hop_cost, load.prices)
    for source, destinations in _by_source(meshed).items():
        extra = np.zeros_like(costs)
        for number in range(_PASSES if len(meshed) <= _FEW_PAIRS else 1):
            for destination, (path, least) in search.cheapest(
                source, destinations, costs + extra, limit
            ).items():
                if number == 0:
                    byte_costs[source, destination] = min(byte_costs[source, destination], least)
                if path is None or path in paths[source, destination]:
                    continue
                hops = search.hops_along(path)
                if costs[hops].sum() < load.pair_costs[source, destination] * (1 - 1e-7) - 1e-12:
                    paths[source, destination].append(path)
                    added = True
                extra[hops] += load.pair_costs[source, destination]
    objective = sum(amount * byte_costs[pair] for pair, amount in demand.items())
    return added, objective - load.hop_cost * limit * sum(demand.values())


def _by_source(pairs: Sequence[Pair]) -> dict[str, list[str]]:
    destinations: dict[str, list[str]] = {}
    for source, destination in pairs:
        destinations.setdefault(source, []).append(destination)
    return destinations


@final
class _LayeredSearch:
    """Search for the cheapest permitted paths over links between endpoints, layer by layer.

    Layer n, counted from 0, has the paths of n + 1 hops.
    """

    def __init__(self, finder: PathFinder, rules: RuleSet) -> None:
        known = _known_graphs(finder.fabric)
        if rules.name not in known:
            known[rules.name] = permitted_graph(finder.fabric, rules, entry_vls=ENTRY_VLS[:1], u_turns=False)
        graph = known[rules.name]
        self._hops = graph.hops
        order = np.argsort(graph.after, kind="stable")
        self._before, self._after = graph.before[order], graph.after[order]
        self._onward = self._after // VLS
        self._heads, self._starts = np.unique(self._after, return_index=True)
        # Dependencies by their first channel: channel c has `_leaving[_first[c] : _first[c + 1]]`.
        self._leaving = np.argsort(self._before, kind="stable")
        self._first = np.searchsorted(self._before[self._leaving], np.arange(self._hops.channels + 1))
        fabric = finder.fabric
        hosts = np.array([not node.is_switch for node in fabric.nodes])
        usable = hosts[self._hops.tails] & hosts[self._hops.heads]
        for (node, neighbour), number in self._hops.number.items():
            usable[number] = usable[number] and finder.has_link(node, neighbour)
        self._closed = np.where(usable, 0.0, np.inf)
        self._index = {name: number for number, name in enumerate(self._hops.nodes)}

    @classmethod
    def of(cls, finder: PathFinder, rules: RuleSet) -> "_LayeredSearch | None":
        """Return the search of a finder; None for a fabric whose dependency graph is too large."""
        degrees = [len(finder.fabric.neighbours(node.name)) for node in finder.fabric.nodes]
        if sum(degree * degree for degree in degrees) > _MAX_DEPENDENCIES:
            return None
        return cls(finder, rules)

    def costs(self, hop_cost: float, prices: Mapping[Pair, float]) -> NDArray[np.float64]:
        """Return the cost of every hop; infinite for a hop that no path may take."""
        costs = self._closed + hop_cost
        for hop, price in prices.items():
            costs[self._hops.number[hop]] += price
        return costs

    def hops_along(self, path: Path) -> list[int]:
        """Return the numbers of the hops of a path."""
        return [self._hops.number[hop] for hop in pairwise(path)]

    def cheapest(
        self, source: str, destinations: Sequence[str], costs: NDArray[np.float64], limit: int
    ) -> dict[str, tuple[Path | None, float]]:
        """Return, by destination, the cheapest simple path of up to `limit` hops, and a bound of its cost.

        For each number of hops only the cheapest path is examined, and dropped if it visits a node twice. If
        no path is left, None is returned. Of equal costs, the path of fewest hops wins. The bound is a lower
        bound on the cost of all paths of up to `limit` hops.
        """
        layers = self._layers(self._index[source], costs, limit)
        return {destination: self._best(layers, source, destination, costs) for destination in destinations}

    def _layers(self, source: int, costs: NDArray[np.float64], limit: int) -> list[NDArray[np.float64]]:
        """Return one array for each number of hops: the least cost of a path that ends with each channel."""
        first = np.full(self._hops.channels, np.inf)
        leaving = np.flatnonzero(self._hops.tails == source)
        first[leaving * VLS + ENTRY_VLS[0]] = costs[leaving]
        layers = [first]
        for _ in range(limit - 1):
            ends = np.flatnonzero(np.isfinite(layers[-1]))
            layer = np.full(self._hops.channels, np.inf)
            if len(ends) * _SPARSE < self._hops.channels:
                turns = self._turns_after(ends)
                reached = layers[-1][self._before[turns]] + costs[self._onward[turns]]
                np.minimum.at(layer, self._after[turns], reached)
            else:
                reached = layers[-1][self._before] + costs[self._onward]
                layer[self._heads] = np.minimum.reduceat(reached, self._starts)
            layers.append(layer)
        return layers

    def _turns_after(self, channels: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the dependencies beginning with these channels."""
        first, counts = self._first[channels], self._first[channels + 1] - self._first[channels]
        ends = np.cumsum(counts)
        return self._leaving[
            np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)
        ]

    def _best(
        self,
        layers: Sequence[NDArray[np.float64]],
        source: str,
        destination: str,
        costs: NDArray[np.float64],
    ) -> tuple[Path | None, float]:
        ends = np.flatnonzero(self._hops.heads == self._index[destination])
        channels = (ends[:, None] * VLS + np.arange(VLS)).ravel()
        best: Path | None = None
        least = bound = np.inf
        for count, layer in enumerate(layers):
            channel = int(channels[np.argmin(layer[channels])])
            bound = min(bound, float(layer[channel]))
            if layer[channel] < least * (1 - 1e-9):
                path = self._back(layers, count, channel, costs)
                if len(set(path)) == len(path):
                    best, least = path, float(layer[channel])
        assert best is None or best[0] == source
        return best, bound

    def _back(
        self, layers: Sequence[NDArray[np.float64]], count: int, channel: int, costs: NDArray[np.float64]
    ) -> Path:
        names = [self._hops.nodes[self._hops.heads[channel // VLS]]]
        for layer in reversed(layers[:count]):
            low, high = np.searchsorted(self._after, [channel, channel + 1])
            before = self._before[low:high]
            channel = int(before[np.argmin(layer[before])])
            names.append(self._hops.nodes[self._hops.heads[channel // VLS]])
        names.append(self._hops.nodes[self._hops.tails[channel // VLS]])
        return tuple(reversed(names))
