# SPDX-License-Identifier: Apache-2.0
"""Forwarding in any graph of nodes and links, by up*/down* routes over ranks of its nodes.

The strategy names a set of paths for each pair. A source route steers the first six hops of a path, and the
tables decide the hops after them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Self

from controller.deadlock.ranks import ranked_rules
from controller.deadlock.turn_rules import RuleSet
from controller.paths.finder import PathFinder
from controller.paths.graph.admitted import AdmittedPaths
from controller.paths.graph.next_hops import next_hops, path_by_tables
from controller.paths.graph.path_sets import PathSet, equal_cost, find, k_shortest
from controller.paths.source_route import MAX_HOPS, MAX_INSTRUCTIONS
from controller.plan.entry import Entry, Path, hops_of
from controller.schemes.scheme import Scheme
from controller.schemes.strategy import STRATEGIES, Strategy
from controller.tables.address_entries import Lookups, address_entries
from controller.tables.segments.address_blocks import graph_segments
from controller.tables.segments.segment import Segment
from controller.tables.source_routes import Ports, source_route_entries
from topologies import Fabric, Link
from topologies.model.computed_once import computed_once
from topologies.model.lines import is_sparse_mesh

__all__ = ["Graph"]

# Largest number of shortest paths that replace a failed path.
_REPLACEMENTS = 16


class Graph(Scheme):
    """Forwarding scheme of any graph: path sets and up*/down* tables over the working links of a finder."""

    follows_dimensions = False
    tells_everybody = True

    def __init__(
        self, finder: PathFinder, rules: RuleSet, strategy: Strategy, base: Self | None = None
    ) -> None:
        super().__init__(finder, rules, strategy, base)
        self._path_set = find(strategy.name)
        self.admitted = AdmittedPaths(finder, rules)

    @classmethod
    def serves(cls, fabric: Fabric) -> bool:
        """Return whether a fabric is declared a graph, or has dimensions that are not full meshes."""
        return fabric.graph_routed or is_sparse_mesh(fabric)

    @classmethod
    def rule_set(cls, name: str, fabric: Fabric) -> RuleSet:
        return ranked_rules(name, fabric)

    @classmethod
    def find_strategy(cls, name: str) -> Strategy:
        """Return the strategy with a name, or of FILE.py:NAME; PlanError lists close matches or all names."""
        find(name)
        return STRATEGIES.get(name, Strategy(name))

    def candidates(self, source: str, destination: str) -> list[Path]:
        return self._steerable(source, destination, self._path_set)

    def shortest_paths(self, source: str, destination: str) -> list[Path]:
        """Return up to 16 paths of fewest hops; empty if no path works."""
        return self._steerable(source, destination, lambda *pair: islice(equal_cost(*pair), _REPLACEMENTS))

    def _steerable(self, source: str, destination: str, path_set: PathSet) -> list[Path]:
        paths = [path for path in path_set(self.admitted, source, destination) if self.is_steerable(path)]
        if paths:
            return paths
        # All paths are too long for the header: tables of up*/down* routes decide every hop.
        led = path_by_tables(self.finder, source, destination)
        return [led] if led and self.admitted.admits(led) else []

    def is_steerable(self, path: Path) -> bool:
        """Return whether a frame can follow a path: a source route steers six hops, and tables the rest."""
        if len(path) - 1 <= MAX_INSTRUCTIONS:
            return True
        following = next_hops(self.finder, path[-1])
        rest = list(hops_of(path))[MAX_INSTRUCTIONS:]
        return len(path) - 1 < MAX_HOPS and all(following.get(node) == after for node, after in rest)

    # -- tables

    def address_entries(self, node: str) -> tuple[Entry, ...]:
        return address_entries(self.finder, node, Lookups(self.segments(node)))

    def segments(self, node: str) -> tuple[Segment, ...]:
        """Return the address segments of a node."""
        return _segments(self.finder, node)

    def source_routes(self, node: str, routes: Mapping[str, Sequence[Path | None]]) -> tuple[Entry, ...]:
        """Return the entries of a node's table all_path for the routes of these destinations.

        Buckets with the same path take parallel links in turn.
        """
        parallel = self.fabric.has_parallel
        return source_route_entries(self.finder, node, routes, self._steer, by_bucket=parallel)

    def _steer(self, path: Path, bucket: int) -> Ports | None:
        """Return the ports of the first six hops; None for a path of more hops than the header counts."""
        if len(path) > MAX_HOPS:
            return None
        ports = [self.finder.ports_to(*hop) for hop in list(hops_of(path))[:MAX_INSTRUCTIONS]]
        return [parallel[bucket % len(parallel)] for parallel in ports]

    # -- failures

    def depends_on(self, node: str, link: Link) -> bool:
        """Return True: any link may be on a route to a destination."""
        return True

    def may_relay(self, node: str) -> bool:
        """Return whether a node may forward frames of other nodes."""
        return self.admitted.may_relay(node)

    def repeated_message_paths(self, node: str, target: str) -> Sequence[Path]:
        """Return shortest paths between two nodes; each shares as few hops as possible with earlier paths."""
        left, chosen, uses = list(k_shortest(self.admitted, node, target)), list[Path](), Counter[object]()
        while left:
            path = min(left, key=lambda path: sum(uses[hop] for hop in hops_of(path)))
            left.remove(path)
            chosen.append(path)
            uses.update(hops_of(path))
        return chosen


@computed_once
def _segments(finder: PathFinder, node: str) -> tuple[Segment, ...]:
    return graph_segments(finder, node)
