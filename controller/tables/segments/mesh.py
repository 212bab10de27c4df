# SPDX-License-Identifier: Apache-2.0
"""Segments of a node's mesh: an array of next hops for each dimension in which the node has links.

A frame takes a hop in the highest dimension in which the addresses of node and destination differ. If the
turn rules allow too few valleys for this order, a frame first takes hops that increase a coordinate.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from controller.errors import PlanError
from controller.paths.finder import PathFinder
from controller.tables.segments.prefixes import Prefix, field_ends
from controller.tables.segments.segment import NextHop, NextHops, Segment
from topologies import Fabric, Node

__all__ = ["last_field_end", "mesh_segments", "own_segment", "relay_in_line"]

# Largest number of mesh segments in the table segment, besides the default and the node's own address.
_MAX_MESH_SEGMENTS = 60


def last_field_end(fabric: Fabric) -> int:
    """Return the number of leading address bits up to the last field."""
    return field_ends(fabric)[-2]


def own_segment(fabric: Fabric, here: Node) -> Segment:
    """Return the segment of a node's own address, with the node's host as next hop."""
    return Segment(Prefix(here.address, fabric.address_plan.bits), 0, 0, (here.name,))


def mesh_segments(
    finder: PathFinder, here: Node, addresses: Sequence[int], uplinks: Sequence[str] = ()
) -> list[Segment]:
    """Return a node's segments in a mesh: an array of next hops for each dimension with links.

    An array is indexed by the destination's value of the dimension's address field. The own value of an
    endpoint leads to its host. Arrays above the first dimension do not use this value: a destination with an
    equal value also has a longer prefix in common with the node.

    Args:
        finder: Finds the working links.
        here: The node, an endpoint or a switch.
        addresses: Addresses whose prefixes the segments match: each dimension has a segment for each address.
        uplinks: Next hops to a value of a line that no member has, or whose member no link or relay reaches.

    Raises:
        PlanError: The node needs more segments than its table holds.
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
            if not home:  # the node or all its neighbours have addresses outside the line
                continue
        for value in {**line, **home}:
            array[value] = relay_in_line(finder, here, axis, home, value) if value in home else None
            if array[value] is None and uplinks:  # no member, or none that a link or relay reaches
                array[value] = uplinks[value % len(uplinks)]
        array[own] = here.name
        if here.is_switch:
            # A destination with the switch's own values is below the switch, or the mesh does not lead to it.
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
            f"{here.name}: the mesh needs {len(result)} segments; table segment holds {_MAX_MESH_SEGMENTS}",
            remedy="use rules T2-G",
        )
    return result


class _MeshArray(NamedTuple):
    """Next hops along one dimension, by value of the dimension's address field.

    `own` is the node's value; `above` are the values of members with a higher coordinate than the node.
    """

    field: str
    own: int
    next_hops: NextHops
    above: frozenset[int]


def _up_first_segments(
    fabric: Fabric, arrays: Sequence[_MeshArray], axis: int, outer: int, down: NextHop = None
) -> list[Segment]:
    """Return segments for frames to take all up hops before any down hop.

    An up hop is in the highest possible dimension. Segments of lower dimensions come first in the result.

    Args:
        fabric: The fabric of the mesh.
        arrays: Next hops of the node along each dimension.
        axis: Index in `arrays` of the dimension of the last segment returned.
        outer: Address whose fields above `axis` all destinations share.
        down: Next hop in the highest dimension above `axis` that needs a down hop; None if there is none.
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
            inner = outer & ~(mask << shift) | value << shift
            below += _up_first_segments(fabric, arrays, axis - 1, inner, way)
        elif way is not None:
            array[value] = way
    prefix = Prefix(*plan.prefix(mesh.field, outer))
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
    """Return the neighbours of a node in a line, by the value of the line's address field.

    Members may have exchanged addresses. A neighbour with an address outside the line is left out.
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
    """Return the neighbour by which a mesh node reaches the member `line[value]`.

    This is the member itself if its link works, else a third member with links to both, or None. `line` has
    the members along dimension `axis`, by value of the dimension's address field.
    """
    target = line[value]
    if finder.has_link(node.name, target):
        return target
    coordinate = {member: finder.fabric.node(member).coordinates[axis] for member in line.values()}
    lower = min(node.coordinates[axis], coordinate[target])
    # Relays above the lower end come first: a path by them has no valley, so it needs no second VL.
    for relay in sorted(coordinate, key=lambda member: (coordinate[member] < lower, coordinate[member])):
        if finder.has_link(node.name, relay) and finder.has_link(relay, target):
            return relay
    return None
