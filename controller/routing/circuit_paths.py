# SPDX-License-Identifier: Apache-2.0
"""Ways over a core of optical circuits (LumosCore): switches that these join, along a dimension, in a mesh.

Of that mesh only the circuits stand, some several in parallel, and they change. So a source route steers a
frame as far as its spine, and the tables from there on:

    in a spine  what is not below it goes to the Pod of the destination by the circuits to it, or where this
                spine has none by those to a third Pod that has some. A group of ports.
    in a leaf   to its spines in proportion to the circuits that each has to the Pod of the destination; a
                third Pod counts only where no spine has one. A group of spines, only where shares differ.
"""

from collections.abc import Sequence

from controller.plan import BUCKETS
from controller.routing.paths import PathFinder, ocs_dimensions
from controller.routing.weights import apportion
from controller.tables.prefixes import Prefix, address_classes, field_ends
from controller.tables.segment import NextHop, Segment
from topologies import Fabric, Node

__all__ = ["dependent_switches", "leaf_segments", "spine_segments"]

# Members of all groups of a switch: MULTIPATH_SIZE of the programs.
_MEMBERS = 1024
# Values of lb beside those that tell the buckets apart: it has 8 bits.
_ROUNDS = 16


def dependent_switches(fabric: Fabric, node: str) -> tuple[str, ...]:
    """The switches below a switch of the core, whose shares its circuits decide."""
    if node not in ocs_dimensions(fabric):
        return ()
    own = fabric.node(node).tier
    return tuple(far for far in fabric.neighbours(node) if 0 < fabric.node(far).tier < own)


def spine_segments(finder: PathFinder, here: Node) -> list[Segment]:
    """What a switch of the core has for others than its own Pod."""
    fabric, axis = finder.fabric, ocs_dimensions(finder.fabric)[here.name]
    ports = {
        place: _ports_towards(finder, here.name, far)
        for place, far in _line_members(fabric, here.name).items()
        if far != here.name
    }
    room = _max_group_size(sum(len(found) > 1 for found in ports.values()))
    groups = len(fabric.cached("lines of the core", lambda: _find_lines(fabric)))
    array: list[NextHop] = [None] * (fabric.address_plan.mask(_field_name(fabric, axis)) + 1)
    for place, found in ports.items():
        if len(found) > 1:
            array[place] = _even_group(found, room, groups)
        elif found and (end := fabric.peer(here.name, found[0])):
            array[place] = end.node
    return _segments(fabric, axis, here.address, array)


def leaf_segments(finder: PathFinder, here: Node, up: NextHop) -> list[Segment]:
    """What a switch below those of a core has for other Pods; empty when `up`, to all of them, does."""
    fabric = finder.fabric
    above = [far for far in finder.neighbours(here.name) if far in ocs_dimensions(fabric)]
    if not above or here.name in ocs_dimensions(fabric):
        return []
    axis = ocs_dimensions(fabric)[above[0]]
    lines = {name: _line_members(fabric, name) for name in above}
    places = sorted({place for line in lines.values() for place in line})
    slots = min(_shared_group_size(len(above)), _max_group_size(len(places) + 1))
    array: list[NextHop] = [None] * (fabric.address_plan.mask(_field_name(fabric, axis)) + 1)
    for place in places:
        array[place] = up
        if place == here.coordinates[axis]:
            continue
        fars = [lines[name].get(place) for name in above]
        for count in (_direct_circuits, _relayed_circuits):
            shares = [count(finder, *way) if way[1] else 0 for way in zip(above, fars, strict=True)]
            if any(shares):
                break
        if len(set(shares)) > 1:
            used = [(name, share) for name, share in zip(above, shares, strict=True) if share]
            dealt = apportion([name for name, _ in used], [share for _, share in used], buckets=slots)
            array[place] = dealt if len(used) > 1 else used[0][0]
        elif not any(shares):
            array[place] = None
    if all(array[place] == up for place in places):
        return []
    return _segments(fabric, axis, here.address, array)


def _segments(fabric: Fabric, axis: int, address: int, array: Sequence[NextHop]) -> list[Segment]:
    plan, name = fabric.address_plan, _field_name(fabric, axis)
    bits, first = plan.bits, field_ends(fabric)[0]
    own = address & ((1 << (bits - first)) - 1)
    return [
        Segment(
            Prefix(*plan.prefix(name, number << (bits - first) | own)),
            plan.shift(name),
            plan.mask(name),
            tuple(array),
        )
        for number in address_classes(fabric)
    ]


def _field_name(fabric: Fabric, axis: int) -> str:
    return fabric.address_plan.fields[-1 - axis].name


def _line_members(fabric: Fabric, node: str) -> dict[int, str]:
    """The switches with which circuits may join one, and itself, by their coordinate along its dimension."""
    lines = fabric.cached("lines of the core", lambda: _find_lines(fabric))
    axis = ocs_dimensions(fabric)[node]
    return lines[_without_axis(fabric.node(node).coordinates, axis)]


def _find_lines(fabric: Fabric) -> dict[tuple[int, ...], dict[int, str]]:
    found: dict[tuple[int, ...], dict[int, str]] = {}
    for name, axis in ocs_dimensions(fabric).items():
        place = fabric.node(name).coordinates
        found.setdefault(_without_axis(place, axis), {})[place[axis]] = name
    return found


def _without_axis(place: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*place[:axis], *place[axis + 1 :])


def _direct_circuits(finder: PathFinder, near: str, far: str | None) -> int:
    """Circuits that join two switches and have not failed."""
    if far is None or not finder.has_link(near, far):
        return 0
    return len(finder.ports_to(near, far))


def _relayed_circuits(finder: PathFinder, near: str, far: str | None) -> int:
    return sum(_relay_capacities(finder, near, far).values()) if far else 0


def _relay_capacities(finder: PathFinder, near: str, far: str) -> dict[str, int]:
    """By third switch, how many frames can go that way at a time."""
    ways = {
        third: min(_direct_circuits(finder, near, third), _direct_circuits(finder, third, far))
        for third in _line_members(finder.fabric, near).values()
        if third not in (near, far)
    }
    return {third: count for third, count in ways.items() if count}


def _ports_towards(finder: PathFinder, near: str, far: str) -> list[int]:
    """The ports by which one switch of the core goes to another, all alike."""
    if _direct_circuits(finder, near, far):
        return list(finder.ports_to(near, far))
    ways = _relay_capacities(finder, near, far).items()
    return [port for third, count in ways for port in finder.ports_to(near, third)[:count]]


def _max_group_size(groups: int) -> int:
    """Members that each of so many groups may have, a power of two."""
    return 1 << max((_MEMBERS // max(groups, 1)).bit_length() - 1, 0)


def _shared_group_size(ways: int) -> int:
    """As many members as a source has buckets, so that tables and source routes share alike; or more."""
    return max(BUCKETS, 2 << (ways - 1).bit_length() if ways > BUCKETS else 0)


def _even_group(ports: Sequence[int], room: int, groups: int) -> NextHop:
    """A group that deals evenly whatever values of the low four bits of lb come here.

    Which these are, the leaf has decided, or the source by the bucket: with equal shares one in as many as
    there are groups of the core. So for each of them the others, which count on, go over the ports in turn,
    and the next of those that come together begins where the last one ended.
    """
    rounds = min(_ROUNDS, max(room // BUCKETS, 1))
    if len(ports) <= rounds and len(ports) & (len(ports) - 1) == 0:
        rounds = len(ports)  # each value then has all ports alike, and may begin anywhere
        begins = [value // groups for value in range(BUCKETS)]
    else:
        together = sorted(range(BUCKETS), key=lambda value: (value % groups, value))
        begins = [rounds * together.index(value) for value in range(BUCKETS)]
    return tuple(
        ports[(begins[number % BUCKETS] + number // BUCKETS) % len(ports)]
        for number in range(min(BUCKETS * rounds, room))
    )
