# SPDX-License-Identifier: Apache-2.0
"""All-path routing: the paths that carry a source's traffic to a destination (UB-Mesh, All-Path-Routing).

A source spreads its frames over 16 buckets; each bucket has one source route in the table all_path.
"""

from collections.abc import Mapping, Sequence
from typing import final, get_args

from controller.errors import PlanError
from controller.paths import PathFinder, distance, hops_of
from controller.plan import BUCKETS, Entry, Exact, Path, Strategy
from controller.source_route import pack
from controller.turn_rules import RuleSet
from topologies import Fabric

__all__ = ["STRATEGIES", "Router", "all_path_entries", "deal"]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

# Hops up to which every path is a candidate; a longer one is taken only when there is no other.
_SPREAD_HOPS = 2
_MAX_HOPS = 3


@final
class Router:
    """Chooses routes over the links that are alive, under turn rules, by one strategy."""

    def __init__(self, finder: PathFinder, rules: RuleSet, strategy: Strategy) -> None:
        if strategy not in STRATEGIES:
            raise PlanError(f"no strategy named {strategy!r}", remedy=f"there are {', '.join(STRATEGIES)}")
        self.finder = finder
        self.rules = rules
        self.strategy = strategy

    def candidates(self, source: str, destination: str) -> list[Path]:
        """Paths a source may plan with; `shortest`: the one path. None alive: an empty list.

        `all-path`: all of up to two hops, or else those of fewest hops.
        """
        found = self.fewest_hops(source, destination)
        if self.strategy == "shortest" or not found:
            return found[:1]
        for hops in range(len(found[0]), _SPREAD_HOPS + 1):
            found += self._legal(source, destination, hops)
        return found

    def fewest_hops(self, source: str, destination: str) -> list[Path]:
        """The allowed paths of fewest hops: at most three, or the distance where nodes are farther apart."""
        nearest = distance(self.finder.fabric, source, destination)
        for hops in range(nearest, max(nearest, _MAX_HOPS) + 1):
            found = self._legal(source, destination, hops)
            if found:
                return found
        return []

    def reroute(self, planned: Sequence[Path]) -> tuple[Path | None, ...]:
        """The buckets of one destination with dead paths replaced, the others as they are.

        Dead buckets are dealt evenly over the paths of fewest hops (`shortest`: all take the first of
        them), or are None when there is none.
        """
        dead = [bucket for bucket, path in enumerate(planned) if not self.finder.alive(path)]
        routes: list[Path | None] = list(planned)
        if dead:
            spare = self.fewest_hops(planned[0][0], planned[0][-1])
            if self.strategy == "shortest":
                spare = spare[:1]
            for turn, bucket in enumerate(dead):
                routes[bucket] = spare[turn % len(spare)] if spare else None
        return tuple(routes)

    def _legal(self, source: str, destination: str, hops: int) -> list[Path]:
        fabric = self.finder.fabric
        found = self.finder.exactly(source, destination, hops)
        return [path for path in found if self.rules.vls_of(fabric, path) is not None]


def deal(paths: Sequence[Path], weights: Sequence[float]) -> tuple[Path, ...]:
    """16 buckets in proportion to the weights, by largest remainder.

    The buckets of a path are spread over the range, so a sender that counts through them sends evenly.
    """
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise PlanError(
            f"weights {list(weights)} of {len(paths)} paths", remedy="give one above 0, none below"
        )
    quotas = [BUCKETS * weight / total for weight in weights]
    counts = [int(quota) for quota in quotas]
    # Rounded, so that quotas which differ only by floating-point noise are ties and the earlier path wins.
    by_remainder = sorted(range(len(paths)), key=lambda at: (round(counts[at] - quotas[at], 9), at))
    for at in by_remainder[: BUCKETS - sum(counts)]:
        counts[at] += 1
    slots = sorted(((turn + 0.5) / count, at) for at, count in enumerate(counts) for turn in range(count))
    return tuple(paths[at] for _, at in slots)


def all_path_entries(
    fabric: Fabric, node: str, routes: Mapping[str, Sequence[Path | None]]
) -> tuple[Entry, ...]:
    """Entries of the table all_path of one node for these destinations; a bucket of None has no entry."""
    buckets = [("bucket", Exact(bucket)) for bucket in range(BUCKETS)]
    entries: list[Entry] = []
    for destination, paths in routes.items():
        dcna = ("dcna", Exact(fabric.node(destination).address))
        params: dict[Path, tuple[tuple[str, int], ...]] = {}
        for bucket, path in zip(buckets, paths, strict=True):
            if path is None:
                continue
            if path[0] != node or path[-1] != destination:
                raise PlanError(
                    f"{node}: path {' '.join(path)} is no way to {destination}", remedy="fix the routes"
                )
            if path not in params:
                bitmap, instr = pack([fabric.port_to(near, far) for near, far in hops_of(path)])
                params[path] = ("bitmap", bitmap), ("instr", instr)
            entries.append(Entry("all_path", (dcna, bucket), "push_route", params[path]))
    return tuple(entries)
