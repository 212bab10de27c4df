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
from controller.routing.apportion import deal
from controller.routing.paths import PathFinder
from controller.tables.prefixes import Prefix, classes, field_ends
from controller.tables.segment import Member, Segment
from topologies import Fabric, Node

__all__ = ["across", "beside", "climb", "crossed"]

# Members of all groups of a switch: MULTIPATH_SIZE of the programs.
_MEMBERS = 1024
# Values of lb beside those that tell the buckets apart: it has 8 bits.
_ROUNDS = 16


def crossed(fabric: Fabric) -> dict[str, int]:
    """Switches that circuits join to others along a dimension, which is the value."""
    return fabric.once("crossed", lambda: _crossed(fabric))


def _crossed(fabric: Fabric) -> dict[str, int]:
    found: dict[str, int] = {}
    for end in (end for switch in fabric.optical for end in switch.ends):
        node = fabric.node(end.node)
        if node.tier and end.node not in found:
            axis = next((port.dimension for port in node.ports if port.number == end.port), None)
            if axis is not None:
                found[end.node] = axis
    return found


def beside(fabric: Fabric, node: str) -> tuple[str, ...]:
    """The switches below a switch of the core, whose shares its circuits decide."""
    if node not in crossed(fabric):
        return ()
    own = fabric.node(node).tier
    return tuple(far for far in fabric.neighbours(node) if 0 < fabric.node(far).tier < own)


def across(finder: PathFinder, here: Node) -> list[Segment]:
    """What a switch of the core has for others than its own Pod."""
    fabric, axis = finder.fabric, crossed(finder.fabric)[here.name]
    ports = {
        place: _ports(finder, here.name, far)
        for place, far in _line(fabric, here.name).items()
        if far != here.name
    }
    room = _room(sum(len(found) > 1 for found in ports.values()))
    groups = len(fabric.once("lines of the core", lambda: _lines(fabric)))
    array: list[Member] = [None] * (fabric.address_plan.mask(_field(fabric, axis)) + 1)
    for place, found in ports.items():
        if len(found) > 1:
            array[place] = _grouped(found, room, groups)
        elif found and (end := fabric.peer(here.name, found[0])):
            array[place] = end.node
    return _segments(fabric, axis, here.address, array)


def climb(finder: PathFinder, here: Node, up: Member) -> list[Segment]:
    """What a switch below those of a core has for other Pods; empty when `up`, to all of them, does."""
    fabric = finder.fabric
    above = [far for far in finder.neighbours(here.name) if far in crossed(fabric)]
    if not above or here.name in crossed(fabric):
        return []
    axis = crossed(fabric)[above[0]]
    lines = {name: _line(fabric, name) for name in above}
    places = sorted({place for line in lines.values() for place in line})
    slots = min(_slots(len(above)), _room(len(places) + 1))
    array: list[Member] = [None] * (fabric.address_plan.mask(_field(fabric, axis)) + 1)
    for place in places:
        array[place] = up
        if place == here.coordinates[axis]:
            continue
        fars = [lines[name].get(place) for name in above]
        for count in (_direct, _by_third):
            shares = [count(finder, *way) if way[1] else 0 for way in zip(above, fars, strict=True)]
            if any(shares):
                break
        if len(set(shares)) > 1:
            used = [(name, share) for name, share in zip(above, shares, strict=True) if share]
            dealt = deal([name for name, _ in used], [share for _, share in used], buckets=slots)
            array[place] = dealt if len(used) > 1 else used[0][0]
        elif not any(shares):
            array[place] = None
    if all(array[place] == up for place in places):
        return []
    return _segments(fabric, axis, here.address, array)


def _segments(fabric: Fabric, axis: int, address: int, array: Sequence[Member]) -> list[Segment]:
    plan, name = fabric.address_plan, _field(fabric, axis)
    bits, first = plan.bits, field_ends(fabric)[0]
    own = address & ((1 << (bits - first)) - 1)
    return [
        Segment(
            Prefix(*plan.prefix(name, number << (bits - first) | own)),
            plan.shift(name),
            plan.mask(name),
            tuple(array),
        )
        for number in classes(fabric)
    ]


def _field(fabric: Fabric, axis: int) -> str:
    return fabric.address_plan.fields[-1 - axis].name


def _line(fabric: Fabric, node: str) -> dict[int, str]:
    """The switches with which circuits may join one, and itself, by their coordinate along its dimension."""
    lines = fabric.once("lines of the core", lambda: _lines(fabric))
    axis = crossed(fabric)[node]
    return lines[_others(fabric.node(node).coordinates, axis)]


def _lines(fabric: Fabric) -> dict[tuple[int, ...], dict[int, str]]:
    found: dict[tuple[int, ...], dict[int, str]] = {}
    for name, axis in crossed(fabric).items():
        place = fabric.node(name).coordinates
        found.setdefault(_others(place, axis), {})[place[axis]] = name
    return found


def _others(place: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*place[:axis], *place[axis + 1 :])


def _direct(finder: PathFinder, near: str, far: str | None) -> int:
    """Circuits that join two switches and have not failed."""
    if far is None or not finder.joined(near, far):
        return 0
    return len(finder.ports_to(near, far))


def _by_third(finder: PathFinder, near: str, far: str | None) -> int:
    return sum(_thirds(finder, near, far).values()) if far else 0


def _thirds(finder: PathFinder, near: str, far: str) -> dict[str, int]:
    """By third switch, how many frames can go that way at a time."""
    ways = {
        third: min(_direct(finder, near, third), _direct(finder, third, far))
        for third in _line(finder.fabric, near).values()
        if third not in (near, far)
    }
    return {third: count for third, count in ways.items() if count}


def _ports(finder: PathFinder, near: str, far: str) -> list[int]:
    """The ports by which one switch of the core goes to another, all alike."""
    if _direct(finder, near, far):
        return list(finder.ports_to(near, far))
    ways = _thirds(finder, near, far).items()
    return [port for third, count in ways for port in finder.ports_to(near, third)[:count]]


def _room(groups: int) -> int:
    """Members that each of so many groups may have, a power of two."""
    return 1 << max((_MEMBERS // max(groups, 1)).bit_length() - 1, 0)


def _slots(ways: int) -> int:
    """As many members as a source has buckets, so that tables and source routes share alike; or more."""
    return max(BUCKETS, 2 << (ways - 1).bit_length() if ways > BUCKETS else 0)


def _grouped(ports: Sequence[int], room: int, groups: int) -> Member:
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
