# SPDX-License-Identifier: Apache-2.0
"""Types of structured lookup: prefixes or ternary matches, each with an array of next hops."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from controller.tables.segments.prefixes import Prefix

__all__ = [
    "EgressPort",
    "NextHop",
    "NextHops",
    "Segment",
    "TernarySegment",
    "equal_cost_group",
    "longest_match",
    "merge_halves",
]

# A neighbour by name, for any port that leads to the neighbour; or an egress port by number.
EgressPort = str | int
# A neighbour; a group of egress ports, of which a hash selects a member; or None for no entry.
NextHop = str | tuple[EgressPort, ...] | None
NextHops = tuple[NextHop, ...]


@final
@dataclass(frozen=True, slots=True)
class Segment:
    """Addresses with a prefix; `next_hops[(address >> shift) & mask]` is the next hop of an address.

    The node itself as a next hop stands for its host. None stands for no entry: the frame is dropped.
    """

    prefix: Prefix
    shift: int
    mask: int
    next_hops: NextHops

    def next_hop(self, address: int) -> NextHop:
        """Return the next hop of an address that begins with the segment's prefix."""
        return self.next_hops[address >> self.shift & self.mask]


@final
@dataclass(frozen=True, slots=True)
class TernarySegment:
    """Addresses equal to `value` in the bits of `ternary_mask`, with an array of next hops like a Segment.

    A segment without next hops matches the destinations on other rails, whose frames the switch drops.
    """

    value: int
    ternary_mask: int
    shift: int = 0
    mask: int = 0
    next_hops: NextHops = ()

    def contains(self, address: int) -> bool:
        """Return whether the address matches."""
        return (address ^ self.value) & self.ternary_mask == 0

    def next_hop(self, address: int) -> NextHop:
        """Return the next hop of an address that the segment matches."""
        return self.next_hops[address >> self.shift & self.mask] if self.next_hops else None


def longest_match(segments: Iterable[Segment], address: int, bits: int) -> Segment | None:
    """Return the segment whose prefix is the longest match of an address; None without a match."""
    matching = [segment for segment in segments if segment.prefix.contains(address, bits)]
    return max(matching, key=lambda segment: segment.prefix.length, default=None)


def merge_halves(segments: list[Segment], bits: int) -> list[Segment]:
    """Merge segments with equal arrays for both halves of a wider prefix; return all, sorted by prefix."""
    kept = {segment.prefix: segment for segment in segments}
    for length in range(bits, 1, -1):
        for prefix in sorted(segment for segment in kept if segment.length == length):
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


def equal_cost_group(neighbours: Sequence[str]) -> NextHop:
    """Return the next hop for equal neighbours: their group, the only neighbour, or None for no neighbour."""
    return tuple(neighbours) if len(neighbours) > 1 else neighbours[0] if neighbours else None
