# SPDX-License-Identifier: Apache-2.0
"""Segments of addresses below a switch; next hops are neighbours with the fewest hops, or their groups."""

from collections.abc import Sequence

from controller.paths.finder import PathFinder
from controller.tables.segments.prefixes import (
    Prefix,
    descendants,
    field_ends,
    first_and_last,
    subprefixes,
)
from controller.tables.segments.segment import NextHop, Segment, equal_cost_group, merge_halves
from topologies import Fabric, Node
from topologies.model.computed_once import computed_for_any_circuits

__all__ = ["downward_segments"]

# Largest number of index bits of an array that covers several address fields.
_MAX_ARRAY_BITS = 8


def downward_segments(finder: PathFinder, here: Node, *, grouped: bool) -> list[Segment]:
    """Return segments of addresses below a switch; the next hop is a neighbour with the fewest hops.

    With `grouped`, the program has groups, and a next hop is the group of all such neighbours. Switches with
    the same lower neighbours share the result if failures leave them the same lower neighbours.
    """
    fabric = finder.fabric
    every = tuple(name for name in fabric.neighbours(here.name) if fabric.node(name).tier < here.tier)
    alive = finder.neighbours(here.name)
    lower = tuple(name for name in every if name in alive)
    known = _known_segments(fabric)
    if (grouped, every, lower) not in known:
        known[grouped, every, lower] = _search_downward(fabric, here, lower, grouped=grouped)
    return known[grouped, every, lower]


@computed_for_any_circuits
def _known_segments(_: Fabric) -> dict[tuple[bool, Sequence[str], Sequence[str]], list[Segment]]:
    """Return the cache of segments, by `grouped`, all lower neighbours and working lower neighbours."""
    return {}


def _search_downward(fabric: Fabric, here: Node, lower: Sequence[str], *, grouped: bool) -> list[Segment]:
    bits, ends = fabric.address_plan.bits, field_ends(fabric)
    reach = descendants(fabric)
    choices: dict[Prefix, tuple[int, list[str]]] = {}
    below: dict[Prefix, list[str]] = {}
    for neighbour in lower:
        for prefix in reach[neighbour].hops:
            below.setdefault(prefix, []).append(neighbour)
    lengths = sorted({prefix.length for prefix in below})
    position = {neighbour: number for number, neighbour in enumerate(lower)}

    def choice(part: Prefix) -> tuple[int, list[str]]:
        """Return the fewest hops of any neighbour to a segment, and the neighbours with these hops."""
        if part not in choices:
            outer = (_outer(part, length, bits) for length in lengths if length <= part.length)
            leading = {neighbour for prefix in outer for neighbour in below.get(prefix, ())}
            hops = {neighbour: reach[neighbour].hops_to_prefix(part, bits) for neighbour in leading}
            best = min((count for count in hops.values() if count is not None), default=bits)
            nearest = [neighbour for neighbour, count in hops.items() if count == best]
            choices[part] = best, sorted(nearest, key=position.__getitem__)
        return choices[part]

    def whole(part: Prefix) -> bool:
        """Return whether neighbours with the fewest hops lead to a whole segment.

        No other neighbour may have fewer hops to the first or to the last endpoint of the segment.
        """
        hops, nearest = choice(part)
        return bool(nearest) and all(choice(item)[0] == hops for item in first_and_last(fabric, part))

    def split(segment: Prefix) -> list[Segment]:
        for length in (end for end in ends if end >= segment.length):
            inner = subprefixes(fabric, segment, length)
            if length < bits and not all(whole(part) for part in inner):
                continue
            width = length - segment.length
            if width > _MAX_ARRAY_BITS:  # the array is too long: use an array for each field
                fields = subprefixes(fabric, segment, _next_field_end(ends, segment.length))
                return merge_halves([item for part in fields for item in split(part)], bits)
            shift = bits - length
            array: list[NextHop] = [None] * (1 << width)
            for part in inner:
                value = part.value >> shift
                nearest = choice(part)[1]
                array[value & ((1 << width) - 1)] = (
                    equal_cost_group(nearest)
                    if grouped
                    else nearest[value % len(nearest)]
                    if nearest
                    else None
                )
            return [Segment(segment, shift, (1 << width) - 1, tuple(array))]
        return []

    return [item for segment in sorted(reach[here.name].hops) for item in split(segment)]


def _outer(part: Prefix, length: int, bits: int) -> Prefix:
    """Return the first `length` bits of a prefix of at least `length` bits."""
    return Prefix(part.value >> (bits - length) << (bits - length), length)


def _next_field_end(ends: Sequence[int], length: int) -> int:
    return next(end for end in ends if end > length)
