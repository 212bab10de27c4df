# SPDX-License-Identifier: Apache-2.0
"""The contract of a forwarding scheme: the paths of traffic, and the table entries that forward it.

A scheme is a class. An instance serves one fabric, over its working links, under turn rules, with one
strategy. The planner, recovery, the harness and the command call methods of the instance; none of them names
a particular scheme. A user's scheme derives from this class or from another class of this package
(controller.schemes.registry, docs/use/schemes.md).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.turn_rules import RuleSet
from controller.errors import PlanError
from controller.forwarding.ecmp import EcmpTable
from controller.forwarding.next_hop import next_hop
from controller.paths.finder import PathFinder, neighbour_set
from controller.paths.permitted import permitted_tree
from controller.paths.shares.buckets import row_rates
from controller.paths.shares.overflow import PlannedLoad, overflow_paths
from controller.paths.source_route import MAX_INSTRUCTIONS
from controller.plan.entry import Entry, Path
from controller.plan.path_columns import PairColumns, PathColumns
from controller.plan.plan import Plan
from controller.plan.routes import Routes
from controller.plan.rows import NodeEntries, blocks_of
from controller.schemes.reuse import Reused
from controller.schemes.strategy import STRATEGIES, Strategy
from controller.tables.segments.segment import Segment
from controller.tables.turns import turn_entries
from topologies import Fabric, Link
from topologies.model.computed_once import computed_once
from topologies.transform.spares import cut_from

__all__ = ["Scheme"]


class Scheme(ABC):
    """Forwarding scheme of one fabric: computes paths and table entries over the working links of a finder.

    `base` is a scheme with the same rules and strategy, and with fewer failed links; its search results are
    used again. `cache` holds the results of `computed_once`.
    """

    follows_dimensions: ClassVar[bool] = True
    """True if paths follow the dimensions and tiers of a fabric, from which bounds of time are computed."""

    moving_circuits: ClassVar[bool] = False
    """True if the circuits of a core alone decide the shares of paths: demand and hash do not count."""

    tells_everybody: ClassVar[bool] = False
    """True if the tables of every node depend on every link, so that every node is notified of a failure."""

    def __init__(
        self, finder: PathFinder, rules: RuleSet, strategy: Strategy, base: Self | None = None
    ) -> None:
        self.finder = finder
        self.rules = rules
        self.strategy = strategy
        self.base = base
        self.cache: dict[Hashable, object] = {}

    # -- which fabrics, rules and strategies

    @classmethod
    @abstractmethod
    def serves(cls, fabric: Fabric) -> bool:
        """Return whether the scheme can be the default for a fabric."""

    @classmethod
    @abstractmethod
    def rule_set(cls, name: str, fabric: Fabric) -> RuleSet:
        """Return the named turn rules on a fabric; PlanError for an unknown name."""

    @classmethod
    def find_strategy(cls, name: str) -> Strategy:
        """Return the strategy of a name; PlanError lists the names if the name is unknown."""
        if name not in STRATEGIES:
            raise PlanError(
                f"the strategy {name!r} does not exist", remedy=f"use one of {', '.join(STRATEGIES)}"
            )
        return STRATEGIES[name]

    @classmethod
    def steers_every_hop(cls, fabric: Fabric) -> bool:
        """Return whether source routes decide every hop; a source then knows the paths of its frames."""
        return True

    @classmethod
    def check_strategy(cls, strategy: Strategy, fabric: Fabric) -> None:
        """Raise PlanError if a fabric cannot carry out a strategy."""
        if cls.steers_every_hop(fabric):
            return
        if strategy.by_tables:
            raise PlanError(
                f"strategy {strategy.name} does not work on {fabric.name}, whose switches choose "
                f"ports by hash",
                remedy="use strategy hashed",
            )
        if strategy.adaptive:
            raise PlanError(
                f"strategy {strategy.name} does not work on {fabric.name}: its switches choose "
                f"ports, so a source "
                "cannot choose its paths",
                remedy="use strategy all-path, or a fabric whose source routes decide every hop",
            )

    @property
    def fabric(self) -> Fabric:
        """The fabric of the scheme."""
        return self.finder.fabric

    # -- paths

    @abstractmethod
    def candidates(self, source: str, destination: str) -> list[Path]:
        """Return the candidate paths for a source's traffic to a destination; empty if no path works."""

    def all_candidates(self, pairs: PairColumns) -> PathColumns:
        """Return the candidate paths of every pair (source, destination)."""
        return PathColumns.of(pairs.fabric, {pair: self.candidates(*pair) for pair in pairs.names()})

    @abstractmethod
    def shortest_paths(self, source: str, destination: str) -> list[Path]:
        """Return the permitted paths of fewest hops, to replace a failed path; empty if no path works."""

    def are_joined(self, pairs: PairColumns) -> NDArray[np.bool_]:
        """Return a mask of the pairs with a permitted path over working links (`shortest_paths`)."""
        alone = {node.name for node in self.fabric.nodes if not self.finder.neighbours(node.name)}
        return np.array(
            [alone.isdisjoint(pair) and bool(self.shortest_paths(*pair)) for pair in pairs.names()], np.bool_
        )

    def uses_longer_paths(self, source: str, destination: str) -> bool:
        """Return whether a source may use paths longer than its candidates, to take load off busy links."""
        return False

    def paths_of_length(self, source: str, destination: str, hops: int) -> list[Path]:
        """Return the permitted paths with `hops` hops; empty for a pair that uses no longer paths."""
        return []

    def in_one_mesh(self, source: str, destination: str) -> bool:
        """Return whether two nodes are in one mesh, where `Strategy.single_path` applies; True by default."""
        return True

    # -- shares

    def path_weights(self, paths: PathColumns) -> NDArray[np.float64]:
        """Return the weight of each path for traffic without a demand, from its rate and length."""
        return row_rates(paths, self.finder.failed)

    def ecmp_routes(self, paths: Sequence[Path]) -> tuple[Path, ...]:
        """Return the paths of the 16 buckets of a pair with candidates `paths`, if switches choose by hash.

        PlanError by default.
        """
        raise PlanError(
            f"the switches of {self.fabric.name} do not choose ports by hash", remedy="use another strategy"
        )

    def all_ecmp_routes(self, candidates: PathColumns) -> Routes:
        """Return `ecmp_routes` of all pairs."""
        routes = {pair: self.ecmp_routes(paths) for pair, paths in candidates.items()}
        return Routes.of(self.fabric, routes)

    def until_hash(self, path: Path) -> Path:
        """Return the source-routed part of a path; by default the whole path."""
        return path

    # -- tables

    @abstractmethod
    def address_entries(self, node: str) -> tuple[Entry, ...]:
        """Return a node's table entries for mapping destination addresses to egress ports."""

    def segments(self, node: str) -> tuple[Segment, ...]:
        """Return the address segments of a node; empty by default."""
        return ()

    @abstractmethod
    def source_routes(self, node: str, routes: Mapping[str, Sequence[Path | None]]) -> tuple[Entry, ...]:
        """Return the entries of a node's table all_path for the routes of these destinations."""

    def all_source_routes(self, routes: Routes) -> Callable[[str], Sequence[Entry]]:
        """Return a function from a node's name to the node's entries of table all_path."""
        return lambda node: self.source_routes(node, routes.from_source(node))

    def entries(self, routes: Routes, reused: Reused | None = None) -> dict[str, NodeEntries]:
        """Return all table entries by node; use table entries of `reused` again where they still hold."""
        source_routes = self.all_source_routes(routes)
        entries: dict[str, NodeEntries] = {}
        for name in (node.name for node in self.fabric.nodes):
            fixed = None if reused is None else reused.table_blocks(name)
            if fixed is None:
                fixed = turn_entries(self.rules, self.fabric, name), self.address_entries(name)
            entries[name] = NodeEntries([*fixed, *blocks_of(source_routes(name))])
        return entries

    def ecmp_table(self, node: str) -> EcmpTable | None:
        """Return the ECMP groups of a switch; None if callers must read its table entries."""
        return None

    # -- failures

    @classmethod
    def reuse(cls, previous: Plan, fabric: Fabric, strategy: Strategy, failed: frozenset[str]) -> Reused:
        """Return the parts of plan `previous` still valid in a new plan for `fabric`.

        Both plans have the same strategy, rules and hashing. By default no part is used again.
        """
        return Reused()

    def repair(
        self, planned: Sequence[Path], load: Callable[[], PlannedLoad] | None = None
    ) -> tuple[Path | None, ...]:
        """Return the 16 paths of one destination with each path over a failed link replaced.

        Buckets that lost their path share the shortest working paths evenly; they are None if no path works.
        Four cases differ:

            load given     longer paths carry traffic too if shortest paths would be overloaded
                           (controller.paths.shares.overflow)
            single path    within a mesh, the first shortest path serves all these buckets
            by tables      the path of a frame by the present tables serves all these buckets
            by hash        all 16 buckets move to ports that lead to the destination

        Args:
            planned: Path of each bucket as planned.
            load: Returns the load that the plan puts on each hop; None: never take longer paths.
        """
        lost = [bucket for bucket, path in enumerate(planned) if not self.finder.is_alive(path)]
        routes: list[Path | None] = list(planned)
        if not lost:
            return tuple(routes)
        source, destination = planned[0][0], planned[0][-1]
        search = self.candidates if self.strategy.by_tables else self.shortest_paths
        paths = search(source, destination)
        if self.strategy.by_hash and paths:
            return self.ecmp_routes(paths)
        if self.strategy.single_path and self.in_one_mesh(source, destination):
            paths = paths[:1]
        spread = None
        if load is not None and self.uses_longer_paths(source, destination):
            spread = overflow_paths(self, planned, lost, paths, load())
        for position, bucket in enumerate(lost):
            if spread is not None:
                routes[bucket] = spread[position]
            else:
                routes[bucket] = paths[position % len(paths)] if paths else None
        return tuple(routes)

    def depends_on(self, node: str, link: Link) -> bool:
        """Return whether the address tables of a node depend on a link.

        By default they depend on the links of the node, and on the links between its neighbours.
        """
        ends = (link.a.node, link.b.node)
        return node in ends or neighbour_set(self.fabric, node).issuperset(ends)

    def dependents(self, node: str, link: Link) -> Sequence[str]:
        """Return the nodes dependent on a link of `node`, in addition to the plan's subscribers."""
        return ()

    def may_relay(self, node: str) -> bool:
        """Return whether a node may forward frames of other nodes if the turn rules permit it."""
        return True

    def message_path(self, node: str, target: str) -> Path | None:
        """Return the path of a message between two nodes, endpoints or switches.

        The path has the fewest hops that the turn rules permit; None if it is too long for a source route.
        """
        return _message_paths(self, node).get(target)

    def repeated_message_paths(self, node: str, target: str) -> Sequence[Path]:
        """Return the paths to try in turn for an unacknowledged message; if empty, use `message_path`."""
        if self.fabric.node(node).is_switch or self.fabric.node(target).is_switch:
            return ()
        return self.shortest_paths(node, target)

    def notice_paths(
        self, node: str, subscribers: Sequence[str], asking: Sequence[str]
    ) -> Iterator[tuple[str, Path | None]]:
        """Yield the receivers of a notice, each with a path; None: the tables of `node` lead the notice.

        A neighbour in `asking` gets the notice by the link to it, because tables have no entry for a switch.
        An endpoint that has lost its domain or the network notifies only the subscribers that it can reach.

        Args:
            node: Sender of the notice.
            subscribers: Nodes that the plan subscribes to the link.
            asking: Other nodes that depend on the link.
        """
        planned = [name for name in subscribers if self._reaches(node, name)]
        if not self.fabric.node(node).is_switch and cut_from(self.fabric, node, self.finder.failed):
            planned = [name for name in planned if self.shortest_paths(node, name)]
        for name in planned:
            yield name, None
        yield from self.plain_paths(node, [name for name in asking if name not in planned])

    def notified_by(self, node: str, link: Link, subscribers: Sequence[str]) -> Sequence[str]:
        """Return the subscribers of a link to which a node forwards a received notice; none by default."""
        return ()

    def plain_paths(self, node: str, targets: Iterable[str]) -> Iterator[tuple[str, Path | None]]:
        """Yield the targets to which a message needs no source route, each with its path.

        The path of a neighbour is its link; other endpoints have None, since tables lead to them. Switches
        that are no neighbours are left out.
        """
        neighbours = self.finder.neighbours(node)
        for name in targets:
            if name in neighbours:
                yield name, (node, name)
            elif not self.fabric.node(name).is_switch:
                yield name, None

    def _reaches(self, node: str, target: str) -> bool:
        """Return whether the node's tables lead a notice to a target; only a switch may lack a next hop."""
        if target == node:
            return False
        return not self.fabric.node(node).is_switch or next_hop(self, node, target) is not None


@computed_once
def _message_paths(scheme: Scheme, node: str) -> Mapping[str, Path]:
    return permitted_tree(scheme.finder, scheme.rules, node, MAX_INSTRUCTIONS, scheme.may_relay)
