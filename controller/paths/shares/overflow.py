# SPDX-License-Identifier: Apache-2.0
"""Overflow paths: longer paths for traffic of a failed link, where the shortest paths would be overloaded.

In a line of three nodes a single path of two hops replaces a failed link, and the two links of that path then
carry twice their load. Paths of three hops through other lines of the mesh can divide this traffic among
them. The sources do not talk to each other: each source knows the load that the plan puts on every hop, and
moves its own traffic only. (UB-Mesh, All-Path-Routing, leaves the choice after a failure open.)
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from controller.paths.choice import PathChoice
from controller.paths.shares.weights import rate_between
from controller.plan.entry import Pair, Path, hops_of
from controller.plan.plan import Plan
from topologies.model.columns import columns

__all__ = ["PlannedLoad", "overflow_paths"]

# A pair with this many shortest paths gets no other paths: each carries a sixth of the traffic or less.
_ENOUGH = 6
# Longer paths have up to this many hops, or up to one hop more than the shortest paths if that is more.
_LONGER_HOPS = 3
# Longer paths are used if they reduce the load of the busiest hop to this fraction, or less, of its load with
# the shortest paths alone.
_WORTH = 0.9
# Cost of a hop, as a fraction of the load of the plan's busiest hop: among equal loads the shorter path wins.
_HOP_COST = 1e-3


@final
class PlannedLoad:
    """Bytes that a plan puts on each hop; without a known demand every pair sends one byte.

    `busiest` is the load of the busiest hop: its bytes divided by its rate in bit/s.
    """

    def __init__(self, plan: Plan) -> None:
        routes, table = plan.route_columns, columns(plan.fabric)
        paths, self._pairs, self._weights = routes.paths, routes.paths.pairs, plan.bucket_weights()
        self._demand = np.ones(len(self._pairs))
        if plan.demand:
            self._demand = np.array([plan.demand.get(pair, 0.0) for pair in self._pairs.names()])
        shares = np.bincount(routes.buckets.ravel(), self._weights.ravel(), minlength=len(paths.nodes))
        taken = paths.hops >= 0
        amounts = np.repeat(shares * self._demand[paths.pair_of], taken.sum(axis=1))
        by_hop = np.bincount(paths.hops[taken], amounts, minlength=len(table.tails))
        used = np.flatnonzero(by_hop)
        names = table.names
        hops = [(names[a], names[b]) for a, b in zip(table.tails[used], table.heads[used], strict=True)]
        self.bytes: Mapping[Pair, float] = dict(zip(hops, by_hop[used].tolist(), strict=True))
        rates = ((hop, rate_between(plan.fabric, *hop)) for hop in hops)
        self.busiest = max((self.bytes[hop] / rate for hop, rate in rates), default=0.0)

    def by_bucket(self, source: str, destination: str) -> tuple[float, ...]:
        """Return the planned bytes of each bucket of a pair."""
        number = self._pairs.number((source, destination))
        assert number is not None
        return tuple((self._demand[number] * self._weights[number]).tolist())


def overflow_paths(
    choice: PathChoice,
    planned: Sequence[Path],
    lost: Sequence[int],
    shortest: Sequence[Path],
    load: PlannedLoad,
) -> list[Path] | None:
    """Return a path for each bucket in `lost`; None if longer paths do not help.

    Longer paths do not help if an even split over the shortest paths loads the busiest hop about as little,
    if the buckets in `lost` carry no planned bytes, if there is no shortest path or six or more, or if the
    source uses no longer paths. The candidates are the shortest paths, and permitted paths with one more hop
    or up to three hops. Each bucket in turn takes the path whose busiest hop then has the least load, the
    bytes of the bucket included.

    Args:
        choice: Permitted paths over the links that work.
        planned: The planned path of each of the pair's 16 buckets.
        lost: Numbers of the buckets whose planned path uses a failed link.
        shortest: The shortest paths that work.
        load: Load of the plan.
    """
    source, destination = planned[0][0], planned[0][-1]
    if not 0 < len(shortest) < _ENOUGH or not choice.uses_longer_paths(source, destination):
        return None
    amounts = load.by_bucket(source, destination)
    if not any(amounts[bucket] for bucket in lost):
        return None
    candidates = list(shortest)
    fewest = len(shortest[0]) - 1
    for hops in range(fewest + 1, max(fewest + 1, _LONGER_HOPS) + 1):
        candidates += choice.paths_of_length(source, destination, hops)
    moved = [amounts[bucket] for bucket in lost]
    evenly = [shortest[position % len(shortest)] for position in range(len(lost))]
    hops_bytes = _Hops(choice, load)
    for bucket in lost:
        hops_bytes.add(planned[bucket], -amounts[bucket])
    spread, busiest = hops_bytes.spread(candidates, moved)
    return spread if busiest <= _WORTH * hops_bytes.busiest_of(evenly, moved) else None


@final
class _Hops:
    """Bytes on each hop while buckets of a pair move to other paths.

    A load is bytes / rate, as a fraction of the load of the plan's busiest hop.
    """

    def __init__(self, choice: PathChoice, load: PlannedLoad) -> None:
        self._bytes = defaultdict(float, load.bytes)
        self._finder = choice.finder
        self._scale = 1 / load.busiest
        self._rates: dict[Pair, int] = {}

    def add(self, path: Path, amount: float) -> None:
        for hop in hops_of(path):
            self._bytes[hop] += amount

    def load(self, path: Path, amount: float = 0.0) -> float:
        """Return the load of a path's busiest hop with `amount` more bytes on the path."""
        return max((self._bytes[hop] + amount) / self._rate(hop) for hop in hops_of(path)) * self._scale

    def spread(self, candidates: Sequence[Path], amounts: Sequence[float]) -> tuple[list[Path], float]:
        """Return a path for each amount of bytes, and the load of the busiest hop of these paths.

        Each amount counts in the choice of later paths. In the end all amounts are removed from the hops.
        """
        chosen: list[Path] = []
        uses: Counter[Path] = Counter()
        for amount in amounts:
            path = min(candidates, key=lambda path: (self._cost(path, amount), uses[path]))
            self.add(path, amount)
            uses[path] += 1
            chosen.append(path)
        busiest = max(self.load(path) for path in uses)
        for path, amount in zip(chosen, amounts, strict=True):
            self.add(path, -amount)
        return chosen, busiest

    def busiest_of(self, paths: Sequence[Path], amounts: Sequence[float]) -> float:
        """Put an amount of bytes on each path, for good; return the load of the busiest hop of the paths."""
        for path, amount in zip(paths, amounts, strict=True):
            self.add(path, amount)
        return max(self.load(path) for path in dict.fromkeys(paths))

    def _cost(self, path: Path, amount: float) -> float:
        # Rounded, because sums of the same bytes in different orders differ by floating-point noise.
        return round(self.load(path, amount) + _HOP_COST * len(path), 9)

    def _rate(self, hop: Pair) -> int:
        if hop not in self._rates:
            self._rates[hop] = rate_between(self._finder.fabric, *hop, self._finder.failed)
        return self._rates[hop]
