# SPDX-License-Identifier: Apache-2.0
"""Segments of the nodes of any graph: blocks of addresses with one next hop, and arrays of next hops.

The next hops belong to up*/down* routes to every endpoint (controller.paths.graph.next_hops). The addresses
are divided into aligned blocks. Each block takes an entry of the table `segment` and refers to the table
`linear`:

    one next hop       to a single entry, shared by all blocks with this next hop
    several next hops  to an array with an entry for each address

The partition with the fewest entries in both tables is chosen. If it has too many blocks, a partition with
fewer blocks and longer arrays is chosen.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from functools import cache

from controller.errors import PlanError
from controller.paths.finder import PathFinder
from controller.paths.graph.next_hops import next_hops
from controller.tables.segments.prefixes import Prefix
from controller.tables.segments.segment import Segment

__all__ = ["graph_segments"]

# Sizes of the tables segment and linear of the UB programs (p4/include/size.p4).
_SEGMENTS = 64
_LINEAR = 1024
# Largest number of blocks of a node: after a failure, new blocks are inserted before old blocks are deleted.
_BLOCKS = _SEGMENTS // 2
# Penalties of a block, in entries: tried in turn until the partition fits the tables.
_PENALTIES = (0, 1, 2, 4, 8, 16, 32, 64, 128, 1024)
# Value in place of an array's shift, for a block that is cut into two halves.
_CUT = 1 << 16
# Next hop of an address that no endpoint has: any next hop will do.
_ANY = ""
# Next hop of an endpoint to which the node has no route.
_NONE = "-"


def graph_segments(finder: PathFinder, node: str) -> tuple[Segment, ...]:
    """Return the address segments of a node; PlanError if they do not fit its tables."""
    fabric, here = finder.fabric, finder.fabric.node(node)
    bits = fabric.address_plan.bits
    hops: dict[int, str] = {here.address: node}
    for other in fabric.endpoints:
        if other.name != node:
            hops[other.address] = next_hops(finder, other.name).get(node, _NONE)
    width = max(hops).bit_length()
    sizes: list[str] = []
    for penalty in _PENALTIES:
        segments = _blocks(hops, bits, width, penalty)
        arrays = {segment.next_hops for segment in segments}
        linear = sum(hop is not None for array in arrays for hop in array)
        if len(segments) <= _BLOCKS and linear <= _LINEAR:
            return tuple(segments)
        sizes.append(f"{len(segments)} blocks and {linear} next hops")
    raise PlanError(
        f"{node}: routes to {len(hops)} addresses need {sizes[0]}, or with larger "
        f"blocks {sizes[-1]}; its tables hold {_BLOCKS} blocks and {_LINEAR} next hops",
        remedy=f"use up to {_LINEAR} endpoints, or list neighbouring endpoints one after the other, so that "
        "they share blocks",
    )


def _blocks(hops: Mapping[int, str], bits: int, width: int, penalty: int) -> list[Segment]:
    """Return the segments with the fewest entries in the table of blocks and the table linear together.

    Each segment counts as 1 + `penalty` entries. All blocks with the same single next hop share one entry of
    the table linear. That entry counts only if one block holds all endpoints with the next hop. With a
    penalty, an array may have a single entry for each group of aligned addresses. A group with several next
    hops then gets segments of its own, with longer prefixes.
    """
    addresses, ordered = Counter(hops.values()), sorted(hops)
    uniform: dict[tuple[int, int], str | None] = {}

    def next_hop(value: int, size: int) -> str | None:
        """Return the next hop of all endpoints of a block; _ANY without endpoints; None if they differ."""
        key = value, size
        if key not in uniform:
            if size == 0:
                uniform[key] = hops.get(value, _ANY)
            else:
                low, high = next_hop(value, size - 1), next_hop(value | 1 << size - 1, size - 1)
                uniform[key] = low if high in (low, _ANY) else high if low == _ANY else None
        return uniform[key]

    @cache
    def grouped(value: int, size: int, shift: int) -> int:
        """Return the table entries of a block if its array has one element for each 2 ** shift addresses."""
        if size == shift:
            single = next_hop(value, size)
            return cost(value, size)[0] if single is None else single not in (_ANY, _NONE)
        if next_hop(value, size) == _ANY:
            return 0
        return grouped(value, size - 1, shift) + grouped(value | 1 << size - 1, size - 1, shift)

    @cache
    def cost(value: int, size: int) -> tuple[int, int]:
        """Return a block's number of table entries, and its array's shift, or _CUT if the block is halved."""
        single = next_hop(value, size)
        if single in (_ANY, _NONE):
            return 0, 0
        inside = bisect_left(ordered, value + (1 << size)) - bisect_left(ordered, value)
        if single is not None:
            return 1 + penalty + (addresses[single] == inside), 0
        arrays = [(1 + penalty + inside, 0)]
        if penalty:
            arrays += [(1 + penalty + grouped(value, size, shift), shift) for shift in range(1, size)]
        parts = cost(value, size - 1)[0] + cost(value | 1 << size - 1, size - 1)[0]
        return min(*arrays, (parts, _CUT))

    def split(value: int, size: int) -> list[Segment]:
        single = next_hop(value, size)
        if single in (_ANY, _NONE):
            return []
        prefix = Prefix(value, bits - size)
        if single is not None:
            return [Segment(prefix, 0, 0, (single,))]
        shift = cost(value, size)[1]
        if shift == _CUT:
            return [*split(value, size - 1), *split(value | 1 << size - 1, size - 1)]
        groups = [value + (number << shift) for number in range(1 << size - shift)]
        array = [next_hop(group, shift) for group in groups]
        segment = Segment(
            prefix,
            shift,
            (1 << size - shift) - 1,
            tuple(hop if hop not in (_ANY, _NONE) else None for hop in array),
        )
        inner = [group for group, hop in zip(groups, array, strict=True) if hop is None]
        return [segment, *(item for group in inner for item in split(group, shift))]

    return split(0, width)
