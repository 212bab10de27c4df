# SPDX-License-Identifier: Apache-2.0
"""Make the table entries for mapping addresses to egress ports from the segments of a node.

segment, linear      structured addresses: a prefix, and its array of next hops
rail                 ternary matches in place of prefixes, for switches on a rail
multipath            groups of equal next hops
pxn_segment, pxn     GPUs that relay frames to another rail (PXN)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

from controller.paths.finder import PathFinder
from controller.plan.entry import Entry, Exact, Lpm, Ternary
from controller.tables.actions import (
    FOREIGN_RAIL,
    NO_PXN,
    SET_GROUP,
    SET_NEIGHBOUR,
    SET_PORT,
    SET_RAIL,
    SET_RANKS,
    SET_SEGMENT,
)
from controller.tables.groups import expand_parallel_links, group_entry, group_size
from controller.tables.segments.prefixes import Prefix
from controller.tables.segments.segment import EgressPort, NextHops, Segment, TernarySegment
from topologies import HOST_PORT

__all__ = ["ADDRESS_TABLES", "Lookups", "address_entries"]

ADDRESS_TABLES = ("segment", "linear", "rail", "multipath", "pxn_segment", "pxn")
"""Tables that `address_entries` fills."""


@final
@dataclass(frozen=True, slots=True)
class Lookups:
    """Segments of a node, in the order in which the node looks up the destination of a frame.

    `pxn`: looked up first; only endpoints have them.
    `rails`: looked up next, in order.
    `segments`: looked up last, by the longest prefix.
    `grouped`: whether the program has groups of equal next hops.
    `hash_shift`: first bit of the hash that selects a member of a group.
    """

    segments: Sequence[Segment]
    rails: Sequence[TernarySegment] = ()
    pxn: Sequence[Segment] = ()
    grouped: bool = False
    hash_shift: int = 0


def address_entries(finder: PathFinder, node: str, lookups: Lookups) -> tuple[Entry, ...]:
    """Return the entries of `ADDRESS_TABLES` of one node.

    Equal arrays of next hops are stored once, and so are equal groups.
    """
    matches: list[Entry] = []
    results: list[Entry] = []
    bases: dict[NextHops, int] = {}
    groups: dict[tuple[EgressPort, ...], int] = {}
    base = 0
    for number, segment in enumerate((*lookups.rails, *lookups.segments)):
        # An array takes an index for every value of the mask: no address, valid or not, reads another array.
        if segment.next_hops and segment.next_hops not in bases:
            bases[segment.next_hops] = base
            results += _array_entries(finder, node, base, segment.next_hops, lookups, groups)
            base += segment.mask + 1
        values = bases.get(segment.next_hops, 0), segment.shift, segment.mask
        if isinstance(segment, TernarySegment):
            key = (("dcna", Ternary(segment.value, segment.ternary_mask)),)
            rank = len(lookups.rails) - number
            if segment.next_hops:
                matches.append(SET_RAIL.entry(key, *values, priority=rank))
            else:
                matches.append(FOREIGN_RAIL.entry(key, priority=rank))
        else:
            matches.append(_segment_entry(segment.prefix, *values))
    results += [group_entry(finder, node, number, group) for group, number in groups.items()]
    return (*matches, *results, *_pxn_entries(finder, node, lookups.pxn))


def _array_entries(
    finder: PathFinder,
    node: str,
    base: int,
    array: NextHops,
    lookups: Lookups,
    groups: dict[tuple[EgressPort, ...], int],
) -> list[Entry]:
    """Return the entries of one array; add new groups to `groups`, numbered after the existing groups."""
    entries: list[Entry] = []
    for value, planned in enumerate(array):
        next_hop = expand_parallel_links(finder, node, planned) if lookups.grouped else planned
        if isinstance(next_hop, str):
            port = HOST_PORT if next_hop == node else finder.port_to(node, next_hop)
            entries.append(_port_entry(base + value, port))
        elif next_hop is not None:
            group = groups.setdefault(next_hop, len(groups))
            match = (("index", Exact(base + value)),)
            mask = group_size(len(next_hop)) - 1
            entries.append(SET_GROUP.entry(match, group, lookups.hash_shift, mask))
    return entries


@lru_cache(maxsize=1 << 16)
def _segment_entry(prefix: Prefix, base: int, shift: int, mask: int) -> Entry:
    """Return the entry of a prefix; equal entries of all nodes and of all plans are a single object."""
    match = (("dcna", Lpm(*prefix)),) if prefix.length else ()
    return SET_SEGMENT.entry(match, base, shift, mask)


@lru_cache(maxsize=1 << 16)
def _port_entry(index: int, port: int) -> Entry:
    """Return the entry that maps next-hop array index `index` to a port; equal entries are one object."""
    return SET_PORT.entry((("index", Exact(index)),), port)


def _pxn_entries(finder: PathFinder, node: str, segments: Sequence[Segment]) -> tuple[Entry, ...]:
    """Return the entries of the tables pxn_segment and pxn."""
    entries: list[Entry] = []
    for segment in segments:
        match = (("dcna", Lpm(*segment.prefix)),)
        if not any(segment.next_hops):
            entries.append(NO_PXN.entry(match))
            continue
        entries.append(SET_RANKS.entry(match, 0, segment.shift, segment.mask))
        entries += [
            SET_NEIGHBOUR.entry((("index", Exact(value)),), finder.port_to(node, neighbour))
            for value, neighbour in enumerate(segment.next_hops)
            if isinstance(neighbour, str)
        ]
    return tuple(entries)
