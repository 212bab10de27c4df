# SPDX-License-Identifier: Apache-2.0
"""Simple paths of a fabric in one fixed order: fewest hops first, then by egress ports."""

from collections.abc import Hashable, Iterator, Mapping, Set
from typing import final

from controller.plan.entry import Hashing, Path, hops_of
from topologies import Fabric
from topologies.model.computed_once import computed_once

__all__ = [
    "PathFinder",
    "differing_coordinates",
    "distance",
    "neighbour_set",
    "until_first_switch",
]

_NONE: frozenset[str] = frozenset()


def distance(fabric: Fabric, source: str, destination: str) -> int:
    """Return the hops of the shortest path without failures; the number of nodes if there is no path."""
    return _distances(fabric, destination).get(source, len(fabric.nodes))


def differing_coordinates(fabric: Fabric, source: str, destination: str) -> int:
    """Return the number of coordinates in which two nodes differ: in a mesh no path has fewer hops."""
    a, b = fabric.node(source).coordinates, fabric.node(destination).coordinates
    return sum(x != other for x, other in zip(a, b, strict=True))


def until_first_switch(fabric: Fabric, path: Path) -> Path:
    """Return a path up to its first switch; the whole path if it visits no switch."""
    first = next((index for index, name in enumerate(path) if fabric.node(name).is_switch), len(path))
    return path[: first + 1]


@computed_once
def _distances(fabric: Fabric, destination: str) -> Mapping[str, int]:
    """Return the hops from each node to a destination."""
    return fabric.hops_from((destination,))


@computed_once
def neighbour_set(fabric: Fabric, node: str) -> frozenset[str]:
    """Return the neighbours of a node without failures, as a set."""
    return frozenset(fabric.neighbours(node))


@final
class PathFinder:
    """Finds paths over the working links of a fabric; `failed` are the names of failed links.

    `hashing` says which bits of the hash the switches use. If `up_first` is true, the turn rules make the
    tables send up hops before down hops (RuleSet.up_first). `cache` has the results of `computed_once`, which
    depend on the working links.
    """

    def __init__(
        self,
        fabric: Fabric,
        failed: Set[str] = frozenset(),
        hashing: Hashing = "per-tier",
        *,
        up_first: bool = False,
    ) -> None:
        self.fabric = fabric
        self.up_first = up_first
        self.failed = frozenset(failed)
        self.hashing: Hashing = hashing
        self._lost_neighbours: dict[str, set[str]] = {}
        self._failed_ends: list[tuple[str, str, str]] = []
        self._lost_hops: set[tuple[str, str]] = set()
        for name in failed:
            link = fabric.link(name)
            self._failed_ends.append((name, link.a.node, link.b.node))
            if self.failed.issuperset(
                parallel.name for parallel in fabric.links_between(link.a.node, link.b.node)
            ):
                for node, neighbour in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
                    self._lost_neighbours.setdefault(node, set()).add(neighbour)
                    self._lost_hops.add((node, neighbour))
        self._neighbours: dict[str, dict[str, None]] = {}
        self._common: dict[tuple[str, str], tuple[str, ...]] = {}
        self.cache: dict[Hashable, object] = {}

    def neighbours(self, node: str) -> Mapping[str, None]:
        """Return the neighbours over working links, in the order of the node's ports."""
        neighbours = self._neighbours.get(node)
        if neighbours is None:
            cut = self._lost_neighbours.get(node, ())
            neighbours = {
                neighbour: None for neighbour in self.fabric.neighbours(node) if neighbour not in cut
            }
            self._neighbours[node] = neighbours
        return neighbours

    @property
    def lost_neighbours(self) -> Mapping[str, Set[str]]:
        """Neighbours lost by failures, by node; nodes without lost neighbours are missing."""
        return self._lost_neighbours

    def failed_near(self, node: str) -> frozenset[str]:
        """Return the failed links at a node, and the failed links between two of its neighbours."""
        if not self._failed_ends:
            return _NONE
        fabric = self.fabric
        neighbours = neighbour_set(fabric, node)
        return frozenset(
            name
            for name, a, b in self._failed_ends
            if node in (a, b) or (a in neighbours and b in neighbours)
        )

    def has_link(self, node: str, neighbour: str) -> bool:
        """Return whether at least one working link joins two nodes."""
        return neighbour in self.neighbours(node)

    def ports_to(self, node: str, neighbour: str) -> tuple[int, ...]:
        """Return the ports with a working link to a neighbour; all ports if all links have failed."""
        ports = self.fabric.ports_to(node, neighbour)
        if len(ports) == 1 or not self.failed:
            return ports
        links = zip(ports, self.fabric.links_between(node, neighbour), strict=True)
        return tuple(port for port, link in links if link.name not in self.failed) or ports

    def port_to(self, node: str, neighbour: str) -> int:
        """Return the first port with a working link to a neighbour; the first port if none works."""
        if not (self.failed and self.fabric.has_parallel):
            return self.fabric.port_to(node, neighbour)
        return self.ports_to(node, neighbour)[0]

    def ports_along(self, path: Path) -> list[int]:
        """Return the egress port of every hop of a path, as `port_to` returns it."""
        if not (self.failed and self.fabric.has_parallel):
            return self.fabric.ports_along(path)
        return [self.port_to(node, neighbour) for node, neighbour in hops_of(path)]

    def is_alive(self, path: Path) -> bool:
        """Return whether every hop of a path has a working link."""
        return self._lost_hops.isdisjoint(hops_of(path))

    def _between(self, node: str, destination: str) -> tuple[str, ...]:
        """Return the neighbours of a node that have a link to a destination, in the order of its ports."""
        common = self._common.get((node, destination))
        if common is None:
            # Links work in both directions or in none.
            ends = self.neighbours(destination)
            common = tuple([neighbour for neighbour in self.neighbours(node) if neighbour in ends])
            self._common[node, destination] = common
        return common

    def paths_up_to(self, source: str, destination: str, max_hops: int = 3) -> list[Path]:
        """Return all simple paths of up to `max_hops` hops."""
        paths: list[Path] = []
        for hops in range(1, max_hops + 1):
            paths += self.paths_of_length(source, destination, hops)
        return paths

    def paths_of_length(self, source: str, destination: str, hops: int) -> list[Path]:
        """Return all simple paths of exactly `hops` hops."""
        if hops < 1 or source == destination:
            return []
        # For two hops the search from the destination costs more than it saves.
        bound = _distances(self.fabric, destination) if hops > 2 else {}
        return list(self._extend((source,), destination, hops, bound))

    def _extend(self, path: Path, destination: str, left: int, bound: Mapping[str, int]) -> Iterator[Path]:
        neighbours = self.neighbours(path[-1])
        if left == 1:
            if destination in neighbours:
                yield (*path, destination)
            return
        if left == 2:  # same result as the loop below, without a recursive call for each neighbour
            for neighbour in self._between(path[-1], destination):
                if neighbour not in path:
                    yield (*path, neighbour, destination)
            return
        for neighbour in neighbours:
            if neighbour != destination and neighbour not in path and bound.get(neighbour, 0) < left:
                yield from self._extend((*path, neighbour), destination, left - 1, bound)
