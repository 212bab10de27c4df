# SPDX-License-Identifier: Apache-2.0
"""Paths of the pairs of a graph, as far as source routes and tables can steer them."""

from collections.abc import Sequence
from functools import cached_property, partial
from itertools import islice
from typing import final

from controller.deadlock.turn_rules import RuleSet
from controller.errors import PlanError
from controller.plan.entry import Path, Strategy
from controller.routing.all_path import Router
from controller.routing.general.admitted import AdmittedPaths
from controller.routing.general.next_hops import next_hops, path_by_tables
from controller.routing.general.order import is_graph
from controller.routing.general.path_sets import PathSet, equal_cost, find
from controller.routing.paths import PathFinder, hops_of
from controller.routing.source_route import MAX_HOPS, MAX_INSTRUCTIONS

__all__ = ["GraphRouter", "router_for"]

# Equal paths by which a source replaces a failed path.
_REPLACEMENTS = 16


@final
class GraphRouter:
    """Chooses routes in any graph, over the links that have not failed, under turn rules, by one strategy."""

    def __init__(self, finder: PathFinder, rules: RuleSet, strategy: Strategy) -> None:
        self._path_set = find(strategy)
        self.finder = finder
        self.rules = rules
        self.strategy: Strategy = strategy
        self.admitted = finder.cached(("admitted", rules.name), partial(AdmittedPaths, finder, rules))

    def candidates(self, source: str, destination: str) -> list[Path]:
        """Return the paths among which a source may share its traffic; empty when none works."""
        return self._steerable(source, destination, self._path_set)

    def shortest_paths(self, source: str, destination: str) -> list[Path]:
        """Return up to 16 paths of fewest hops; empty when none works."""
        return self._steerable(source, destination, lambda *pair: islice(equal_cost(*pair), _REPLACEMENTS))

    @cached_property
    def exceeds_source_routes(self) -> bool:
        """True if some pair has no path that instructions steer on every hop."""
        ends = (node.name for node in self.finder.fabric.nodes if not node.tier)
        return any(self.admitted.most_hops_to(name) > MAX_INSTRUCTIONS for name in ends)

    def uses_longer_paths(self, source: str, destination: str) -> bool:
        """Return False: the strategy names all paths of a pair."""
        return False

    def paths_of_length(self, source: str, destination: str, hops: int) -> list[Path]:
        """Return no paths: the strategy names all paths of a pair."""
        return []

    def in_one_mesh(self, source: str, destination: str) -> bool:
        """Return True: with strategy `shortest` a pair has a single path."""
        return True

    def ecmp_routes(self, paths: Sequence[Path]) -> tuple[Path, ...]:
        """Raise PlanError: the programs of a graph's nodes choose no port by hash."""
        raise PlanError("switches of a graph choose no port by hash", remedy="use strategy equal-cost")

    def _steerable(self, source: str, destination: str, path_set: PathSet) -> list[Path]:
        paths = [path for path in path_set(self.admitted, source, destination) if self._is_steerable(path)]
        if paths:
            return paths
        # A path too long for the header: the tables of up*/down* routes lead all of it.
        led = path_by_tables(self.finder, source, destination)
        return [led] if led and self.admitted.admits(led) else []

    def _is_steerable(self, path: Path) -> bool:
        """Return whether instructions steer the first hops of a path and the tables lead all hops after."""
        if len(path) - 1 <= MAX_INSTRUCTIONS:
            return True
        following = next_hops(self.finder, path[-1])
        rest = list(hops_of(path))[MAX_INSTRUCTIONS:]
        return len(path) - 1 < MAX_HOPS and all(following.get(node) == after for node, after in rest)


def router_for(
    finder: PathFinder, rules: RuleSet, strategy: Strategy, base: Router | GraphRouter | None = None
) -> Router | GraphRouter:
    """Return the router of a fabric: over its structure, or over its graph if it has none.

    `base` is a router of the same rules and strategy without some of the failures.
    """
    if is_graph(finder.fabric):
        return GraphRouter(finder, rules, strategy)
    return Router(finder, rules, strategy, base if isinstance(base, Router) else None)
