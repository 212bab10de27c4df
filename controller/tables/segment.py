# SPDX-License-Identifier: Apache-2.0
"""Values of structured lookup: which addresses an array is for, and the neighbours in it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from controller.tables.prefixes import Prefix
from topologies import Node

__all__ = [
    "EgressPort",
    "NextHop",
    "NextHops",
    "Segment",
    "TernarySegment",
    "has_table",
    "longest_match",
    "merge_halves",
]

# A neighbour, or one of the ports that lead to it.
EgressPort = str | int
# A neighbour, the ways of which one is taken, or nobody.
NextHop = str | tuple[EgressPort, ...] | None
NextHops = tuple[NextHop, ...]

# Tables that only some P4 programs have, by program.
_TABLES = {
    "rail_gpu": frozenset({"pxn"}),
    "rail_switch": frozenset({"rail", "multipath"}),
}


@final
@dataclass(frozen=True, slots=True)
class Segment:
    """Addresses with a prefix; `members[(address >> shift) & mask]` is the neighbour to go to.

    The node itself stands for its own side; None has no entry, and frames for it are dropped.
    """

    prefix: Prefix
    shift: int
    mask: int
    next_hops: NextHops

    def next_hop(self, address: int) -> NextHop:
        return self.next_hops[address >> self.shift & self.mask]


@final
@dataclass(frozen=True, slots=True)
class TernarySegment:
    """Addresses that have the bits `bits` in common with `value`, an array as of a Segment over the others.

    Without members it is for what may not come here: a foreign rail's.
    """

    value: int
    ternary_mask: int
    shift: int = 0
    mask: int = 0
    next_hops: NextHops = ()

    def contains(self, address: int) -> bool:
        return (address ^ self.value) & self.ternary_mask == 0

    def next_hop(self, address: int) -> NextHop:
        return self.next_hops[address >> self.shift & self.mask] if self.next_hops else None


def longest_match(segments: Iterable[Segment], address: int, bits: int) -> Segment | None:
    """The segment of the longest prefix that an address of so many bits has."""
    matching = [one for one in segments if one.prefix.contains(address, bits)]
    return max(matching, key=lambda one: one.prefix.length, default=None)


def merge_halves(found: list[Segment], bits: int) -> list[Segment]:
    """Segments of which two halves have equal arrays, in place of these."""
    kept = {one.prefix: one for one in found}
    for length in range(bits, 1, -1):
        for prefix in sorted(one for one in kept if one.length == length):
            half = 1 << (bits - length)
            other = Prefix(prefix.value | half, length)
            if prefix.value & half or prefix not in kept or other not in kept:
                continue
            low, high = kept[prefix], kept[other]
            if (low.shift, low.mask, low.next_hops) == (high.shift, high.mask, high.next_hops):
                del kept[prefix], kept[other]
                wide = Prefix(prefix.value, length - 1)
                kept[wide] = Segment(wide, low.shift, low.mask, low.next_hops)
    return [kept[prefix] for prefix in sorted(kept)]


def has_table(node: Node, table: str) -> bool:
    """Whether a node's program has a table beside those that all have."""
    return table in _TABLES.get(node.program, ())
