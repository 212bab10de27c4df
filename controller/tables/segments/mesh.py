# SPDX-License-Identifier: Apache-2.0
"""Segments of a node's mesh: an array of next hops for each dimension in which the node has links.

The highest dimension in which two addresses differ decides. Where turn rules allow too few valleys for that,
dimensions in which the address grows come first.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from controller.errors import PlanError
from controller.paths.finder import PathFinder
from controller.tables.segments.prefixes import Prefix, field_ends
from controller.tables.segments.segment import NextHop, NextHops, Segment
from topologies import Fabric, Node

__all__ = ["last_field_end", "mesh_segments", "own_segment", "relay_in_line"]

# Segments of a mesh that the table segment holds beside a default and the node itself.
_MAX_MESH_SEGMENTS = 60


def last_field_end(fabric: Fabric) -> int:
    """Return the bit, counted from the left, before which the last address field begins."""
    return field_ends(fabric)[-2]


def own_segment(fabric: Fabric, here: Node) -> Segment:
    """Return the segment of a node's own address, which leads to its host."""
    return Segment(Prefix(here.address, fabric.address_plan.bits), 0, 0, (here.name,))


def mesh_segments(
    finder: PathFinder, here: Node, addresses: Sequence[int], uplinks: Sequence[str] = ()
) -> list[Segment]:
    """Return an array of next hops for each dimension in which a node has links.

    `addresses` are those under which the node's lines are looked up; `uplinks` lead to members of a line that
    neither a link nor a relay reaches. A node's own value leads to its host. Above the first dimension no
    frame looks it up: a destination that shares it also shares a longer prefix.
    """
    fabric = finder.fabric
    plan = fabric.address_plan
    result: list[Segment] = []
    lines = _neighbours_by_dimension(fabric, here.name)
    arrays: list[_MeshArray] = []
    for axis in range(len(fabric.dims)):
        if not (line := lines.get(axis)):
            continue
        name = plan.fields[-1 - axis].name
        own = here.coordinates[axis]
        array: list[NextHop] = [None] * (plan.mask(name) + 1)
        home = line
        if not here.is_switch:
            own = here.address >> plan.shift(name) & plan.mask(name)
            home = _line_by_address(fabric, here, line.values(), name)
            if not home:  # all have moved away, or it has itself
                continue
        for value in {**line, **home}:
            array[value] = relay_in_line(finder, here, axis, home, value) if value in home else None
            if array[value] is None and uplinks:  # a hole in the line
                array[value] = uplinks[value % len(uplinks)]
        array[own] = here.name
        if here.is_switch:  # who shares all fields with a switch is below it, or cannot be reached this way
            array[own] = None
        above = frozenset(
            value
            for value, member in home.items()
            if fabric.node(member).coordinates[axis] > here.coordinates[axis]
        )
        arrays.append(_MeshArray(plan.fields[-1 - axis].name, own, tuple(array), above))
    for address in addresses:
        if finder.up_first and len(arrays) > 1:
            result += _up_first_segments(fabric, arrays, len(arrays) - 1, address)
            continue
        for mesh in arrays:
            prefix = Prefix(*plan.prefix(mesh.field, address))
            result.append(Segment(prefix, plan.shift(mesh.field), plan.mask(mesh.field), mesh.next_hops))
    if len(result) > _MAX_MESH_SEGMENTS:
        raise PlanError(
            f"{here.name}: {len(result)} segments send up hops first; a table holds {_MAX_MESH_SEGMENTS}",
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


def _line_by_address(fabric: Fabric, here: Node, neighbours: Iterable[str], field: str) -> dict[int, str]:
    """Return the members of a line by the value of its address field, as seen from a member.

    Members may have exchanged addresses. A node with an address outside the line is no member any more.
    """
    plan = fabric.address_plan
    shift, mask = plan.shift(field), plan.mask(field)
    addresses = {neighbour: fabric.node(neighbour).address for neighbour in neighbours}
    return {
        address >> shift & mask: neighbour
        for neighbour, address in addresses.items()
        if not (address ^ here.address) & ~(mask << shift)
    }


def relay_in_line(
    finder: PathFinder, node: Node, axis: int, line: Mapping[int, str], value: int
) -> str | None:
    """Return the neighbour by which a mesh node reaches the member of a line with coordinate `value`.

    The member itself while the direct link works; else a third member linked to both; None without such.
    `line` gives the members along dimension `axis` by their value of its address field.
    """
    target = line[value]
    if finder.has_link(node.name, target):
        return target
    coordinate = {member: finder.fabric.node(member).coordinates[axis] for member in line.values()}
    lower = min(node.coordinates[axis], coordinate[target])
    # Relays above either end come first: such a path has no valley, so it costs no VL.
    for relay in sorted(coordinate, key=lambda member: (coordinate[member] < lower, coordinate[member])):
        if finder.has_link(node.name, relay) and finder.has_link(relay, target):
            return relay
    return None
