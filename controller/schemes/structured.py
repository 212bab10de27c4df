# SPDX-License-Identifier: Apache-2.0
"""Forwarding by the structure of a fabric: its meshes, its tiers of switches and its structured addresses.

A source spreads its frames over 16 buckets; each bucket has one source route in the table all_path (UB-Mesh,
All-Path-Routing). Tables of structured addresses decide the hops behind the end of a source route, and all
hops of frames without a source route. The segment with the longest prefix of the destination decides:

    in a mesh    the array of the highest dimension in which the two addresses differ
    in a switch  below the switch: the shortest path down; otherwise the mesh of its tier; otherwise upwards
    upwards      the default segment: low bits of the destination, or a hash, select an uplink
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.stages import staged_rules
from controller.deadlock.turn_rules import RuleSet
from controller.forwarding.ecmp_paths import ecmp_columns, port_of_bucket
from controller.forwarding.next_hop import table_path, table_paths
from controller.paths.bulk.candidates import candidates_of
from controller.paths.finder import (
    PathFinder,
    differing_coordinates,
    distance,
    neighbour_set,
    until_first_switch,
)
from controller.paths.relays import Relays
from controller.paths.switch_paths import SwitchPaths
from controller.plan.entry import BUCKETS, Entry, Path, hops_of
from controller.plan.path_columns import PairColumns, PathColumns
from controller.plan.plan import Plan
from controller.plan.routes import Routes
from controller.schemes.reuse import Reused, after_failures
from controller.schemes.scheme import Scheme
from controller.schemes.strategy import Steering, Strategy
from controller.tables.address_entries import Lookups, address_entries
from controller.tables.segments.downward import downward_segments
from controller.tables.segments.mesh import last_field_end, mesh_segments, own_segment
from controller.tables.segments.prefixes import address_classes, field_ends
from controller.tables.segments.segment import Segment
from controller.tables.segments.upward import highest_neighbours, upward_segments
from controller.tables.source_routes import Ports, RouteRows, source_route_entries, steered_ports
from topologies import Fabric, Link, Node
from topologies.model.columns import columns
from topologies.model.components import components
from topologies.model.computed_once import computed_once

__all__ = ["Structured", "upper_end"]

# Number of hops up to which every allowed path within a mesh is a candidate. Longer paths are candidates if a
# pair would have a single path of two or more hops, as some pairs do under rules that order the dimensions.
_SPREAD_HOPS = 2
# Number of hops up to which further paths of a pair are searched.
_SECOND_PATH_HOPS = 4
# Shortest paths are searched up to this number of hops, or one hop more than without failures.
_MAX_HOPS = 3


class Structured(Scheme):
    """Base class of the schemes for fabrics with dimensions or tiers.

    A derived class overrides `lookups` and the methods of segments to fill the address tables of its nodes.
    """

    def __init__(
        self, finder: PathFinder, rules: RuleSet, strategy: Strategy, base: Self | None = None
    ) -> None:
        super().__init__(finder, rules, strategy, base)
        self._by_switches = SwitchPaths(finder, rules, base and base._by_switches)
        self._relays = Relays(finder, rules, self._by_switches)

    @classmethod
    def rule_set(cls, name: str, fabric: Fabric) -> RuleSet:
        return staged_rules(name, fabric)

    @classmethod
    def steers_every_hop(cls, fabric: Fabric) -> bool:
        """Return whether source routes decide every hop; False with circuits, since these change."""
        return not fabric.optical

    # -- paths

    def candidates(self, source: str, destination: str) -> list[Path]:
        """Return the candidate paths for a source's traffic to a destination; empty if no path works.

        Within a mesh:

            by default      all paths of up to two hops, or the shortest paths if they have more hops; if
                            that is a single path of two or more hops, the next longer paths too
            `single_path`   the first shortest path
            `longer_paths`  in addition paths one hop longer, up to four hops, that share no link with the
                            candidates or each other

        Otherwise, by switches:

            by default      the shortest paths, and paths by a neighbour that shares a switch with the
                            destination if the source shares none; only paths by neighbours if no switches
                            lead to the destination (PXN)
            `single_path`   the shortest paths
            `longer_paths`  in addition paths one hop longer by a third member of the switches' mesh
            `by_top`        in addition the longer paths by the highest switches

        Strategies without source routes have one candidate: the path by the tables, if the turn rules permit
        it.
        """
        if self.strategy.by_tables:
            path = table_path(self, source, destination)
            permitted = path[-1] == destination and self.rules.vls_of(self.fabric, path) is not None
            return [path] if permitted else []
        paths = self.shortest_paths(source, destination)
        if not paths:
            return paths
        if not self.in_one_mesh(source, destination):
            if not self.strategy.single_path:
                relayed = self._relays.shared_switch_paths(source, destination)
                paths += [path for path in relayed if path not in paths]
            if self.strategy.longer_paths:
                paths += self._by_switches.detours(paths[0], borrow=self.strategy.by_top)
            return paths
        if self.strategy.single_path:
            return paths[:1]
        for hops in range(len(paths[0]), _SPREAD_HOPS + 1):
            paths += self._allowed_paths(source, destination, hops)
        if len(paths) == 1 and len(paths[0]) > _SPREAD_HOPS:
            paths += self._next_longer_paths(source, destination, len(paths[0]))
        if self.strategy.longer_paths and len(paths[-1]) <= _SECOND_PATH_HOPS:
            paths += _disjoint(self._allowed_paths(source, destination, len(paths[-1])), paths)
        return paths

    def all_candidates(self, pairs: PairColumns) -> PathColumns:
        """Return the candidates of every pair; for most strategies, search all pairs in bulk."""
        if self.strategy.by_tables or self.strategy.longer_paths:
            return super().all_candidates(pairs)
        return candidates_of(self, pairs, self._mesh_numbers(), single_path=self.strategy.single_path)

    def are_joined(self, pairs: PairColumns) -> NDArray[np.bool_]:
        """Return a mask of the pairs with a permitted path; a pair with such a path has candidates too."""
        if self.strategy.by_tables or self.strategy.longer_paths:
            return super().are_joined(pairs)
        return self.all_candidates(pairs).counts > 0

    def _mesh_numbers(self) -> NDArray[np.int64]:
        """Return the mesh number of each node, by index; each node in no mesh has its own negative number."""
        meshes, nodes = _meshes(self.fabric), self.fabric.nodes
        return np.array([meshes.get(node.name, -1 - number) for number, node in enumerate(nodes)])

    def _next_longer_paths(self, source: str, destination: str, fewest: int) -> list[Path]:
        """Return the shortest allowed paths of `fewest` to four hops; empty if there are none."""
        for hops in range(fewest, _SECOND_PATH_HOPS + 1):
            paths = self._allowed_paths(source, destination, hops)
            if paths:
                return paths
        return []

    def shortest_paths(self, source: str, destination: str) -> list[Path]:
        """Return the allowed paths of fewest hops; empty if no path works.

        A pair outside a mesh takes a path over switches or over a neighbour (PXN), if one works. Any other
        pair takes a path of up to three hops, or up to one hop more than without failures; if none works, a
        path over switches alone: up, across and down.
        """
        if self.in_one_mesh(source, destination):
            fewest = differing_coordinates(self.fabric, source, destination)
        else:
            joined = self._relays.are_joined_by_switches(source, destination)
            search = self._by_switches if joined else self._relays
            paths = search.shortest_paths(source, destination)
            if paths:
                return paths
            fewest = distance(self.fabric, source, destination)
            if fewest == len(self.fabric.nodes):  # no links join the pair, failed or not
                return []
        for hops in range(fewest, max(fewest + 1, _MAX_HOPS) + 1):
            paths = self._allowed_paths(source, destination, hops)
            if paths:
                return paths
        return self._by_switches.shortest_paths(source, destination)

    def uses_longer_paths(self, source: str, destination: str) -> bool:
        return not self.strategy.single_path and self.in_one_mesh(source, destination)

    def in_one_mesh(self, source: str, destination: str) -> bool:
        """Return whether paths over endpoints alone, without switches, join two endpoints."""
        meshes = _meshes(self.fabric)
        return meshes.get(source, source) == meshes.get(destination, destination)

    def paths_of_length(self, source: str, destination: str, hops: int) -> list[Path]:
        """Return the allowed paths with `hops` hops within a mesh; empty for other pairs."""
        return self._allowed_paths(source, destination, hops) if self.in_one_mesh(source, destination) else []

    def _allowed_paths(self, source: str, destination: str, hops: int) -> list[Path]:
        return self.rules.permitted(self.fabric, self.finder.paths_of_length(source, destination, hops))

    # -- tables

    def segments(self, node: str) -> tuple[Segment, ...]:
        """Return the address segments of a node; the segments of its mesh come first."""
        return _segments(self, node)

    def planned_segments(self, node: str) -> tuple[Segment, ...]:
        """Return the address segments of a node, before neighbours withdraw any routes."""
        here, grouped = self.fabric.node(node), self.has_groups(node)
        if not here.is_switch:
            own = mesh_segments(self.finder, here, (here.address,), highest_neighbours(self.finder, here))
            if not any(segment.prefix.length >= last_field_end(self.fabric) for segment in own):
                own.append(own_segment(self.fabric, here))
            meshed = [segment.prefix for segment in own]
            return (*own, *upward_segments(self.finder, here, meshed, grouped=grouped))
        return (
            own_segment(self.fabric, here),
            *self.segments_below(here),
            *self.segments_across(here),
            *upward_segments(self.finder, here, grouped=grouped),
        )

    def segments_below(self, here: Node) -> Sequence[Segment]:
        """Return a switch's address segments for the destinations below it."""
        return downward_segments(self.finder, here, grouped=self.has_groups(here.name))

    def segments_across(self, here: Node) -> Sequence[Segment]:
        """Return a switch's address segments for destinations behind other switches of its tier."""
        bits = self.fabric.address_plan.bits
        first = field_ends(self.fabric)[0]
        own = here.address & ((1 << (bits - first)) - 1)
        addresses = [number << (bits - first) | own for number in address_classes(self.fabric)]
        return mesh_segments(self.finder, here, addresses)

    def has_groups(self, node: str) -> bool:
        """Return whether a node's program chooses among equal next hops by hash."""
        return False

    def lookups(self, node: str) -> Lookups:
        """Return the segments of a node in the order of lookup."""
        return Lookups(self.segments(node))

    def address_entries(self, node: str) -> tuple[Entry, ...]:
        return address_entries(self.finder, node, self.lookups(node))

    def source_routes(self, node: str, routes: Mapping[str, Sequence[Path | None]]) -> tuple[Entry, ...]:
        """Return the entries of a node's table all_path for the routes of these destinations.

        A route takes the first of parallel links that has not failed.
        """
        if self.strategy.steering is Steering.NONE:
            return ()
        return source_route_entries(self.finder, node, routes, self._steer)

    def all_source_routes(self, routes: Routes) -> Callable[[str], Sequence[Entry]]:
        """Return a function from a node's name to its all_path entries, slices of arrays for all nodes."""
        if self.strategy.steering is Steering.NONE:
            return lambda _: ()
        return RouteRows(self.finder, routes, self.steered_hops(routes.paths)).of

    def steered_hops(self, paths: PathColumns) -> NDArray[np.int64]:
        """Return the number of hops of each path that need an instruction: the hops of its `steered_part`."""
        if not self.strategy.by_hash:
            return paths.lengths
        tiers = columns(self.fabric).tiers
        heads = paths.nodes[:, 1:]
        switch = (heads >= 0) & (tiers[heads] > 0)
        return np.where(switch.any(axis=1), switch.argmax(axis=1) + 1, paths.lengths)

    def _steer(self, path: Path, _: int) -> Ports:
        return steered_ports(self.finder, self.steered_part(path))

    def steered_part(self, path: Path) -> Path:
        """Return the part of a path with instructions; the tables decide the hops after it."""
        return self.until_hash(path)

    def until_hash(self, path: Path) -> Path:
        """Return the source-routed part of a path."""
        return until_first_switch(self.fabric, path) if self.strategy.by_hash else path

    def ecmp_routes(self, paths: Sequence[Path]) -> tuple[Path, ...]:
        """Return the paths of the 16 buckets of a pair with candidates `paths`, if switches choose by hash.

        A bucket's path is the path of the frame whose lb equals the bucket number. The bucket's frames with
        other lb values share the steered part of this path only.
        """
        source, destination = paths[0][0], paths[0][-1]
        steered = _steered(self.fabric, paths)
        buckets: dict[Path, list[int]] = {}
        for bucket in range(BUCKETS):
            buckets.setdefault(steered[port_of_bucket(bucket, len(steered))], []).append(bucket)
        routes: list[Path] = [()] * BUCKETS
        for begun, lbs in buckets.items():
            for lb, path in zip(lbs, table_paths(self, source, destination, begun, lbs), strict=True):
                routes[lb] = path
        return tuple(routes)

    def all_ecmp_routes(self, candidates: PathColumns) -> Routes:
        """Return `ecmp_routes` of all pairs, computed in columns if possible."""
        return ecmp_columns(self, candidates) or super().all_ecmp_routes(candidates)

    # -- failures

    def depends_on(self, node: str, link: Link) -> bool:
        """Return whether the address tables of a node depend on a link.

        With a strategy by hash, tables of switches also depend on the downlinks of neighbouring switches.
        """
        return super().depends_on(node, link) or (
            self.strategy.by_hash
            and self.fabric.node(node).is_switch
            and upper_end(self.fabric, link) in neighbour_set(self.fabric, node)
        )

    @classmethod
    def reuse(cls, previous: Plan, fabric: Fabric, strategy: Strategy, failed: frozenset[str]) -> Reused:
        """Return the candidates of a previous plan that new failures do not touch.

        Nothing is reused if candidates depend on more than the working links.
        """
        by_links = strategy.steering is Steering.PATH and not strategy.longer_paths
        return after_failures(previous, fabric, failed) if by_links and not fabric.optical else Reused()


@computed_once
def _segments(scheme: Structured, node: str) -> tuple[Segment, ...]:
    return scheme.planned_segments(node)


def _disjoint(longer: Sequence[Path], paths: Sequence[Path]) -> list[Path]:
    """Return the longer paths, in order, that share no link with `paths` or with each other."""
    used = {hop for path in paths for hop in hops_of(path)}
    chosen: list[Path] = []
    for path in longer:
        if used.isdisjoint(hops_of(path)):
            used.update(hops_of(path))
            chosen.append(path)
    return chosen


@computed_once
def _meshes(fabric: Fabric) -> dict[str, int]:
    """Return the mesh number of each endpoint; links between endpoints join the members of a mesh."""
    names = [node.name for node in fabric.endpoints]
    ends = frozenset(names)
    mesh_links = ((link.a.node, link.b.node) for link in fabric.links if link.dimension is not None)
    parts = components(names, [pair for pair in mesh_links if ends.issuperset(pair)])
    return {name: number for number, part in enumerate(parts) for name in part}


def upper_end(fabric: Fabric, link: Link) -> str:
    """Return the end of a link on the higher tier; the first end if both are on one tier."""
    return max((link.a.node, link.b.node), key=lambda name: fabric.node(name).tier)


def _steered(fabric: Fabric, paths: Sequence[Path]) -> list[Path]:
    """Return the distinct parts of paths up to their first switch."""
    parts: dict[Path, None] = {}
    for path in paths:
        if path[:2] not in parts:
            parts[until_first_switch(fabric, path)] = None
    return list(parts)
