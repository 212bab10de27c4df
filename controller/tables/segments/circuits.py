# SPDX-License-Identifier: Apache-2.0
"""Next hops over a core of optical circuits (LumosCore), which join switches along a dimension into a mesh.

The links of that mesh are the current circuits: they change, and several may be parallel. A source route
therefore steers a frame up to its spine only, and the tables forward it over the circuits:

    in a spine  A frame for another Pod takes a circuit to the destination's Pod. A spine without such a
                circuit sends the frame to a third Pod that has one. Several ports form a group.
    in a leaf   Frames are shared over the spines in proportion to each spine's circuits to the destination's
                Pod. If no spine has a circuit to that Pod, circuits by third Pods count. If the shares of the
                spines differ, the spines form a group.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.paths.finder import PathFinder
from controller.paths.shares.weights import apportion
from controller.plan.entry import BUCKETS
from controller.tables.segments.prefixes import Prefix, address_classes, field_ends
from controller.tables.segments.segment import NextHop, Segment
from topologies import Fabric, Node
from topologies.model.circuits import core_dimensions
from topologies.model.computed_once import computed_for_any_circuits, computed_once

__all__ = ["dependent_switches", "leaf_segments", "spine_segments"]

# Largest number of members of all groups of a switch: MULTIPATH_SIZE of the P4 programs.
_MEMBERS = 1024
# Number of values of the upper 4 bits of the header field lb; the lower 4 bits are the bucket.
_ROUNDS = 16


def dependent_switches(fabric: Fabric, node: str) -> tuple[str, ...]:
    """Return the switches below a switch of the core; their shares depend on its circuits."""
    if node not in core_dimensions(fabric):
        return ()
    own = fabric.node(node).tier
    return tuple(neighbour for neighbour in fabric.neighbours(node) if 0 < fabric.node(neighbour).tier < own)


def spine_segments(finder: PathFinder, here: Node) -> list[Segment]:
    """Return the segments of a switch of the core for other Pods."""
    fabric, axis = finder.fabric, core_dimensions(finder.fabric)[here.name]
    ports = _ports_by_coordinate(finder, here.name)
    room = _max_group_size(sum(len(numbers) > 1 for numbers in ports.values()))
    groups = len(_lines_of_core(fabric))
    array: list[NextHop] = [None] * (fabric.address_plan.mask(_field_name(fabric, axis)) + 1)
    for coordinate, numbers in ports.items():
        if len(numbers) > 1:
            array[coordinate] = _even_group(numbers, room, groups)
        elif numbers and (end := fabric.peer(here.name, numbers[0])):
            array[coordinate] = end.node
    return _segments(fabric, axis, here.address, array)


def leaf_segments(finder: PathFinder, here: Node, up: NextHop) -> list[Segment]:
    """Return a leaf's segments for destinations in other Pods; empty if the default `up` suffices."""
    fabric = finder.fabric
    above = [neighbour for neighbour in finder.neighbours(here.name) if neighbour in core_dimensions(fabric)]
    if not above or here.name in core_dimensions(fabric):
        return []
    axis = core_dimensions(fabric)[above[0]]
    array = _leaf_array(finder, tuple(above), up, here.coordinates[axis])
    return _segments(fabric, axis, here.address, array) if array else []


@computed_once
def _leaf_array(finder: PathFinder, above: tuple[str, ...], up: NextHop, own: int) -> Sequence[NextHop]:
    """Return the next hops of a leaf by Pod; empty if all are the default `up`. `own` is the leaf's Pod.

    Leaves of a Pod share the result.
    """
    fabric = finder.fabric
    axis = core_dimensions(fabric)[above[0]]
    lines = {name: _circuits_of_line(finder, name) for name in above}
    pods = sorted({pod for line in lines.values() for pod in line.members})
    slots = min(_shared_group_size(len(above)), _max_group_size(len(pods) + 1))
    array: list[NextHop] = [None] * (fabric.address_plan.mask(_field_name(fabric, axis)) + 1)
    for pod in pods:
        array[pod] = up
        if pod == own:
            continue
        shares = [line.direct_to(name, pod) for name, line in lines.items()]
        if not any(shares):
            shares = [line.relayed_to(name, pod) for name, line in lines.items()]
        if len(set(shares)) > 1:
            used = [(name, share) for name, share in zip(above, shares, strict=True) if share]
            dealt = apportion([name for name, _ in used], [share for _, share in used], buckets=slots)
            array[pod] = dealt if len(used) > 1 else used[0][0]
        elif not any(shares):
            array[pod] = None
    return [] if all(array[pod] == up for pod in pods) else array


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
    """Return a switch and all switches that circuits may join to it, by coordinate."""
    lines = _lines_of_core(fabric)
    axis = core_dimensions(fabric)[node]
    return lines[_without_axis(fabric.node(node).coordinates, axis)]


@computed_for_any_circuits
def _lines_of_core(fabric: Fabric) -> dict[tuple[int, ...], dict[int, str]]:
    """Return the switches of each line of the core.

    The outer key is the coordinates that the switches of a line have in common; the inner key is the
    coordinate along the line.
    """
    lines: dict[tuple[int, ...], dict[int, str]] = {}
    for name, axis in core_dimensions(fabric).items():
        coordinates = fabric.node(name).coordinates
        lines.setdefault(_without_axis(coordinates, axis), {})[coordinates[axis]] = name
    return lines


def _without_axis(coordinates: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*coordinates[:axis], *coordinates[axis + 1 :])


@final
@dataclass(frozen=True, slots=True, eq=False)
class _LineCircuits:
    """Working circuits between the switches that circuits may join, `members` by coordinate.

    `direct[i, j]` is the number of circuits between members i and j. A third member relays over as many
    circuits as the smaller of its two hops has; `relayed[i, j]` is the sum over all third members.
    """

    members: Mapping[int, str]
    names: tuple[str, ...]
    position: Mapping[str, int]
    direct: NDArray[np.int64]
    relayed: NDArray[np.int64]

    def direct_to(self, switch: str, coordinate: int) -> int:
        """Return the number of circuits from `switch` to the member at a coordinate; 0 without a member."""
        return self._count(self.direct, switch, coordinate)

    def relayed_to(self, switch: str, coordinate: int) -> int:
        """Return the number of circuits over which third members relay, from `switch` to a coordinate."""
        return self._count(self.relayed, switch, coordinate)

    def _count(self, counts: NDArray[np.int64], switch: str, coordinate: int) -> int:
        member = self.members.get(coordinate)
        return 0 if member is None else int(counts[self.position[switch], self.position[member]])

    def relays(self, switch: str, neighbour: str) -> Iterator[tuple[str, int]]:
        """Yield each relaying member and the number of circuits relayed by the member."""
        counts = np.minimum(self.direct[self.position[switch]], self.direct[self.position[neighbour]])
        thirds = counts.nonzero()[0]
        for third, count in zip(thirds.tolist(), counts[thirds].tolist(), strict=True):
            yield self.names[third], count


def _circuits_of_line(finder: PathFinder, switch: str) -> _LineCircuits:
    """Return the circuits among a switch and all possible peers of its circuits: the switch's line.

    The circuits are counted once for all switches of the line.
    """
    return _count_circuits(finder, next(iter(_line_members(finder.fabric, switch).values())))


@computed_once
def _count_circuits(finder: PathFinder, first: str) -> _LineCircuits:
    """Return the circuits of the line with `first` as its first member."""
    members = _line_members(finder.fabric, first)
    position = {name: number for number, name in enumerate(members.values())}
    direct = np.zeros((len(members), len(members)), np.int64)
    for name, number in position.items():
        for neighbour in finder.neighbours(name):
            if neighbour in position:
                direct[number, position[neighbour]] = len(finder.ports_to(name, neighbour))
    # A switch has no circuits to itself, so it is no relay of its own.
    relayed = np.array([np.minimum(row, direct).sum(axis=1) for row in direct])
    return _LineCircuits(members, tuple(position), position, direct, relayed)


def _ports_by_coordinate(finder: PathFinder, switch: str) -> dict[int, list[int]]:
    """Return the ports of a core switch towards each possible peer of its circuits; ports have equal shares.

    A peer without a circuit to the switch is reached over third members of the line.
    """
    line = _circuits_of_line(finder, switch)
    own = {name: finder.ports_to(switch, name) for name in finder.neighbours(switch) if name in line.position}
    ports: dict[int, list[int]] = {}
    for coordinate, member in line.members.items():
        if member in own:
            ports[coordinate] = list(own[member])
        elif member != switch:
            relays = line.relays(switch, member)
            ports[coordinate] = [port for third, count in relays for port in own[third][:count]]
    return ports


def _max_group_size(groups: int) -> int:
    """Return the largest power of two possible as the size of each of `groups` groups."""
    return 1 << max((_MEMBERS // max(groups, 1)).bit_length() - 1, 0)


def _shared_group_size(ways: int) -> int:
    """Return the size of a group of `ways` members: at least 16, a hash value for each path bucket.

    So the tables share traffic among the members as source routes do.
    """
    return max(BUCKETS, 2 << (ways - 1).bit_length() if ways > BUCKETS else 0)


def _even_group(ports: Sequence[int], room: int, groups: int) -> NextHop:
    """Return a group with even shares for any set of values of the low four bits of lb.

    The leaf, or the source by its bucket, decides which values arrive: with equal shares and n groups of the
    core, every n-th value. For each value, the upper bits of lb select the ports in turn. The next value that
    arrives at this switch begins at the port after the last port of the previous value.
    """
    rounds = min(_ROUNDS, max(room // BUCKETS, 1))
    if len(ports) <= rounds and len(ports) & (len(ports) - 1) == 0:
        rounds = len(ports)  # each value then uses all ports equally, and may begin at any port
        begins = [value // groups for value in range(BUCKETS)]
    else:
        together = sorted(range(BUCKETS), key=lambda value: (value % groups, value))
        begins = [rounds * together.index(value) for value in range(BUCKETS)]
    return tuple(
        ports[(begins[number % BUCKETS] + number // BUCKETS) % len(ports)]
        for number in range(min(BUCKETS * rounds, room))
    )
