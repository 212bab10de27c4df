# SPDX-License-Identifier: Apache-2.0
"""Compute the paths of a graph admitted by turn rules, shortest first."""

from collections.abc import Iterator, Sequence
from typing import final

from controller.deadlock.ranks import ranks, relays, steps_to
from controller.deadlock.turn_rules import RuleSet, VlIncrement
from controller.paths.finder import PathFinder
from controller.plan.entry import Path, hops_of

__all__ = ["AdmittedPaths"]


@final
class AdmittedPaths:
    """Finds simple paths over a finder's working links, with admitted turns only.

    Rules that count no valleys (VlIncrement.FREE) admit every simple path.
    """

    def __init__(self, finder: PathFinder, rules: RuleSet) -> None:
        fabric = finder.fabric
        rank, relaying = ranks(fabric), relays(fabric)
        self._names = [node.name for node in fabric.nodes]
        self._number = {name: at for at, name in enumerate(self._names)}
        self._graph: list[list[tuple[int, bool]]] = [
            [(self._number[other], rank[other] > rank[name]) for other in finder.neighbours(name)]
            for name in self._names
        ]
        self._transit = [node.is_switch or relaying for node in fabric.nodes]
        # The neighbours that forward frames: a search skips all other endpoints, which are most neighbours.
        self._relays = [[hop for hop in hops if self._transit[hop[0]]] for hops in self._graph]
        self._valleys = rules.increment is not VlIncrement.FREE
        self._lanes = rules.vls if self._valleys else 1
        self._steps: dict[int, Sequence[int]] = {}

    def may_relay(self, node: str) -> bool:
        """Return whether a node forwards for other nodes: a switch, or an endpoint of a direct network."""
        return self._transit[self._number[node]]

    def fewest_hops(self, source: str, destination: str) -> int | None:
        """Return the hops of the shortest admitted path, or None without such a path."""
        return None if source == destination else self._hops(self._number[source], self._number[destination])

    def _hops(self, source: int, end: int) -> int | None:
        """Return the fewest hops between two nodes, given by number; None without an admitted path."""
        steps = self._steps_to(end)
        if self._transit[source] or source == end:
            least = steps[source * 2 * self._lanes]
            return None if least < 0 else least
        following = (
            steps[(neighbour * 2 + (not up)) * self._lanes]
            for neighbour, up in self._graph[source]
            if self._transit[neighbour] or neighbour == end
        )
        return min((count + 1 for count in following if count >= 0), default=None)

    def paths(self, source: str, destination: str, longest: int) -> Iterator[Path]:
        """Yield the admitted paths of up to `longest` hops, by number of hops, then in the order of ports."""
        fewest = self.fewest_hops(source, destination)
        if fewest is None:
            return
        end, first = self._number[destination], self._number[source]
        steps = self._steps_to(end)
        for hops in range(fewest, longest + 1):
            for path in self._extend((first,), 0, 0, end, hops, steps):
                yield tuple([self._names[at] for at in path])

    def admits(self, path: Path) -> bool:
        """Return whether a path is simple, uses only working links, and is admitted by the rules."""
        falls = lane = 0
        for node, neighbour in hops_of(path):
            ups = {self._names[at]: up for at, up in self._graph[self._number[node]]}
            if neighbour not in ups:
                return False
            lane += falls and ups[neighbour] and self._valleys
            falls = not ups[neighbour]
        return lane < self._lanes and len(set(path)) == len(path)

    def _extend(
        self, path: tuple[int, ...], falls: int, lane: int, end: int, left: int, steps: Sequence[int]
    ) -> Iterator[tuple[int, ...]]:
        lanes, at = self._lanes, path[-1]
        for neighbour, up in self._graph[at]:
            next_lane = lane + (falls and up) if self._valleys else lane
            if next_lane >= lanes or neighbour in path:
                continue
            if left == 1:
                if neighbour == end:
                    yield (*path, end)
                continue
            state = (neighbour * 2 + (not up)) * lanes + next_lane
            if neighbour != end and self._transit[neighbour] and 0 <= steps[state] < left:
                yield from self._extend((*path, neighbour), int(not up), next_lane, end, left - 1, steps)

    def _steps_to(self, destination: int) -> Sequence[int]:
        if destination not in self._steps:
            self._steps[destination] = steps_to(
                self._relays, destination, self._lanes, self._transit, valleys=self._valleys
            )
        return self._steps[destination]
