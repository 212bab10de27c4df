# SPDX-License-Identifier: Apache-2.0
"""Structured addresses with linear lookup: entries a segment, not a destination (UB-Mesh, All-Path-Routing).

Each dimension is one field of the address and one array of ports. The longest prefix that a destination
shares with the node tells the highest dimension in which they differ; that dimension's array gives the
port. So tables resolve the last dimension first.
"""

from controller.paths import PathFinder
from controller.plan import Entry, Exact, Lpm, Path
from controller.source_route import MAX_HOPS
from topologies import HOST_PORT, Fabric

__all__ = ["linear_entries", "next_hop", "table_path"]


def linear_entries(finder: PathFinder, node: str) -> tuple[Entry, ...]:
    """Entries of the tables segment and linear of one node, a dimension after the other.

    A member whose link has failed is reached by way of another node of the line; without one it has no entry.
    """
    fabric = finder.fabric
    here = fabric.node(node)
    plan = fabric.address_plan
    segments: list[Entry] = []
    members: list[Entry] = []
    base = 0
    for axis, size in enumerate(fabric.dims):
        name = plan.fields[-1 - axis].name
        prefix = Lpm(*plan.prefix(name, here.address))
        action = (("base", base), ("shift", plan.shift(name)), ("mask", plan.mask(name)))
        segments.append(Entry("segment", (("dcna", prefix),), "set_segment", action))
        for value in range(size):
            # A node's own value leads to its own side. Above the first dimension no frame asks for it: a
            # destination that shares it also shares a longer prefix.
            port = HOST_PORT
            if value != here.coordinates[axis]:
                far = _towards(finder, node, axis, value)
                if far is None:
                    continue
                port = fabric.port_to(node, far)
            members.append(Entry("linear", (("index", Exact(base + value)),), "set_port", (("port", port),)))
        # By the field, not by the dimension: no address, valid or not, indexes the array of another
        # dimension.
        base += plan.mask(name) + 1
    return (*segments, *members)


def next_hop(finder: PathFinder, node: str, destination: str) -> str | None:
    """The neighbour to which the tables of a node send a frame; None at the destination or without entry."""
    here, there = finder.fabric.node(node), finder.fabric.node(destination)
    for axis in reversed(range(len(finder.fabric.dims))):
        if here.coordinates[axis] != there.coordinates[axis]:
            return _towards(finder, node, axis, there.coordinates[axis])
    return None


def table_path(finder: PathFinder, source: str, destination: str) -> Path:
    """The path a frame without a source route takes; it ends early where a node has no entry for it."""
    path = [source]
    while len(path) <= MAX_HOPS:
        far = next_hop(finder, path[-1], destination)
        if far is None:
            break
        path.append(far)
    return tuple(path)


def _towards(finder: PathFinder, node: str, axis: int, value: int) -> str | None:
    """The neighbour on the way to the member of the line along `axis` whose coordinate is `value`."""
    fabric = finder.fabric
    line = _line(fabric, node, axis)
    target = line[value]
    if finder.joined(node, target):
        return target
    own = fabric.node(node).coordinates[axis]
    # A way without a valley first (a middle node above either end): it costs no VL.
    middles = sorted(line, key=lambda middle: (middle < min(own, value), middle))
    for middle in middles:
        if finder.joined(node, line[middle]) and finder.joined(line[middle], target):
            return line[middle]
    return None


def _line(fabric: Fabric, node: str, axis: int) -> dict[int, str]:
    """The neighbours of a node along one dimension, by their coordinate."""
    found: dict[int, str] = {}
    for far in fabric.neighbours(node):
        if fabric.link_between(node, far).dimension == axis:
            found[fabric.node(far).coordinates[axis]] = far
    return found
