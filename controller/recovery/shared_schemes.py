# SPDX-License-Identifier: Apache-2.0
"""Forwarding schemes over working links, shared by the controllers of a plan."""

from collections import deque
from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from math import inf
from typing import final

from controller.forwarding.next_hop import table_path
from controller.paths.finder import PathFinder
from controller.paths.shares.overflow import PlannedLoad
from controller.paths.source_route import MAX_INSTRUCTIONS
from controller.plan.entry import Path
from controller.plan.plan import Plan
from controller.schemes.registry import scheme_of
from controller.schemes.scheme import Scheme
from topologies.model.computed_once import computed_once

__all__ = ["SharedSchemes", "hops_from"]

# Schemes that are kept; all are dropped when there are more.
_MAX_SCHEMES = 64


@final
class SharedSchemes:
    """Schemes shared by the controllers of a plan: most controllers know of the same failures."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._last: dict[frozenset[str], Scheme] = {}
        self._nearer: dict[str, Mapping[str, str]] = {}
        self._within_reach: dict[str, bool] = {}

    def without(self, failed: Set[str]) -> Scheme:
        """Return the scheme without the `failed` links."""
        key = frozenset(failed)
        if key == self.plan.failed:
            return self._planned
        if key not in self._last:
            if len(self._last) >= _MAX_SCHEMES:
                self._last.clear()
            self._last[key] = scheme_of(self.plan, key, self._planned if key > self.plan.failed else None)
        return self._last[key]

    @cached_property
    def _planned(self) -> Scheme:
        """Scheme over the links of the plan."""
        return scheme_of(self.plan)

    @cached_property
    def load(self) -> PlannedLoad:
        """Planned load of the links."""
        return PlannedLoad(self.plan)

    def destinations_over(self, source: str, link: str) -> Sequence[str]:
        """Return the destinations of a source's planned paths over a link or a link parallel to it."""
        ends = self.plan.fabric.link(link)
        return self.plan.route_columns.destinations_over(source, (ends.a.node, ends.b.node))

    def nearer_ends(self, link: str) -> Mapping[str, str]:
        """Return the nearer end of a failed link, for each node except the two ends.

        Only the plan decides, so that all nodes agree. Of two ends at the same distance, the first is nearer.
        """
        if link not in self._nearer:
            ends = self.plan.fabric.link(link)
            finder = PathFinder(self.plan.fabric, {*self.plan.failed, link})
            first, second = (hops_from(finder, end.node) for end in (ends.a, ends.b))
            self._nearer[link] = {
                node: ends.a.node if node in first and first[node] <= second.get(node, inf) else ends.b.node
                for node in {**first, **second}
                if node not in (ends.a.node, ends.b.node)
            }
        return self._nearer[link]

    def within_reach(self, link: str) -> bool:
        """Return whether a source route leads to every node from the end of a failed link nearer to it."""
        if link not in self._within_reach:
            scheme = self.without(self.plan.failed | {link})
            self._within_reach[link] = all(
                scheme.message_path(end, node) for node, end in self.nearer_ends(link).items()
            )
        return self._within_reach[link]

    def planned_path(self, node: str, target: str) -> Path:
        """Return the planned path of a message from a node's own switch to an endpoint."""
        routes = self.plan.routes_from(node)
        return routes[target][0] if target in routes else table_path(self._planned, node, target)

    def path_to(self, node: str, target: str, failed: Set[str]) -> Path | None:
        """Return a permitted path from a node to another, switches too; None if no source route steers one.

        All nodes follow a tree that is searched once for each target. If the turn rules do not permit the
        path of this tree, a longer path replaces it. The path of the plan's tree serves as long as its links
        work: both trees take the first of the shortest paths, in the order of ports from the target.
        """
        finder = self.without(failed).finder
        if not (finder.neighbours(node) and finder.neighbours(target)):
            return None  # the node has lost its last link, or the target has
        path = self._tree_path(self._planned, node, target) if self.plan.failed <= failed else None
        if path is None or not finder.is_alive(path):
            path = self._tree_path(self.without(failed), node, target)
        if path and self._planned.rules.vls_of(self.plan.fabric, path) is not None:
            return path
        return self.without(failed).message_path(node, target)

    def _tree_path(self, scheme: Scheme, node: str, target: str) -> Path | None:
        finder, path = scheme.finder, [node]
        tree = _tree(finder, target)
        while path[-1] != target:
            if path[-1] not in tree:
                return None
            path.append(tree[path[-1]])
        return tuple(path)


def hops_from(finder: PathFinder, node: str) -> dict[str, int]:
    """Return the number of hops over working links from a node to every reachable node."""
    hops, edge = {node: 0}, deque([node])
    while edge:
        at = edge.popleft()
        for neighbour in finder.neighbours(at):
            if neighbour not in hops:
                hops[neighbour] = hops[at] + 1
                edge.append(neighbour)
    return hops


@computed_once
def _tree(finder: PathFinder, target: str) -> dict[str, str]:
    """Return the next hop to a target by node, over at most as many hops as a source route steers."""
    tree: dict[str, str] = {}
    reached = [target]
    for _ in range(MAX_INSTRUCTIONS):
        layer = []
        for node in reached:
            for neighbour in finder.neighbours(node):
                if neighbour != target and neighbour not in tree:
                    tree[neighbour] = node
                    layer.append(neighbour)
        reached = layer
    return tree
