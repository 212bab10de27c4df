# SPDX-License-Identifier: Apache-2.0
"""Next hops of an ECMP switch for one destination at a time, computed without table entries.

After a failure, every source of an ECMP fabric computes the next hops of the switches on its paths. Sources
may know of different failed links. Sources that know of the same failed links near a switch share one table
of next hops (segments of the address space) for the switch. Only withdrawn routes
(controller.tables.segments.withdrawn) are looked up for each source.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from controller.paths.finder import PathFinder
from controller.tables.address_entries import Lookups
from controller.tables.groups import expand_parallel_links, group_size
from controller.tables.segments.segment import NextHop, Segment
from controller.tables.segments.upward import highest_neighbours
from controller.tables.segments.withdrawn import withdrawn_next_hop

__all__ = ["EcmpGroup", "EcmpTable"]


@final
@dataclass(frozen=True, slots=True)
class EcmpGroup:
    """Neighbours in an ECMP group of a switch; empty if the switch has no route.

    A neighbour behind parallel links is listed once for each link. Of n elements, a frame takes element
    `(hash >> shift & mask) % n`.
    """

    neighbours: tuple[str, ...]
    shift: int
    mask: int

    def select(self, flow_hash: int) -> str | None:
        """Return the neighbour for a frame with this hash; None if there is no route."""
        members = self.neighbours
        if len(members) < 2:
            return members[0] if members else None
        return members[(flow_hash >> self.shift & self.mask) % len(members)]


@final
class EcmpTable:
    """Groups of one switch by destination address, computed from the segments of the switch.

    The segments contain no withdrawn routes; `group_of` looks withdrawn routes up in addition.

    Args:
        finder: Path finder of the fabric; it needs to know only the failed links near the switch.
        node: Name of the switch.
        lookups: Segments of the switch, and the first hash bit used by the switch.
    """

    def __init__(self, finder: PathFinder, node: str, lookups: Lookups) -> None:
        self.node = finder.fabric.node(node)
        self.uplinks = highest_neighbours(finder, self.node)
        self._finder = finder
        self._bits = finder.fabric.address_plan.bits
        self._shift = lookups.hash_shift
        by_length: dict[int, dict[int, Segment]] = {}
        for segment in lookups.segments:
            by_length.setdefault(self._bits - segment.prefix.length, {})[
                segment.prefix.value >> self._bits - segment.prefix.length
            ] = segment
        self._by_length: list[tuple[int, Mapping[int, Segment]]] = sorted(by_length.items())
        self._groups: dict[NextHop, EcmpGroup] = {}

    def group_of(self, finder: PathFinder, address: int) -> EcmpGroup:
        """Return the group of a destination address, given the failed links that `finder` knows.

        If some neighbours have withdrawn a route to the address, the group leaves these neighbours out,
        unless a segment has a longer prefix than the route.
        """
        segment = self._segment(address)
        withdrawn = withdrawn_next_hop(finder, self.node, address, self.uplinks) if finder.failed else None
        if withdrawn is None or (segment is not None and segment.prefix.length > withdrawn[0]):
            return self._group(segment.next_hop(address) if segment else None)
        return self._group(withdrawn[1])

    def _segment(self, address: int) -> Segment | None:
        """Return the segment with the longest prefix that matches an address, or None."""
        for rest, segments in self._by_length:
            if (segment := segments.get(address >> rest)) is not None:
                return segment
        return None

    def _group(self, next_hop: NextHop) -> EcmpGroup:
        """Return the cached group of a next hop."""
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
        for member in planned:
            if isinstance(member, str):
                ends.append(member)
            elif (end := fabric.peer(node, member)) is not None:
                ends.append(end.node)
        return EcmpGroup(tuple(ends), self._shift, group_size(len(planned)) - 1)
