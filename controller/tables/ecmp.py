# SPDX-License-Identifier: Apache-2.0
"""Next hops of a switch that chooses by hash, for one destination at a time and without table entries.

After a failure every source of an ECMP fabric has to know what its switches do next, and each source may know
of other failed links. What differs from the tables without failures are the routes that neighbours have
withdrawn (controller.routing.detours), so only these are looked up anew; segments are shared by all who know
the same of the switch's own links.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import final

from controller.routing.detours import withdrawn_next_hop
from controller.routing.general.order import is_graph
from controller.routing.paths import PathFinder
from controller.tables.linear import highest_neighbours, planned_segments, rail_table
from controller.tables.multipath import expand_parallel_links, group_size, hash_shift
from controller.tables.segment import NextHop, Segment, has_table
from topologies import Fabric, Node

__all__ = ["EcmpGroup", "chooses_by_hash", "ecmp_group"]


@final
@dataclass(frozen=True, slots=True)
class EcmpGroup:
    """Neighbours of which the hash selects one; parallel links count once each. Empty: no route."""

    neighbours: tuple[str, ...]
    shift: int
    mask: int

    def select(self, flow_hash: int) -> str | None:
        """Return the neighbour that gets the frames of a hash; None without a route."""
        ways = self.neighbours
        if len(ways) < 2:
            return ways[0] if ways else None
        return ways[(flow_hash >> self.shift & self.mask) % len(ways)]


def chooses_by_hash(fabric: Fabric, node: str) -> bool:
    """Return whether `ecmp_group` knows a node: a switch with groups whose tables depend on links nearby."""
    return fabric.cached(("chooses by hash", node), lambda: _chooses_by_hash(fabric, fabric.node(node)))


def _chooses_by_hash(fabric: Fabric, node: Node) -> bool:
    return (
        node.level > 0
        and has_table(node, "multipath")
        and not fabric.optical
        and not is_graph(fabric)
        and not rail_table(PathFinder(fabric), node.name)
    )


def ecmp_group(finder: PathFinder, node: str, address: int) -> EcmpGroup:
    """Return the group to which the tables of a switch send the frames for an address."""
    tables: dict[str, _EcmpTable] = finder.cached("ecmp tables", dict)
    table = tables.get(node)
    if table is None:
        table = tables[node] = _table_of(finder, node)
    segment = table.segment(address)
    withdrawn = withdrawn_next_hop(finder, table.node, address, table.uplinks) if finder.failed else None
    if withdrawn is None or (segment is not None and segment.prefix.length > withdrawn[0]):
        return table.group(segment.next_hop(address) if segment else None)
    return table.group(withdrawn[1])


def _table_of(finder: PathFinder, node: str) -> "_EcmpTable":
    """Return the table of a switch, which all who know of the same failed links near it share."""
    fabric, failed = finder.fabric, finder.failed_near(node)
    own = partial(PathFinder, fabric, failed, finder.hashing, up_first=finder.up_first)
    key = "ecmp table", node, failed, finder.hashing, finder.up_first
    return fabric.cached(key, lambda: _EcmpTable(own(), node))


@final
class _EcmpTable:
    """Segments of a switch that hold while no neighbour has withdrawn a route."""

    def __init__(self, finder: PathFinder, node: str) -> None:
        self.node = finder.fabric.node(node)
        self.uplinks = highest_neighbours(finder, self.node)
        self._finder = finder
        self._bits = finder.fabric.address_plan.bits
        self._shift = hash_shift(finder.fabric, node, finder.hashing)
        by_length: dict[int, dict[int, Segment]] = {}
        for segment in planned_segments(finder, node):
            by_length.setdefault(self._bits - segment.prefix.length, {})[
                segment.prefix.value >> self._bits - segment.prefix.length
            ] = segment
        self._by_length: list[tuple[int, Mapping[int, Segment]]] = sorted(by_length.items())
        self._groups: dict[NextHop, EcmpGroup] = {}

    def segment(self, address: int) -> Segment | None:
        """Return the segment with the longest prefix of an address."""
        for rest, segments in self._by_length:
            if (segment := segments.get(address >> rest)) is not None:
                return segment
        return None

    def group(self, next_hop: NextHop) -> EcmpGroup:
        """Return the group of a next hop."""
        group = self._groups.get(next_hop)
        if group is None:
            group = self._groups[next_hop] = self._group_of(next_hop)
        return group

    def _group_of(self, next_hop: NextHop) -> EcmpGroup:
        fabric, node = self._finder.fabric, self.node.name
        if next_hop is None or next_hop == node:
            return EcmpGroup((), 0, 0)
        planned = expand_parallel_links(self._finder, node, next_hop)
        if not isinstance(planned, tuple):
            return EcmpGroup((next_hop,) if isinstance(next_hop, str) else (), 0, 0)
        ends: list[str] = []
        for way in planned:
            if isinstance(way, str):
                ends.append(way)
            elif (end := fabric.peer(node, way)) is not None:
                ends.append(end.node)
        return EcmpGroup(tuple(ends), self._shift, group_size(len(planned)) - 1)
