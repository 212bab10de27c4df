# SPDX-License-Identifier: Apache-2.0
"""Paths between endpoints through switches alone.

Without its two ends, a path between endpoints is also a path of all endpoints below the same switches. So
paths are searched once for each pair of sets of switches: a SuperPod has 8,192 NPUs, but only 1,024 boards.
"""

from collections.abc import Iterator, Mapping, Set
from functools import cached_property
from itertools import pairwise
from typing import final

from controller.deadlock.turn_rules import RuleSet
from controller.paths.finder import PathFinder
from controller.plan.entry import Path
from topologies import Fabric
from topologies.model.components import components
from topologies.model.computed_once import computed_once

__all__ = ["MAX_HOPS", "TOP_LEVEL", "SwitchPaths"]

# Paths use switches of this level and above only when no lower switches join two nodes, or to borrow the
# spare capacity of these switches.
TOP_LEVEL = 2

# Hops of the longest path: between the farthest nodes of a SuperPod, and one hop for a detour.
MAX_HOPS = 8

# Distances to a destination are searched up to this many hops; any greater distance counts as one more.
_RADIUS = 3

_Switches = tuple[str, ...]


@final
class SwitchPaths:
    """Finds the permitted paths through switches alone, over a finder's working links.

    Argument `top` of a method admits the highest switches. `base` has the paths of another finder, whose
    failed links are a subset of this finder's failed links.
    """

    def __init__(self, finder: PathFinder, rules: RuleSet, base: "SwitchPaths | None" = None) -> None:
        self._finder = finder
        self._base = base
        self._rules = rules
        self._switches, self._top = _switches_and_top(finder.fabric)
        self._switches_by_endpoint: dict[str, _Switches] = {}
        self._distances: dict[tuple[_Switches, bool], Mapping[str, int]] = {}
        self._inner_paths: dict[tuple[_Switches, _Switches, int, bool], list[_Switches]] = {}

    def shortest_paths(self, source: str, destination: str) -> list[Path]:
        """Return the allowed paths of fewest hops; the highest switches only if no other path exists."""
        if self._base is not None:
            # Failures only remove paths, so the shortest paths that still work are the shortest of all.
            shortest = self._base.shortest_paths(source, destination)
            if paths := [path for path in shortest if self._finder.is_alive(path)]:
                return paths
        for top in (False, True) if self._top else (False,):
            if self._top and not top and not self._are_joined_below_top(source, destination):
                continue
            for hops in range(2, MAX_HOPS + 1):
                paths = self.paths_of_length(source, destination, hops, top=top)
                if paths:
                    return paths
        return []

    def paths_of_length(self, source: str, destination: str, hops: int, *, top: bool) -> list[Path]:
        """Return all allowed paths of exactly `hops` hops."""
        ends = self._switches_of(source), self._switches_of(destination)
        key = (*ends, hops, top)
        if key not in self._inner_paths:
            cores = self._search(*ends, hops - 1, top)
            # Whether the rules allow a path depends on the kinds of its ends, not on their names.
            self._inner_paths[key] = [core for core in cores if self._allowed((source, *core, destination))]
        return [(source, *core, destination) for core in self._inner_paths[key]]

    def detours(self, shortest: Path, *, borrow: bool) -> list[Path]:
        """Return paths with one hop more than a shortest path, through a third member of a mesh.

        If the shortest path avoids the highest switches, `borrow` adds paths through them: without a hop
        within a mesh, and of as many hops as the shortest path or, if there are none, of one hop more.
        """
        source, destination, hops = shortest[0], shortest[-1], len(shortest) - 1
        straight = self._mesh_hops(shortest)
        detours = self.paths_of_length(source, destination, hops + 1, top=False)
        longer = [path for path in detours if self._mesh_hops(path) > straight]
        # If the shortest path uses the highest switches, paths through them are candidates already.
        if borrow and self._top.isdisjoint(shortest):
            for more in (hops, hops + 1):
                paths = self.paths_of_length(source, destination, more, top=True)
                borrowed = [p for p in paths if not self._top.isdisjoint(p) and not self._mesh_hops(p)]
                if borrowed:
                    return longer + borrowed
        return longer

    def _are_joined_below_top(self, source: str, destination: str) -> bool:
        """Return whether switches below the highest join two endpoints; otherwise a search finds nothing."""
        parts = self._parts_below_top
        ends = (
            {parts[switch] for switch in self._switches_of(name) if switch in parts}
            for name in (source, destination)
        )
        return not next(ends).isdisjoint(next(ends))

    @cached_property
    def _parts_below_top(self) -> dict[str, int]:
        """Number of the connected component of each switch, in the network without the highest switches."""
        lower = [switch for switch in self._switches if switch not in self._top]
        links = (
            (switch, neighbour)
            for switch in lower
            for neighbour in self._finder.neighbours(switch)
            if switch < neighbour and self._may_visit(neighbour, top=False)
        )
        return {switch: number for number, part in enumerate(components(lower, links)) for switch in part}

    def _allowed(self, path: Path) -> bool:
        return self._rules.vls_of(self._finder.fabric, path) is not None

    def _mesh_hops(self, path: Path) -> int:
        tiers = [self._finder.fabric.node(name).tier for name in path]
        return sum(tier == next_tier for tier, next_tier in pairwise(tiers))

    def _switches_of(self, endpoint: str) -> _Switches:
        if endpoint not in self._switches_by_endpoint:
            neighbours = self._finder.neighbours(endpoint)
            self._switches_by_endpoint[endpoint] = tuple(
                neighbour for neighbour in neighbours if neighbour in self._switches
            )
        return self._switches_by_endpoint[endpoint]

    def _search(self, first: _Switches, last: _Switches, count: int, top: bool) -> list[_Switches]:
        """Return simple paths of `count` switches from any of `first` to any of `last`."""
        bound = self._distances_to(last, top)
        paths: list[_Switches] = []
        for switch in first:
            if bound.get(switch, _RADIUS + 1) < count:
                paths += self._extend((switch,), bound, frozenset(last), count - 1, top)
        return paths

    def _extend(
        self, path: _Switches, bound: Mapping[str, int], last: Set[str], left: int, top: bool
    ) -> Iterator[_Switches]:
        if not left:
            if path[-1] in last:
                yield path
            return
        for neighbour in self._finder.neighbours(path[-1]):
            if (
                bound.get(neighbour, _RADIUS + 1) < left
                and self._may_visit(neighbour, top)
                and neighbour not in path
            ):
                yield from self._extend((*path, neighbour), bound, last, left - 1, top)

    def _may_visit(self, node: str, top: bool) -> bool:
        return node in self._switches and (top or node not in self._top)

    def _distances_to(self, last: _Switches, top: bool) -> Mapping[str, int]:
        """Return, by switch, the hops to the nearest switch of `last`; none beyond _RADIUS hops."""
        if (last, top) not in self._distances:
            hops = dict.fromkeys(last, 0)
            edge = list(last)
            for distance in range(1, _RADIUS + 1):
                after: list[str] = []
                for switch in edge:
                    for neighbour in self._finder.neighbours(switch):
                        if neighbour not in hops and self._may_visit(neighbour, top):
                            hops[neighbour] = distance
                            after.append(neighbour)
                edge = after
            self._distances[last, top] = hops
        return self._distances[last, top]


@computed_once
def _switches_and_top(fabric: Fabric) -> tuple[frozenset[str], frozenset[str]]:
    """Return all switches, and the highest switches."""
    switches = fabric.switches
    return frozenset(node.name for node in switches), frozenset(
        node.name for node in switches if node.level >= TOP_LEVEL
    )
