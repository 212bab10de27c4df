# SPDX-License-Identifier: Apache-2.0
"""All-path routing: the paths that carry a source's traffic to a destination (UB-Mesh, All-Path-Routing).

A source spreads its frames over 16 buckets; each bucket has one source route in the table all_path. With the
strategy `hashed` the source chooses only the port by which a frame leaves: its source route ends at the first
switch, and from there the switches choose by hash, hop by hop (HPN, path selection).
"""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.turn_rules import RuleSet
from controller.errors import PlanError
from controller.plan.entry import BUCKETS, Path, Strategy
from controller.routing.paths import (
    PathFinder,
    differing_coordinates,
    distance,
    hops_of,
    until_first_switch,
)
from controller.routing.relays import Relays
from controller.routing.switch_paths import SwitchPaths
from controller.tables.next_hop import table_path, table_paths
from topologies import Fabric
from topologies.model.components import components

__all__ = ["STRATEGIES", "Router", "port_of_bucket"]

# Strategies of a fabric with dimensions or tiers.
STRATEGIES: tuple[Strategy, ...] = (
    "all-path",
    "adaptive",
    "shortest",
    "tables",
    "detour",
    "borrow",
    "hashed",
)

# Number of hops up to which every path is a candidate. Longer paths are candidates only where these are fewer
# than two: where turn rules order the dimensions, some pairs have a single path of two hops.
_SPREAD_HOPS = 2
# Hops up to which a second path of a pair is searched.
_SECOND_PATH_HOPS = 4
# Strategies that use longer paths whatever the traffic.
_LONGER_PATHS = ("detour", "borrow")
# Strategies with a single path in a mesh.
_ONE_PATH = ("shortest", "tables", "hashed")
_MAX_HOPS = 3

# First bit of lb that selects the port. With bit 1 selecting between two ports, the other seven bits reach
# all 60 uplinks of either ToR; with bit 0 they reach 58: tests/controller/routing/test_path_probing.py.
_PORT_BIT = 1


@final
class Router:
    """Chooses routes over the links that have not failed, under turn rules, by one strategy.

    `base` is a router of the same rules without some of the failures, whose searches are used again.
    """

    def __init__(
        self, finder: PathFinder, rules: RuleSet, strategy: Strategy, base: "Router | None" = None
    ) -> None:
        if strategy not in STRATEGIES:
            raise PlanError(f"no strategy named {strategy!r}", remedy=f"use one of {', '.join(STRATEGIES)}")
        self.finder = finder
        self.rules = rules
        self.strategy = strategy
        self._by_switches = SwitchPaths(finder, rules, base and base._by_switches)
        self._relays = Relays(finder, rules, self._by_switches)

    @property
    def has_one_path(self) -> bool:
        """True if a pair within a mesh has a single path."""
        return self.strategy in _ONE_PATH

    @property
    def searches_in_bulk(self) -> bool:
        """True if all candidates are found by the searches of `controller.paths.candidates`."""
        return self.strategy != "tables" and self.strategy not in _LONGER_PATHS

    @property
    def mesh_numbers(self) -> NDArray[np.int64]:
        """Number of the mesh of each node by index; nodes of no mesh have numbers of their own."""
        meshes = self._meshes
        nodes = self.finder.fabric.nodes
        return np.array([meshes.get(node.name, -1 - number) for number, node in enumerate(nodes)])

    def candidates(self, source: str, destination: str) -> list[Path]:
        """Return the paths among which a source may share its traffic; empty when none works.

        Within a mesh, `shortest` and `hashed` have one path; the other strategies have all paths of up to two
        hops, else the shortest paths, and the next longer paths where that is a single path of several hops.
        `detour` and `borrow` add, up to four hops, paths of one hop more that share no link with others of
        the pair, so that it can use all its ports. By way of switches every strategy has the shortest paths.
        `detour` adds the paths that a third member of the switches' mesh makes one hop longer; `borrow` adds
        to these the paths by the highest switches. All strategies but the first two add paths by a neighbour
        that has a switch in common with the destination where the source has none. Where no switches lead to
        the destination, only neighbours do (PXN). `tables` has the path by which the address tables lead a
        frame.
        """
        if self.strategy == "tables":
            path = table_path(self.finder, source, destination)
            permitted = path[-1] == destination and self.rules.vls_of(self.finder.fabric, path) is not None
            return [path] if permitted else []
        paths = self.shortest_paths(source, destination)
        if not paths:
            return paths
        if not self.in_one_mesh(source, destination):
            if self.strategy not in _ONE_PATH:
                relayed = self._relays.shared_switch_paths(source, destination)
                paths += [path for path in relayed if path not in paths]
            if self.strategy in _LONGER_PATHS:
                paths += self._by_switches.detours(paths[0], borrow=self.strategy == "borrow")
            return paths
        if self.strategy in _ONE_PATH:
            return paths[:1]
        for hops in range(len(paths[0]), _SPREAD_HOPS + 1):
            paths += self._allowed_paths(source, destination, hops)
        if len(paths) == 1 and len(paths[0]) > _SPREAD_HOPS:
            paths += self._next_longer_paths(source, destination, len(paths[0]))
        if self.strategy in _LONGER_PATHS and len(paths[-1]) <= _SECOND_PATH_HOPS:
            paths += _disjoint(self._allowed_paths(source, destination, len(paths[-1])), paths)
        return paths

    def _next_longer_paths(self, source: str, destination: str, fewest: int) -> list[Path]:
        """Return the allowed paths of the least number of hops, `fewest` or more, that has any."""
        for hops in range(fewest, _SECOND_PATH_HOPS + 1):
            paths = self._allowed_paths(source, destination, hops)
            if paths:
                return paths
        return []

    def shortest_paths(self, source: str, destination: str) -> list[Path]:
        """Return the allowed paths of fewest hops: up to three, or one more than without failures.

        Two members of a mesh that failures have separated get paths by switches alone: up, across and down.
        """
        fabric = self.finder.fabric
        if self.in_one_mesh(source, destination):
            fewest = differing_coordinates(fabric, source, destination)
        else:
            joined = self._relays.are_joined_by_switches(source, destination)
            search = self._by_switches if joined else self._relays
            paths = search.shortest_paths(source, destination)
            if paths:
                return paths
            fewest = distance(fabric, source, destination)
            if fewest == len(fabric.nodes):  # no links join them, failed or not
                return []
        for hops in range(fewest, max(fewest + 1, _MAX_HOPS) + 1):
            paths = self._allowed_paths(source, destination, hops)
            if paths:
                return paths
        return self._by_switches.shortest_paths(source, destination)

    def uses_longer_paths(self, source: str, destination: str) -> bool:
        """Return whether paths beyond the candidates may carry a pair's traffic where they relieve links."""
        return self.strategy not in _ONE_PATH and self.in_one_mesh(source, destination)

    def in_one_mesh(self, source: str, destination: str) -> bool:
        """Return whether links between endpoints alone join two endpoints."""
        meshes = self._meshes
        return meshes.get(source, source) == meshes.get(destination, destination)

    @property
    def _meshes(self) -> dict[str, int]:
        fabric = self.finder.fabric
        return fabric.cached("meshes", lambda: _meshes(fabric))

    def ecmp_routes(self, paths: Sequence[Path]) -> tuple[Path, ...]:
        """Return the paths that frames of the 16 buckets take when the switches choose by hash.

        The path of a bucket is that of a frame whose lb equals the bucket; frames of other lb values share
        its steered part only.
        """
        finder, source, destination = self.finder, paths[0][0], paths[0][-1]
        steered = _steered(finder.fabric, paths)
        buckets: dict[Path, list[int]] = {}
        for bucket in range(BUCKETS):
            buckets.setdefault(steered[port_of_bucket(bucket, len(steered))], []).append(bucket)
        routes: list[Path] = [()] * BUCKETS
        for begun, lbs in buckets.items():
            for lb, path in zip(lbs, table_paths(finder, source, destination, begun, lbs), strict=True):
                routes[lb] = path
        return tuple(routes)

    def paths_of_length(self, source: str, destination: str, hops: int) -> list[Path]:
        """Return the allowed paths of so many hops within a mesh."""
        return self._allowed_paths(source, destination, hops) if self.in_one_mesh(source, destination) else []

    def _allowed_paths(self, source: str, destination: str, hops: int) -> list[Path]:
        fabric = self.finder.fabric
        paths = self.finder.paths_of_length(source, destination, hops)
        return [path for path in paths if self.rules.vls_of(fabric, path) is not None]


def _steered(fabric: Fabric, paths: Sequence[Path]) -> list[Path]:
    """Return the different parts of paths up to their first switch."""
    parts: dict[Path, None] = {}
    for path in paths:
        if path[:2] not in parts:
            parts[until_first_switch(fabric, path)] = None
    return list(parts)


def _disjoint(longer: Sequence[Path], paths: Sequence[Path]) -> list[Path]:
    """Return those of the longer paths, in their order, that share no link with `paths` or each other."""
    used = {hop for path in paths for hop in hops_of(path)}
    chosen: list[Path] = []
    for path in longer:
        if used.isdisjoint(hops_of(path)):
            used.update(hops_of(path))
            chosen.append(path)
    return chosen


def _meshes(fabric: Fabric) -> dict[str, int]:
    """Return, by endpoint, the number of the set of endpoints that links between endpoints join."""
    endpoints = {node.name for node in fabric.nodes if not node.tier}
    mesh_links = ((link.a.node, link.b.node) for link in fabric.links if link.dimension is not None)
    pairs = [pair for pair in mesh_links if endpoints.issuperset(pair)]
    parts = components((node.name for node in fabric.nodes if not node.tier), pairs)
    return {name: number for number, part in enumerate(parts) for name in part}


def port_of_bucket(bucket: int, ports: int) -> int:
    """Return the port, of so many, of a bucket; the bucket counts of any two ports differ by at most 1."""
    rotated = bucket >> _PORT_BIT | (bucket & (1 << _PORT_BIT) - 1) * (BUCKETS >> _PORT_BIT)
    return rotated % ports
