# SPDX-License-Identifier: Apache-2.0
"""Structured addresses with linear lookup: entries a segment, not a destination (UB-Mesh, All-Path-Routing).

A segment is an address prefix; what follows the prefix indexes an array of ports. The longest prefix that a
destination shares with a node's segments decides:

    in a mesh    the highest dimension in which the two differ, one array of ports a dimension
    in a switch  what is below it: down by the shortest way; else the mesh of its tier; else up
    up           the default: the low bits of the destination spread over the ways up
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from controller.cover import Prefix, below, beyond, classes, extremes, field_ends, parts
from controller.paths import PathFinder
from controller.plan import Entry, Exact, Lpm, Path
from controller.source_route import MAX_HOPS
from topologies import HOST_PORT, Fabric, Node

__all__ = ["Segment", "linear_entries", "next_hop", "segments", "table_path"]

# Members of an array that a switch keeps for segments of several fields.
_MAX_ARRAY_BITS = 8

_Array = tuple[str | None, ...]


@final
@dataclass(frozen=True, slots=True)
class Segment:
    """Addresses with a prefix; `members[(address >> shift) & mask]` is the neighbour to go to.

    The node itself stands for its own side; None has no entry, and frames for it are dropped.
    """

    prefix: Prefix
    shift: int
    mask: int
    members: _Array


def segments(finder: PathFinder, node: str) -> tuple[Segment, ...]:
    """The segments of one node, those of a mesh first."""
    here = finder.fabric.node(node)
    if not here.tier:
        found = _mesh(finder, here, (here.address,))
        if not any(found_one.prefix.length >= _last_field(finder.fabric) for found_one in found):
            found.append(_itself(finder.fabric, here))
        return (*found, *_up(finder, here, [one.prefix for one in found]))
    bits = finder.fabric.address_plan.bits
    first = field_ends(finder.fabric)[0]
    own = here.address & ((1 << (bits - first)) - 1)
    places = [number << (bits - first) | own for number in classes(finder.fabric)]
    return (
        _itself(finder.fabric, here),
        *_down(finder, here),
        *_mesh(finder, here, places),
        *_up(finder, here),
    )


def linear_entries(finder: PathFinder, node: str) -> tuple[Entry, ...]:
    """Entries of the tables segment and linear of one node; equal arrays are kept once."""
    tables: list[Entry] = []
    members: list[Entry] = []
    bases: dict[_Array, int] = {}
    base = 0
    for segment in segments(finder, node):
        # An array has room for all that the mask can give: no address, valid or not, indexes another one.
        if segment.members not in bases:
            bases[segment.members] = base
            members += _members(finder.fabric, node, base, segment.members)
            base += segment.mask + 1
        action = (("base", bases[segment.members]), ("shift", segment.shift), ("mask", segment.mask))
        match = (("dcna", Lpm(*segment.prefix)),) if segment.prefix.length else ()
        tables.append(Entry("segment", match, "set_segment", action))
    return (*tables, *members)


def _members(fabric: Fabric, node: str, base: int, array: _Array) -> list[Entry]:
    entries: list[Entry] = []
    for value, far in enumerate(array):
        if far is not None:
            port = HOST_PORT if far == node else fabric.port_to(node, far)
            match = ("index", Exact(base + value))
            entries.append(Entry("linear", (match,), "set_port", (("port", port),)))
    return entries


def next_hop(finder: PathFinder, node: str, destination: str) -> str | None:
    """The neighbour to which the tables of a node send a frame; None at the destination or without entry."""
    if node == destination:
        return None
    there = finder.fabric.node(destination).address
    bits = finder.fabric.address_plan.bits
    matching = [one for one in finder.tables(node, segments) if one.prefix.holds(there, bits)]
    if not matching:
        return None
    longest = max(matching, key=lambda one: one.prefix.length)
    far = longest.members[there >> longest.shift & longest.mask]
    return None if far == node else far


def table_path(finder: PathFinder, source: str, destination: str) -> Path:
    """The path a frame without a source route takes; it ends early where a node has no entry for it."""
    path = [source]
    while len(path) <= MAX_HOPS:
        far = next_hop(finder, path[-1], destination)
        if far is None:
            break
        path.append(far)
    return tuple(path)


def _last_field(fabric: Fabric) -> int:
    return field_ends(fabric)[-2]


def _itself(fabric: Fabric, here: Node) -> Segment:
    return Segment(Prefix(here.address, fabric.address_plan.bits), 0, 0, (here.name,))


def _mesh(finder: PathFinder, here: Node, places: Sequence[int]) -> list[Segment]:
    """An array of ports a dimension in which the node has links, for each of the addresses `places`.

    A node's own value leads to its own side. Above the first dimension no frame asks for it: a destination
    that shares it also shares a longer prefix.
    """
    fabric = finder.fabric
    plan = fabric.address_plan
    found: list[Segment] = []
    lines = _lines(fabric, here.name)
    higher = () if here.tier else _higher(finder, here)
    for axis in range(len(fabric.dims)):
        if not (line := lines.get(axis)):
            continue
        name = plan.fields[-1 - axis].name
        own = here.coordinates[axis]
        array: list[str | None] = [None] * (plan.mask(name) + 1)
        home = line
        if not here.tier:
            home = {value: far for value, far in line.items() if _at_home(fabric, here, far, name, value)}
            if not home:  # all have moved away, or it has itself
                continue
        for value in line:
            array[value] = _towards(finder, here, axis, home, value) if value in home else None
            if array[value] is None and higher:  # a hole in the line
                array[value] = higher[value % len(higher)]
        array[own] = here.name
        if here.tier:  # who shares all fields with a switch is below it, or cannot be reached this way
            array[own] = None
        for place in places:
            prefix = Prefix(*plan.prefix(name, place))
            found.append(Segment(prefix, plan.shift(name), plan.mask(name), tuple(array)))
    return found


def _lines(fabric: Fabric, node: str) -> dict[int, dict[int, str]]:
    """Neighbours of a node along each dimension, by their coordinate."""
    found: dict[int, dict[int, str]] = {}
    for far in fabric.neighbours(node):
        axis = fabric.link_between(node, far).dimension
        if axis is not None:
            found.setdefault(axis, {})[fabric.node(far).coordinates[axis]] = far
    return found


def _at_home(fabric: Fabric, here: Node, far: str, field: str, value: int) -> bool:
    """Whether a member of a line has the address of its place, as seen from a member that does."""
    plan = fabric.address_plan
    shift, mask = plan.shift(field), plan.mask(field)
    return fabric.node(far).address == (here.address & ~(mask << shift)) | value << shift


def _away(fabric: Fabric) -> tuple[int, ...]:
    """Addresses from a mesh whose holders are in none: spares that have taken the place of its members."""

    def find() -> tuple[int, ...]:
        bits, first = fabric.address_plan.bits, field_ends(fabric)[0]
        ends = [node for node in fabric.nodes if not node.tier]
        meshed = {node.name for node in ends if any(port.dimension is not None for port in node.ports)}
        home = {node.address >> (bits - first) for node in ends if node.name in meshed}
        return tuple(
            node.address
            for node in ends
            if node.name not in meshed and node.address >> (bits - first) in home
        )

    return fabric.once("away", find)


def _towards(finder: PathFinder, here: Node, axis: int, line: dict[int, str], value: int) -> str | None:
    """The neighbour on the way to the member of the line along `axis` whose coordinate is `value`."""
    target = line[value]
    if finder.joined(here.name, target):
        return target
    own = here.coordinates[axis]
    # A way without a valley first (a middle node above either end): it costs no VL.
    middles = sorted(line, key=lambda middle: (middle < min(own, value), middle))
    for middle in middles:
        if finder.joined(here.name, line[middle]) and finder.joined(line[middle], target):
            return line[middle]
    return None


def _down(finder: PathFinder, here: Node) -> list[Segment]:
    """What is below a switch: each segment goes to the neighbour from which the way down is shortest."""
    fabric = finder.fabric
    bits, ends = fabric.address_plan.bits, field_ends(fabric)
    lower = [far for far in finder.neighbours(here.name) if fabric.node(far).tier < here.tier]
    reach = below(fabric)
    choices: dict[Prefix, tuple[int, list[str]]] = {}

    def choice(part: Prefix) -> tuple[int, list[str]]:
        """Fewest hops and the neighbours that have them."""
        if part not in choices:
            hops = {far: reach[far].hops_to_all(part, bits) for far in lower}
            known = [count for count in hops.values() if count is not None]
            best = min(known, default=bits)
            choices[part] = best, [far for far, count in hops.items() if count == best]
        return choices[part]

    def whole(part: Prefix) -> bool:
        """Whether one neighbour leads to all of a segment, and none to an end of it in fewer hops."""
        hops, nearest = choice(part)
        return bool(nearest) and all(choice(one)[0] == hops for one in extremes(fabric, part))

    def split(segment: Prefix) -> list[Segment]:
        for length in (end for end in ends if end >= segment.length):
            inner = parts(fabric, segment, length)
            if length < bits and not all(whole(part) for part in inner):
                continue
            width = length - segment.length
            if width > _MAX_ARRAY_BITS:  # too long an array: one a field
                fields = parts(fabric, segment, _next(ends, segment.length))
                return [one for part in fields for one in split(part)]
            shift = bits - length
            array: list[str | None] = [None] * (1 << width)
            for part in inner:
                value = part.value >> shift
                nearest = choice(part)[1]
                array[value & ((1 << width) - 1)] = nearest[value % len(nearest)] if nearest else None
            return [Segment(segment, shift, (1 << width) - 1, tuple(array))]
        return []

    return [one for segment in sorted(reach[here.name].hops) for one in split(segment)]


def _next(ends: Sequence[int], length: int) -> int:
    return next(end for end in ends if end > length)


def _higher(finder: PathFinder, here: Node) -> list[str]:
    """Neighbours of the highest tier, if it is above the node's own."""
    tiers = {far: finder.fabric.node(far).tier for far in finder.neighbours(here.name)}
    top = max(tiers.values(), default=0)
    return [far for far, tier in tiers.items() if tier == top > here.tier]


def _up(finder: PathFinder, here: Node, meshed: Sequence[Prefix] = ()) -> list[Segment]:
    """The default, to the highest tier; and what is nearer by way of a lower one.

    What is `meshed` goes by the node's own mesh, except for addresses whose holders have left it.
    """
    fabric = finder.fabric
    higher = [far for far in finder.neighbours(here.name) if fabric.node(far).tier > here.tier]
    ways = _higher(finder, here)
    if not ways:
        return []
    bits, reach, over = fabric.address_plan.bits, below(fabric), beyond(fabric)
    nearer: dict[Prefix, list[str]] = {}
    for far in higher:
        for prefix, hops in over[far].hops.items():
            found = [over[way].hops_to_all(prefix, bits) for way in ways]
            by_default = [count for count in found if count is not None]
            # Some of the ways up may lead nowhere near it, or all of them by a longer way.
            better = len(by_default) < len(ways) or (far not in ways and hops < min(by_default))
            if better and reach[here.name].hops_to_all(prefix, bits) is None:
                nearer.setdefault(prefix, []).append(far)
    away = {Prefix(address, bits) for address in _away(fabric) if address != here.address}
    inside = [one for one in (*nearer, *away) if any(_within(one, mesh, bits) for mesh in meshed)]
    for prefix in inside:
        if prefix in away:
            nearer.setdefault(prefix, ways)
        else:
            del nearer[prefix]
    spread = [_spread(bits, prefix, fars) for prefix, fars in sorted(nearer.items())]
    return [*spread, _spread(bits, Prefix(0, 0), ways)]


def _within(part: Prefix, whole: Prefix, bits: int) -> bool:
    return part.length >= whole.length and whole.holds(part.value, bits)


def _spread(bits: int, prefix: Prefix, ways: Sequence[str]) -> Segment:
    """An array over the low bits that deals members over several ways."""
    width = min((len(ways) - 1).bit_length(), bits - prefix.length)
    return Segment(prefix, 0, (1 << width) - 1, tuple(ways[value % len(ways)] for value in range(1 << width)))
