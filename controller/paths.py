# SPDX-License-Identifier: Apache-2.0
"""Simple paths of a fabric in one fixed order: fewest hops first, then by egress ports."""

from collections.abc import Iterator, Set
from itertools import pairwise
from typing import final

from controller.plan import Path
from topologies import Fabric

__all__ = ["PathFinder", "distance", "hops_of"]


def hops_of(path: Path) -> Iterator[tuple[str, str]]:
    """The (from, to) of every hop."""
    return pairwise(path)


def distance(fabric: Fabric, source: str, destination: str) -> int:
    """Coordinates in which two nodes differ: no path has fewer hops, as a link is a step in one dimension."""
    a, b = fabric.node(source).coordinates, fabric.node(destination).coordinates
    return sum(one != other for one, other in zip(a, b, strict=True))


@final
class PathFinder:
    """Paths over the links of a fabric that have not failed."""

    def __init__(self, fabric: Fabric, failed: Set[str] = frozenset()) -> None:
        for name in failed:
            fabric.link(name)
        self.fabric = fabric
        self._neighbours: dict[str, dict[str, None]] = {
            node.name: {
                far: None
                for far in fabric.neighbours(node.name)
                if fabric.link_between(node.name, far).name not in failed
            }
            for node in fabric.nodes
        }

    def joined(self, node: str, neighbour: str) -> bool:
        """Whether a link that has not failed joins two nodes."""
        return neighbour in self._neighbours[node]

    def alive(self, path: Path) -> bool:
        """Whether no link of a path has failed."""
        neighbours = self._neighbours
        return all(far in neighbours[near] for near, far in hops_of(path))

    def between(self, source: str, destination: str, max_hops: int = 3) -> list[Path]:
        """All simple paths of up to `max_hops` hops."""
        found: list[Path] = []
        for hops in range(1, max_hops + 1):
            found += self.exactly(source, destination, hops)
        return found

    def exactly(self, source: str, destination: str, hops: int) -> list[Path]:
        """All simple paths of that many hops."""
        if hops < 1 or source == destination:
            return []
        return list(self._extend((source,), destination, hops))

    def _extend(self, path: Path, destination: str, left: int) -> Iterator[Path]:
        last = path[-1]
        if left == 1:
            if destination in self._neighbours[last]:
                yield (*path, destination)
            return
        # One hop before the last the look-up above is cheaper than the bound.
        if left > 2 and distance(self.fabric, last, destination) > left:
            return
        for far in self._neighbours[last]:
            if far != destination and far not in path:
                yield from self._extend((*path, far), destination, left - 1)
