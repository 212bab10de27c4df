# SPDX-License-Identifier: Apache-2.0
"""Effect of turn rules on a fabric: admitted paths, the VLs that they take, and whether they can deadlock.

UB-Mesh calls this TFC and publishes its outline only: model deadlock by the channel dependency graph, merge
turn rules and limits on virtual lanes, and map every path to VLs without a cycle. The rules are in
controller.deadlock.turn_rules; this module counts paths. The classes of paths are those in the paper's
figures of All-Path-Routing; their names and limits are ours.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import groupby, pairwise, permutations, product
from typing import final

import numpy as np

from controller.deadlock.channels import VLS, Channel, Hops
from controller.deadlock.dependency_graph import DependencyGraph, find_cycle, graph_of_pairs
from controller.deadlock.turn_rules import RuleSet
from controller.errors import PlanError
from topologies import Fabric, Node

__all__ = ["Analysis", "DimensionOrders", "PathClass", "admitted_orders", "analyse"]

# VL on which data enters. The other traffic class has equal paths, on VLs of its own.
_ENTRY_VL = 0


class PathClass(StrEnum):
    """Class of a path; every path between two endpoints is of exactly one class.

    DIRECT: one hop.
    ORDERED: several hops, each in another dimension.
    DETOUR: two or more hops in a row in one dimension.
    INTERLEAVED: the path leaves a dimension and returns to it later.
    SWITCHED: over switches of level 0 or 1, inside domains or next to endpoints (LRS, leaves of rails).
    TOP: over a switch of a higher level (HRS, spines, cores).
    """

    DIRECT = "direct"
    ORDERED = "dimension-ordered"
    DETOUR = "detour"
    INTERLEAVED = "interleaved"
    SWITCHED = "through switches"
    TOP = "through the top"


Counts = Mapping[tuple[PathClass, int], int]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """Paths of up to `max_hops` hops between endpoints of a fabric under turn rules.

    Attributes:
        rules: Name of the turn rules.
        max_hops: Largest number of hops of a path.
        simple: Number of all simple paths, by class and hops; empty if refused paths are not counted.
        admitted: Number of admitted paths, by class and hops.
        lanes: Number of admitted paths, by the VLs of their hops.
        graph: Dependency graph of the admitted paths.
        cycle: A cycle of the graph; empty if there is none.
    """

    rules: str
    max_hops: int
    simple: Counts
    admitted: Counts
    lanes: Mapping[tuple[int, ...], int]
    graph: DependencyGraph
    cycle: tuple[Channel, ...]

    @property
    def channels(self) -> int:
        """Number of channels in use."""
        return self.graph.channels

    @property
    def dependencies(self) -> int:
        """Number of dependencies between channels."""
        return self.graph.dependencies

    @property
    def vls(self) -> int:
        """Number of VLs: the highest VL of a path, plus 1."""
        return 1 + max((vl for lanes in self.lanes for vl in lanes), default=-1)

    def count_paths(self, hops: int, counts: Counts | None = None) -> int:
        """Return the number of paths with `hops` hops in `counts`, by default in `admitted`."""
        counted = self.admitted if counts is None else counts
        return sum(count for (_, length), count in counted.items() if length == hops)


def analyse(
    fabric: Fabric,
    rules: RuleSet,
    max_hops: int = 3,
    sources: Iterable[str] | None = None,
    *,
    refused: bool = True,
) -> Analysis:
    """Count the admitted paths of a fabric, and look for a cycle in their channel dependency graph.

    The paths are all simple paths of up to `max_hops` hops from the sources to all endpoints.

    Args:
        fabric: The fabric.
        rules: Turn rules that admit or refuse paths.
        max_hops: Largest number of hops of a path.
        sources: Names of the sources; by default all endpoints. The analysis of a path takes microseconds:
            give few sources if the fabric has millions of paths.
        refused: Whether paths that the rules refuse are followed and counted.

    Raises:
        PlanError: `max_hops` is less than 1.
    """
    if max_hops < 1:
        raise PlanError(f"paths cannot have up to {max_hops} hops", remedy="ask for 1 hop or more")
    walk = _PathCounter(fabric, rules, max_hops, refused)
    ends = (node.name for node in fabric.endpoints) if sources is None else sources
    for name in ends:
        walk.start(fabric.node(name).index)
    graph = walk.graph()
    return Analysis(
        rules.name,
        max_hops,
        _by_class(walk.simple) if refused else {},
        _by_class(walk.admitted),
        dict(sorted(walk.lanes.items())),
        graph,
        find_cycle(graph),
    )


# Values that decide the class of a path: the dimension of each hop (None: between tiers), and the greatest
# `_height` of its nodes.
_Shape = tuple[tuple[int | None, ...], int]


@final
class _PathCounter:
    """Depth-first search to follow and count the paths of a fabric."""

    def __init__(self, fabric: Fabric, rules: RuleSet, max_hops: int, refused: bool) -> None:
        self._hops = Hops(fabric, rules)
        self._max_hops = max_hops
        self._refused = refused
        self._end = [not node.is_switch for node in fabric.nodes]
        # By node, for each leaving hop: its number, neighbour, direction as an index in `Hops.directions`,
        # dimension, and the neighbour's height.
        self._leaving: list[list[tuple[int, int, int, int | None, int]]] = [[] for _ in fabric.nodes]
        for (source, neighbour), number in self._hops.number.items():
            to = fabric.node(neighbour)
            hop = (number, to.index, int(self._hops.ways[number]))
            dimension = fabric.link_between(source, neighbour).dimension
            self._leaving[fabric.node(source).index].append((*hop, dimension, _height(to)))
        self.simple: Counter[_Shape] = Counter()
        self.admitted: Counter[_Shape] = Counter()
        self.lanes: Counter[tuple[int, ...]] = Counter()
        self._pairs: set[int] = set()
        self._held: set[int] = set()

    def start(self, source: int) -> None:
        """Count the paths from one source."""
        self._extend(source, (source,), (), 0, (), 0, _ENTRY_VL)

    def _extend(
        self,
        node: int,
        path: tuple[int, ...],
        dimensions: tuple[int | None, ...],
        height: int,
        held: tuple[int, ...],
        way: int,
        vl: int,
    ) -> None:
        """Extend a path by each hop from its last node, and count the paths to endpoints.

        Args:
            node: Last node of the path.
            path: All nodes of the path.
            dimensions: Dimension of each hop; None: between tiers.
            height: Greatest height of the path's nodes.
            held: Channels of the hops before the first forbidden turn.
            way: Direction of the last hop, as an index in `Hops.directions`.
            vl: VL of the last hop; -1 after a forbidden turn.
        """
        turns, goes_on = self._hops.turns[way], len(path) < self._max_hops
        for number, neighbour, leaves, dimension, neighbour_height in self._leaving[node]:
            if neighbour in path:
                continue
            following = turns[vl][leaves] if vl >= 0 else -1
            if following < 0 and not self._refused:
                continue
            shape = (*dimensions, dimension), max(height, neighbour_height)
            channels = (*held, number * VLS + following) if following >= 0 else held
            if self._end[neighbour]:
                self.simple[shape] += 1
                if following >= 0:
                    self._admit(shape, channels)
            if goes_on:
                self._extend(neighbour, (*path, neighbour), *shape, channels, leaves, following)

    def _admit(self, shape: _Shape, channels: tuple[int, ...]) -> None:
        self.admitted[shape] += 1
        self.lanes[tuple([channel % VLS for channel in channels])] += 1
        self._held.update(channels)
        size = self._hops.channels
        for before, after in pairwise(channels):
            self._pairs.add(before * size + after)

    def graph(self) -> DependencyGraph:
        """Return the dependency graph of the admitted paths."""
        used = np.zeros(self._hops.channels, dtype=np.bool_)
        used[list(self._held)] = True
        return graph_of_pairs(self._hops, used, self._pairs)


def _height(node: Node) -> int:
    """Return a node's level; a switch inside a domain counts as level 1."""
    return max(node.level, node.is_switch)


def _by_class(counts: Mapping[_Shape, int]) -> Counts:
    by_class: Counter[tuple[PathClass, int]] = Counter()
    for (dimensions, height), count in counts.items():
        by_class[_class(dimensions, height), len(dimensions)] += count
    order = list(PathClass)
    return dict(sorted(by_class.items(), key=lambda item: (item[0][1], order.index(item[0][0]))))


def _class(dimensions: Sequence[int | None], height: int) -> PathClass:
    if height:
        return PathClass.TOP if height > 1 else PathClass.SWITCHED
    if len(dimensions) == 1:
        return PathClass.DIRECT
    if len(set(dimensions)) == len(dimensions):
        return PathClass.ORDERED
    runs = [dimension for dimension, _ in groupby(dimensions)]
    return PathClass.DETOUR if len(set(runs)) == len(runs) else PathClass.INTERLEAVED


@final
@dataclass(frozen=True, slots=True)
class DimensionOrders:
    """Orders of dimensions admitted for shortest paths between nodes that differ in every dimension.

    `share` is the admitted part of all (pair, order) combinations. `fewest` is the least number of admitted
    orders of a pair, out of `orders`.
    """

    share: Fraction
    fewest: int
    orders: int


def admitted_orders(fabric: Fabric, rules: RuleSet) -> DimensionOrders:
    """Count the admitted orders of dimensions in a full mesh; a mesh among switches is ignored.

    Admission depends only on the directions of hops, and in a full mesh as many pairs go up in a dimension as
    go down. Pairs of opposite corners at coordinates 0 and 1 therefore represent all pairs.
    """
    by_coordinates = {node.coordinates: node.name for node in fabric.nodes if node.kind.member}
    size = len(fabric.dims)
    admitted = []
    for source in product((0, 1), repeat=size):
        count = 0
        for order in permutations(range(size)):
            at: list[int] = list(source)
            path = [by_coordinates[source]]
            for dimension in order:
                at[dimension] = 1 - at[dimension]
                path.append(by_coordinates[tuple(at)])
            count += rules.vls_of(fabric, tuple(path)) is not None
        admitted.append(count)
    all_orders = len(list(permutations(range(size))))
    return DimensionOrders(Fraction(sum(admitted), all_orders * len(admitted)), min(admitted), all_orders)
