# SPDX-License-Identifier: Apache-2.0
"""All-path routing: the paths that carry a source's traffic to a destination (UB-Mesh, All-Path-Routing).

A source spreads its frames over 16 buckets; each bucket has one source route in the table all_path.
"""

from collections.abc import Mapping, Sequence
from typing import final, get_args

from controller.deadlock.turn_rules import RuleSet
from controller.errors import PlanError
from controller.plan import BUCKETS, Entry, Exact, Path, Strategy
from controller.routing.apportion import apportion
from controller.routing.circuit_paths import ocs_dimensions
from controller.routing.ecmp_source import ecmp_routes, until_first_switch
from controller.routing.paths import PathFinder, differing_coordinates, distance, hops_of
from controller.routing.relays import Relays
from controller.routing.source_route import MAX_INSTRUCTIONS, MAX_PORT, pack
from controller.routing.switch_paths import SwitchPaths
from topologies import Fabric

__all__ = ["STRATEGIES", "Router", "all_path_entries", "apportion"]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

# Hops up to which every path is a candidate; a longer one is taken only when there is no other, or when the
# strategy asks for it.
_SPREAD_HOPS = 2
# Strategies that have one path in a mesh.
_ONE_PATH = ("shortest", "hashed")
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
        self._by_switches = SwitchPaths(finder, rules)
        self._relays = Relays(finder, rules, self._by_switches)

    def candidates(self, source: str, destination: str) -> list[Path]:
        """Paths a source may plan with; none alive: an empty list.

        Within a mesh, `shortest` and `hashed` have one path and the others all of up to two hops, or else
        those of fewest hops. By way of switches all have the paths of fewest hops; `detour` adds those that a
        third member of the switches' mesh makes one hop longer, `borrow` adds to these the ones by the
        highest switches. All but the first two add the ways by a neighbour that has a switch in common with
        the destination, where this node has none. Where no switches lead, only neighbours do (PXN).
        """
        found = self.shortest_paths(source, destination)
        if not found:
            return found
        if not self._in_one_mesh(source, destination):
            if self.strategy not in _ONE_PATH:
                found += [
                    path
                    for path in self._relays.shared_switch_paths(source, destination)
                    if path not in found
                ]
            if self.strategy in ("detour", "borrow"):
                found += self._by_switches.detours(found[0], borrow=self.strategy == "borrow")
            return found
        if self.strategy in _ONE_PATH:
            return found[:1]
        for hops in range(len(found[0]), _SPREAD_HOPS + 1):
            found += self._allowed_paths(source, destination, hops)
        return found

    def shortest_paths(self, source: str, destination: str) -> list[Path]:
        """The allowed paths of fewest hops: up to three, or one more than if nothing had failed.

        Of two in one mesh that failures have parted, those by switches alone: up, over and down.
        """
        fabric = self.finder.fabric
        if self._in_one_mesh(source, destination):
            nearest = differing_coordinates(fabric, source, destination)
        else:
            joined = self._relays.are_joined_by_switches(source, destination)
            ways = self._by_switches if joined else self._relays
            found = ways.shortest_paths(source, destination)
            if found:
                return found
            nearest = distance(fabric, source, destination)
            if nearest == len(fabric.nodes):  # nothing joins them, failed or not
                return []
        for hops in range(nearest, max(nearest + 1, _MAX_HOPS) + 1):
            found = self._allowed_paths(source, destination, hops)
            if found:
                return found
        return self._by_switches.shortest_paths(source, destination)

    def _in_one_mesh(self, source: str, destination: str) -> bool:
        """Whether links between endpoints alone join two of them."""
        fabric = self.finder.fabric
        meshes = fabric.once("meshes", lambda: _meshes(fabric))
        return meshes.get(source, source) == meshes.get(destination, destination)

    def reroute(self, planned: Sequence[Path]) -> tuple[Path | None, ...]:
        """The buckets of one destination with dead paths replaced, the others as they are.

        Dead buckets are dealt evenly over the paths of fewest hops (`shortest`: all take the first of
        them), or are None when there is none. With `hashed` all buckets take ports that lead there.
        """
        dead = [bucket for bucket, path in enumerate(planned) if not self.finder.is_alive(path)]
        routes: list[Path | None] = list(planned)
        if dead:
            spare = self.shortest_paths(planned[0][0], planned[0][-1])
            if self.strategy == "hashed" and spare:
                return ecmp_routes(self.finder, spare)
            if self.strategy == "shortest" and self._in_one_mesh(planned[0][0], planned[0][-1]):
                spare = spare[:1]
            for turn, bucket in enumerate(dead):
                routes[bucket] = spare[turn % len(spare)] if spare else None
        return tuple(routes)

    def _allowed_paths(self, source: str, destination: str, hops: int) -> list[Path]:
        fabric = self.finder.fabric
        found = self.finder.paths_of_length(source, destination, hops)
        return [path for path in found if self.rules.vls_of(fabric, path) is not None]


def _meshes(fabric: Fabric) -> dict[str, int]:
    """A number for each set of endpoints that links between them join, by endpoint."""
    import networkx as nx

    graph = nx.Graph()
    ends = {node.name for node in fabric.nodes if not node.tier}
    graph.add_nodes_from(ends)
    joins = ((link.a.node, link.b.node) for link in fabric.links if link.dimension is not None)
    graph.add_edges_from(pair for pair in joins if pair[0] in ends)
    parts = nx.connected_components(graph)
    return {name: number for number, part in enumerate(parts) for name in part}


def all_path_entries(
    finder: PathFinder,
    node: str,
    routes: Mapping[str, Sequence[Path | None]],
    strategy: Strategy = "all-path",
) -> tuple[Entry, ...]:
    """Entries of the table all_path of one node for these destinations; a bucket of None has no entry.

    Of parallel links a route takes the first that has not failed. Over circuits of a core, and from there on,
    the tables decide, and from the first switch on with `hashed`.
    """
    fabric = finder.fabric
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
                steered = until_first_switch(fabric, path) if strategy == "hashed" else path
                bitmap, instr = pack(_steered_ports(finder, steered))
                params[path] = ("bitmap", bitmap), ("instr", instr)
            entries.append(Entry("all_path", (dcna, bucket), "push_route", params[path]))
    return tuple(entries)


def _steered_ports(finder: PathFinder, path: Path) -> list[int | None]:
    """Egress ports of the hops that need an instruction; the tables know those after, which all descend.

    They also decide a descent by a port that no instruction can name: None.
    """
    fabric = finder.fabric
    core = ocs_dimensions(fabric)
    ports: list[int | None] = []
    for near, far in hops_of(path):
        if near in core and far in core:
            break
        port = finder.port_to(near, far)
        if len(ports) < MAX_INSTRUCTIONS and port <= MAX_PORT:
            ports.append(port)
        elif fabric.node(far).tier >= fabric.node(near).tier:
            raise PlanError(
                f"path {' '.join(path)}: a source route steers {MAX_INSTRUCTIONS} hops by ports up to "
                f"{MAX_PORT}, and port {port} of {near} is no descent",
                remedy="take a shorter path",
            )
        elif len(ports) < MAX_INSTRUCTIONS:
            ports.append(None)
    return ports
