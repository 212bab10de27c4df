# SPDX-License-Identifier: Apache-2.0
"""Values of structured lookup: which addresses an array is for, and the neighbours in it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from controller.tables.prefixes import Prefix

__all__ = ["Member", "Members", "Segment", "Stride", "Way", "joined", "longest"]

# A neighbour, or one of the ports that lead to it.
Way = str | int
# A neighbour, the ways of which one is taken, or nobody.
Member = str | tuple[Way, ...] | None
Members = tuple[Member, ...]


@final
@dataclass(frozen=True, slots=True)
class Segment:
    """Addresses with a prefix; `members[(address >> shift) & mask]` is the neighbour to go to.

    The node itself stands for its own side; None has no entry, and frames for it are dropped.
    """

    prefix: Prefix
    shift: int
    mask: int
    members: Members

    def member(self, address: int) -> Member:
        return self.members[address >> self.shift & self.mask]


@final
@dataclass(frozen=True, slots=True)
class Stride:
    """Addresses that have the bits `bits` in common with `value`, an array as of a Segment over the others.

    Without members it is for what may not come here: a foreign rail's.
    """

    value: int
    bits: int
    shift: int = 0
    mask: int = 0
    members: Members = ()

    def holds(self, address: int) -> bool:
        return (address ^ self.value) & self.bits == 0

    def member(self, address: int) -> Member:
        return self.members[address >> self.shift & self.mask] if self.members else None


def longest(segments: Iterable[Segment], address: int, bits: int) -> Segment | None:
    """The segment of the longest prefix that an address of so many bits has."""
    matching = [one for one in segments if one.prefix.holds(address, bits)]
    return max(matching, key=lambda one: one.prefix.length, default=None)


def joined(found: list[Segment], bits: int) -> list[Segment]:
    """Segments of which two halves have equal arrays, in place of these."""
    kept = {one.prefix: one for one in found}
    for length in range(bits, 1, -1):
        for prefix in sorted(one for one in kept if one.length == length):
            half = 1 << (bits - length)
            other = Prefix(prefix.value | half, length)
            if prefix.value & half or prefix not in kept or other not in kept:
                continue
            low, high = kept[prefix], kept[other]
            if (low.shift, low.mask, low.members) == (high.shift, high.mask, high.members):
                del kept[prefix], kept[other]
                wide = Prefix(prefix.value, length - 1)
                kept[wide] = Segment(wide, low.shift, low.mask, low.members)
    return [kept[prefix] for prefix in sorted(kept)]
