# SPDX-License-Identifier: Apache-2.0
"""Structured addresses with linear lookup: entries a segment, not a destination (UB-Mesh, All-Path-Routing).

A segment is an address prefix; the bits after the prefix index an array of next hops. The longest prefix that
a destination shares with a node's segments decides:

    in a mesh    the highest dimension in which the two addresses differ; one array a dimension. Where turn
                 rules allow too few valleys for that, dimensions in which the address grows come first
    in a switch  destinations below it: the shortest way down, or the group of equal ways; else the mesh of
                 its tier; else upwards
    upwards      the default: the low bits of the destination spread over the uplinks

Some programs look up other tables first: the relay to another rail (controller.tables.pxn), and destinations
of the switch's own rail (controller.tables.rails). Uplinks form a group where the program has groups
(controller.tables.multipath), and so do parallel links. A core of circuits has segments of its own
(controller.routing.circuit_paths), and so has a graph (controller.tables.graph).
controller.tables.node_entries makes the entries of the segments.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from controller.errors import PlanError
from controller.routing.circuit_paths import leaf_segments, spine_segments
from controller.routing.detours import relay_in_line, withdrawn_segments
from controller.routing.general.order import is_graph
from controller.routing.paths import PathFinder, ocs_dimensions
from controller.tables.graph import graph_segments
from controller.tables.prefixes import (
    Prefix,
    address_classes,
    descendants,
    field_ends,
    first_and_last,
    reachable_prefixes,
    subprefixes,
)
from controller.tables.pxn import pxn_segments, relay_segments
from controller.tables.rails import rail_table_segments
from controller.tables.segment import (
    NextHop,
    NextHops,
    Segment,
    TernarySegment,
    has_table,
    merge_halves,
)
from topologies import Fabric, Node

__all__ = ["highest_neighbours", "planned_segments", "pxn_table", "rail_table", "segments"]

# Largest number of index bits of an array that covers several address fields.
_MAX_ARRAY_BITS = 8

# Segments of a mesh that the table segment holds beside a default and the node itself.
_MAX_MESH_SEGMENTS = 60


def segments(finder: PathFinder, node: str) -> tuple[Segment, ...]:
    """Return the segments of one node, those of its mesh first, and routes that neighbours have withdrawn."""
    here = finder.fabric.node(node)
    planned = planned_segments(finder, node)
    if not here.tier or is_graph(finder.fabric) or finder.cached_for(node, rail_table):
        return planned
    removed = withdrawn_segments(finder, here, highest_neighbours(finder, here))
    if not removed:
        return planned
    prefixes = {item.prefix for item in removed}
    below = {item.prefix for item in _downward_segments(finder, here)} & prefixes
    local, *others = planned
    return (local, *removed, *(item for item in others if item.prefix not in below))


def planned_segments(finder: PathFinder, node: str) -> tuple[Segment, ...]:
    """Return the segments of one node without the routes that neighbours have withdrawn."""
    here = finder.fabric.node(node)
    if is_graph(finder.fabric):
        return graph_segments(finder, node)
    if not here.tier:
        result = _mesh_segments(finder, here, (here.address,))
        if not any(found_one.prefix.length >= _last_field(finder.fabric) for found_one in result):
            result.append(_local_prefix(finder.fabric, here))
        return (*result, *_upward_segments(finder, here, [item.prefix for item in result]))
    bits = finder.fabric.address_plan.bits
    first = field_ends(finder.fabric)[0]
    own = here.address & ((1 << (bits - first)) - 1)
    places = [number << (bits - first) | own for number in address_classes(finder.fabric)]
    return (
        _local_prefix(finder.fabric, here),
        *(() if finder.cached_for(node, rail_table) else _downward_segments(finder, here)),
        *relay_segments(finder, here),
        *(
            spine_segments(finder, here)
            if node in ocs_dimensions(finder.fabric)
            else _mesh_segments(finder, here, places)
        ),
        *(leaf_segments(finder, here, up) if (up := _ecmp_group(highest_neighbours(finder, here))) else ()),
        *_upward_segments(finder, here),
    )


def rail_table(finder: PathFinder, node: str) -> tuple[TernarySegment, ...]:
    """Return what a switch on a rail looks up before its segments, instead of segments downwards."""
    here = finder.fabric.node(node)
    return rail_table_segments(finder, here, highest_neighbours(finder, here)) if here.tier else ()


def pxn_table(finder: PathFinder, node: str) -> tuple[Segment, ...]:
    """Return the segments that an endpoint looks up before its own segments."""
    here = finder.fabric.node(node)
    if here.tier or is_graph(finder.fabric) or not has_table(here, "pxn"):
        return ()
    return pxn_segments(finder, here, finder.cached_for(node, segments))


def _last_field(fabric: Fabric) -> int:
    return field_ends(fabric)[-2]


def _local_prefix(fabric: Fabric, here: Node) -> Segment:
    return Segment(Prefix(here.address, fabric.address_plan.bits), 0, 0, (here.name,))


def _mesh_segments(finder: PathFinder, here: Node, places: Sequence[int]) -> list[Segment]:
    """Return an array of next hops for each dimension in which a node has links, for the addresses `places`.

    A node's own value leads to its host. Above the first dimension no frame looks it up: a destination
    that shares it also shares a longer prefix.
    """
    fabric = finder.fabric
    plan = fabric.address_plan
    result: list[Segment] = []
    lines = _neighbours_by_dimension(fabric, here.name)
    arrays: list[_MeshArray] = []
    higher = () if here.tier else highest_neighbours(finder, here)
    for axis in range(len(fabric.dims)):
        if not (line := lines.get(axis)):
            continue
        name = plan.fields[-1 - axis].name
        own = here.coordinates[axis]
        array: list[NextHop] = [None] * (plan.mask(name) + 1)
        home = line
        if not here.tier:
            own = here.address >> plan.shift(name) & plan.mask(name)
            home = _line_by_address(fabric, here, line.values(), name)
            if not home:  # all have moved away, or it has itself
                continue
        for value in {**line, **home}:
            array[value] = relay_in_line(finder, here, axis, home, value) if value in home else None
            if array[value] is None and higher:  # a hole in the line
                array[value] = higher[value % len(higher)]
        array[own] = here.name
        if here.tier:  # who shares all fields with a switch is below it, or cannot be reached this way
            array[own] = None
        above = frozenset(
            value
            for value, member in home.items()
            if fabric.node(member).coordinates[axis] > here.coordinates[axis]
        )
        arrays.append(_MeshArray(plan.fields[-1 - axis].name, own, tuple(array), above))
    for place in places:
        if finder.up_first and len(arrays) > 1:
            result += _up_first_segments(fabric, arrays, len(arrays) - 1, place)
            continue
        for mesh in arrays:
            prefix = Prefix(*plan.prefix(mesh.field, place))
            result.append(Segment(prefix, plan.shift(mesh.field), plan.mask(mesh.field), mesh.next_hops))
    if len(result) > _MAX_MESH_SEGMENTS:
        raise PlanError(
            f"{here.name}: {len(result)} segments send up hops first, and a table has {_MAX_MESH_SEGMENTS}",
            remedy="use rules T2-G",
        )
    return result


class _MeshArray(NamedTuple):
    """Next hops along one dimension by address value; `above` are the values of members up from `own`."""

    field: str
    own: int
    next_hops: NextHops
    above: frozenset[int]


def _up_first_segments(
    fabric: Fabric, arrays: Sequence[_MeshArray], axis: int, place: int, down: NextHop = None
) -> list[Segment]:
    """Return segments of a mesh that send a frame up, in the highest dimension possible, before any down hop.

    `place` is an address whose fields above `axis` the destinations share; `down` is the next hop of the
    highest dimension in which these lie below the node. The lowest dimension comes first.
    """
    plan, mesh = fabric.address_plan, arrays[axis]
    array = list(mesh.next_hops)
    shift, mask = plan.shift(mesh.field), plan.mask(mesh.field)
    below: list[Segment] = []
    for value, next_hop in enumerate(mesh.next_hops):
        if value in mesh.above:
            continue
        way = down if value == mesh.own or down is not None else next_hop
        if axis and (value == mesh.own or way is not None):
            inner = place & ~(mask << shift) | value << shift
            below += _up_first_segments(fabric, arrays, axis - 1, inner, way)
        elif way is not None:
            array[value] = way
    prefix = Prefix(*plan.prefix(mesh.field, place))
    return [*below, Segment(prefix, shift, mask, tuple(array))]


def _neighbours_by_dimension(fabric: Fabric, node: str) -> dict[int, dict[int, str]]:
    """Return the neighbours of a node along each dimension, by coordinate."""
    result: dict[int, dict[int, str]] = {}
    for neighbour in fabric.neighbours(node):
        axis = fabric.link_between(node, neighbour).dimension
        if axis is not None:
            result.setdefault(axis, {})[fabric.node(neighbour).coordinates[axis]] = neighbour
    return result


def _line_by_address(fabric: Fabric, here: Node, fars: Iterable[str], field: str) -> dict[int, str]:
    """Return the members of a line by the value of its address field, as seen from a member.

    Members may have exchanged addresses. A node with an address outside the line is no member any more.
    """
    plan = fabric.address_plan
    shift, mask = plan.shift(field), plan.mask(field)
    addresses = {neighbour: fabric.node(neighbour).address for neighbour in fars}
    return {
        address >> shift & mask: neighbour
        for neighbour, address in addresses.items()
        if not (address ^ here.address) & ~(mask << shift)
    }


def _displaced_prefixes(fabric: Fabric) -> tuple[int, ...]:
    """Return mesh addresses whose holders are in no mesh: spares that have replaced mesh members."""

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

    return fabric.cached("away", find)


def _downward_segments(finder: PathFinder, here: Node) -> list[Segment]:
    """Return the segments below a switch; each leads to the neighbour with the shortest way down.

    Switches with the same neighbours below share the result, also after they have lost the same.
    """
    fabric = finder.fabric
    every = tuple(name for name in fabric.neighbours(here.name) if fabric.node(name).tier < here.tier)
    alive = finder.neighbours(here.name)
    lower = tuple(name for name in every if name in alive)
    key = "down", has_table(here, "multipath"), every, lower
    return fabric.cached(key, lambda: _search_downward(finder, here, lower))


def _search_downward(finder: PathFinder, here: Node, lower: Sequence[str]) -> list[Segment]:
    fabric = finder.fabric
    bits, ends = fabric.address_plan.bits, field_ends(fabric)
    reach = descendants(fabric)
    grouped = has_table(here, "multipath")
    choices: dict[Prefix, tuple[int, list[str]]] = {}
    below: dict[Prefix, list[str]] = {}
    for neighbour in lower:
        for prefix in reach[neighbour].hops:
            below.setdefault(prefix, []).append(neighbour)
    lengths = sorted({prefix.length for prefix in below})
    position = {neighbour: number for number, neighbour in enumerate(lower)}

    def choice(part: Prefix) -> tuple[int, list[str]]:
        """Return the fewest hops to a segment, and the neighbours that have them."""
        if part not in choices:
            outer = (_outer(part, length, bits) for length in lengths if length <= part.length)
            leading = {neighbour for prefix in outer for neighbour in below.get(prefix, ())}
            hops = {neighbour: reach[neighbour].hops_to_prefix(part, bits) for neighbour in leading}
            best = min((count for count in hops.values() if count is not None), default=bits)
            nearest = [neighbour for neighbour, count in hops.items() if count == best]
            choices[part] = best, sorted(nearest, key=position.__getitem__)
        return choices[part]

    def whole(part: Prefix) -> bool:
        """Return whether a neighbour leads to a whole segment, and no neighbour is nearer to its ends."""
        hops, nearest = choice(part)
        return bool(nearest) and all(choice(item)[0] == hops for item in first_and_last(fabric, part))

    def split(segment: Prefix) -> list[Segment]:
        for length in (end for end in ends if end >= segment.length):
            inner = subprefixes(fabric, segment, length)
            if length < bits and not all(whole(part) for part in inner):
                continue
            width = length - segment.length
            if width > _MAX_ARRAY_BITS:  # too long an array: one a field
                fields = subprefixes(fabric, segment, _next_field_end(ends, segment.length))
                return merge_halves([item for part in fields for item in split(part)], bits)
            shift = bits - length
            array: list[NextHop] = [None] * (1 << width)
            for part in inner:
                value = part.value >> shift
                nearest = choice(part)[1]
                array[value & ((1 << width) - 1)] = (
                    _ecmp_group(nearest) if grouped else nearest[value % len(nearest)] if nearest else None
                )
            return [Segment(segment, shift, (1 << width) - 1, tuple(array))]
        return []

    return [item for segment in sorted(reach[here.name].hops) for item in split(segment)]


def _outer(part: Prefix, length: int, bits: int) -> Prefix:
    """Return the first `length` bits of a prefix that is no shorter."""
    return Prefix(part.value >> (bits - length) << (bits - length), length)


def _next_field_end(ends: Sequence[int], length: int) -> int:
    return next(end for end in ends if end > length)


def highest_neighbours(finder: PathFinder, here: Node) -> list[str]:
    """Return the neighbours of the highest tier, if it is above the node's own tier."""
    tiers = {neighbour: finder.fabric.node(neighbour).tier for neighbour in finder.neighbours(here.name)}
    top = max(tiers.values(), default=0)
    return [neighbour for neighbour, tier in tiers.items() if tier == top > here.tier]


def _upward_segments(finder: PathFinder, here: Node, meshed: Sequence[Prefix] = ()) -> list[Segment]:
    """Return the default segment, to the highest tier, and segments nearer by a lower tier.

    Prefixes in `meshed` use the node's own mesh, except for addresses whose holders have left the mesh.
    """
    fabric = finder.fabric
    higher = [
        neighbour for neighbour in finder.neighbours(here.name) if fabric.node(neighbour).tier > here.tier
    ]
    ways = highest_neighbours(finder, here)
    if not ways:
        return []
    bits, own = fabric.address_plan.bits, descendants(fabric)[here.name]
    key = "nearer", tuple(higher), tuple(ways)
    by_some = fabric.cached(key, lambda: _reached_by_some(fabric, higher, ways))
    nearer = {
        prefix: uplinks for prefix, uplinks in by_some.items() if own.hops_to_prefix(prefix, bits) is None
    }
    away = {Prefix(address, bits) for address in _displaced_prefixes(fabric) if address != here.address}
    inside = [item for item in (*nearer, *away) if any(_is_within(item, mesh, bits) for mesh in meshed)]
    for prefix in inside:
        if prefix in away:
            nearer.setdefault(prefix, ways)
        else:
            del nearer[prefix]
    spread = _group_segment if has_table(here, "multipath") else _spread_segment
    created = [spread(bits, prefix, fars) for prefix, fars in sorted(nearer.items())]
    return [*created, spread(bits, Prefix(0, 0), ways)]


def _reached_by_some(
    fabric: Fabric, higher: Sequence[str], ways: Sequence[str]
) -> dict[Prefix, Sequence[str]]:
    """Return the prefixes that some uplinks reach by fewer hops than `ways`, or alone, with these uplinks.

    Nodes with the same uplinks share the result.
    """
    bits, over = fabric.address_plan.bits, reachable_prefixes(fabric)
    nearer: dict[Prefix, list[str]] = {}
    for remote in higher if len(higher) > 1 else ():
        for prefix, hops in over[remote].hops.items():
            result = [over[way].hops_to_prefix(prefix, bits) for way in ways]
            by_default = [count for count in result if count is not None]
            # Some uplinks may not lead to the prefix, or all of them by a longer way.
            if len(by_default) < len(ways) or (remote not in ways and hops < min(by_default)):
                nearer.setdefault(prefix, []).append(remote)
    return dict(nearer)


def _is_within(part: Prefix, whole: Prefix, bits: int) -> bool:
    return part.length >= whole.length and whole.contains(part.value, bits)


def _group_segment(_: int, prefix: Prefix, ways: Sequence[str]) -> Segment:
    """Return a segment with a single next hop: the only way, or the group of all ways."""
    return Segment(prefix, 0, 0, (_ecmp_group(ways),))


def _ecmp_group(ways: Sequence[str]) -> NextHop:
    return tuple(ways) if len(ways) > 1 else ways[0] if ways else None


def _spread_segment(bits: int, prefix: Prefix, ways: Sequence[str]) -> Segment:
    """Return a segment whose array spreads the low address bits over several ways."""
    width = min((len(ways) - 1).bit_length(), bits - prefix.length)
    return Segment(prefix, 0, (1 << width) - 1, tuple(ways[value % len(ways)] for value in range(1 << width)))
