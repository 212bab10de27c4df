# SPDX-License-Identifier: Apache-2.0
"""Members of a collective, their grid, and the rates between members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import final

from harness.errors import ScenarioError
from topologies import Fabric, Node
from topologies.model.computed_once import computed_once

__all__ = [
    "Group",
    "dimension_rates",
    "grid_of",
    "groups_of",
    "hop_ps",
    "members_of",
    "out_bps",
    "pair_rates",
    "split_grid",
]


def members_of(fabric: Fabric, wanted: int | Sequence[str] | None) -> tuple[str, ...]:
    """Return the members of a collective, in the order of the fabric.

    Args:
        fabric: Fabric of the members.
        wanted: All NPUs or GPUs (None), the first N (a number), or names and ranges such as `gpu8..gpu15`.

    Raises:
        ScenarioError: A name is unknown, is given twice, or is that of a node which cannot be a member.
    """
    able = tuple(node.name for node in fabric.nodes if node.kind.member)
    if wanted is None:
        return able
    if isinstance(wanted, int):
        if wanted > len(able):
            raise ScenarioError(
                f"`members: {wanted}` is more than {fabric.name} has, which is {len(able)}",
                remedy=f"give a number up to {len(able)}",
            )
        return able[:wanted]
    numbers = {name: number for number, name in enumerate(able)}
    chosen: set[int] = set()
    for entry in wanted:
        ends = [_number(fabric, numbers, name) for name in entry.split("..", 1)]
        named = set(range(ends[0], ends[-1] + 1))
        if not named or named & chosen:
            fault = "is named twice" if named else "ends before it begins"
            raise ScenarioError(
                f"the member {entry} {fault}", remedy="name each member once, and a range as gpu8..gpu15"
            )
        chosen |= named
    return tuple(able[number] for number in sorted(chosen))


def _number(fabric: Fabric, numbers: Mapping[str, int], name: str) -> int:
    number = numbers.get(fabric.node(name).name)
    if number is None:
        example = next(iter(numbers), "none")
        raise ScenarioError(
            f"{name} is not an NPU or GPU, so it cannot be a member", remedy=f"name nodes such as {example}"
        )
    return number


def grid_of(fabric: Fabric, members: Sequence[str]) -> tuple[int, ...]:
    """Return the dimensions of the full mesh that the members form, without dimensions of length 1.

    Raises:
        ScenarioError: The members form no full mesh of whole lines, or are not in its order, in which the
            first dimension varies fastest.
    """
    return tuple(len(values) for values in _values(fabric, members) if len(values) > 1) or (1,)


def split_grid(dims: Sequence[int], wanted: Sequence[int] | None) -> tuple[int, ...]:
    """Return, for every dimension of the grid `wanted`, the index in `dims` of the dimension it divides.

    Raises:
        ScenarioError: The grid does not result from dividing the dimensions `dims` into factors, in order.
    """
    if wanted is None:
        return tuple(range(len(dims)))
    parts: list[int] = []
    rest = list(wanted)
    for dimension, size in enumerate(dims):
        whole = 1
        while rest and whole < size and size % (whole * rest[0]) == 0:
            whole *= rest.pop(0)
            parts.append(dimension)
        if whole != size:
            break
    if rest or len(set(parts)) != len(dims) or prod(wanted) != prod(dims):
        raise ScenarioError(
            f"the grid {_by(wanted)} does not divide the dimensions of the members, which are {_by(dims)}",
            remedy="split each of these dimensions into factors, in order, such as 8 x 16 into 8 x 4 x 4",
        )
    return tuple(parts)


def dimension_rates(
    fabric: Fabric, members: Sequence[str], parts: Sequence[int], grid: Sequence[int]
) -> tuple[float, ...]:
    """Return the rate between two members of a line in bit/s, for each dimension of the grid.

    `parts[i]` is the dimension of the members that dimension i of the grid divides. If switches join the
    members of a line, the rate is that of a member's links to these switches, divided among all members that
    it reaches over the links.
    """
    inside = set(members)
    dims = [d for d, values in enumerate(_values(fabric, members)) if len(values) > 1]
    direct: dict[int, int] = {}
    for link in fabric.links:
        if link.dimension is not None and link.a.node in inside and link.b.node in inside:
            direct[link.dimension] = min(link.rate_bps, direct.get(link.dimension, link.rate_bps))
    rates: list[float] = []
    ways = [frozenset() if dims[part] in direct else _ways(fabric, members, dims[part]) for part in parts]
    for part, way in zip(parts, ways, strict=True):
        if dims[part] in direct:
            rates.append(float(direct[dims[part]]))
            continue
        sharing = sum(size - 1 for size, other in zip(grid, ways, strict=True) if other == way)
        rates.append(sum(fabric.link(name).rate_bps for name in way) / sharing)
    return tuple(rates)


def _ways(fabric: Fabric, members: Sequence[str], dimension: int) -> frozenset[str]:
    """Return the names of the first links of all shortest paths from the first member to its line's end.

    The line has the members whose coordinates differ from those of the first member in `dimension` alone.
    """
    source = members[0]
    home = fabric.node(source).coordinates
    line = [
        name
        for name in members[1:]
        if all(
            (a == b) != (d == dimension)
            for d, (a, b) in enumerate(zip(home, fabric.node(name).coordinates, strict=True))
        )
    ]
    import networkx as nx

    distance = nx.single_source_shortest_path_length(fabric.graph(), line[-1])
    neighbours = [
        name
        for name in fabric.neighbours(source)
        if distance.get(name, len(distance)) < distance.get(source, 0)
    ]
    if not neighbours:
        raise ScenarioError(
            f"no path joins {source} to {line[-1]} of {fabric.name}", remedy="use `algorithm: direct`"
        )
    return frozenset(fabric.link_between(source, name).name for name in neighbours)


def pair_rates(fabric: Fabric, members: Sequence[str]) -> dict[tuple[int, int], float]:
    """Return the rate in bit/s of each direct link between two members, by both ordered pairs of ranks."""
    rank_of = {name: rank for rank, name in enumerate(members)}
    rates_of = _rates_by_neighbour(fabric)
    return {
        (rank, rank_of[neighbour]): rate
        for name, rank in rank_of.items()
        for neighbour, rate in rates_of.get(name, {}).items()
        if neighbour in rank_of
    }


@computed_once
def _rates_by_neighbour(fabric: Fabric) -> dict[str, dict[str, float]]:
    """Return, by node and neighbour, the rate in bit/s of their link; of parallel links, that of the last."""
    rates: dict[str, dict[str, float]] = {}
    for link in fabric.links:
        for end, other in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
            rates.setdefault(end, {})[other] = float(link.rate_bps)
    return rates


def hop_ps(fabric: Fabric, payload_bytes: int) -> float:
    """Return the time in ps of a frame from a member to a neighbour, without its transmission on the link.

    This is the largest delay of a link, plus delay and transmission on the host links of both members.
    """
    host_bps = fabric.host_lanes * fabric.lane_rate_bps
    host_ps = fabric.host_delay_ps + 8 * payload_bytes / host_bps * 10**12
    return max(link.delay_ps for link in fabric.links) + 2 * host_ps


@final
@dataclass(frozen=True, slots=True)
class Group:
    """A group of a partition: nodes with equal coordinates in some dimensions.

    `place` has all NPUs or GPUs with these coordinates, `members` only the members of the collective.
    """

    members: frozenset[str]
    place: frozenset[str]


def groups_of(fabric: Fabric, members: Sequence[str]) -> Iterator[tuple[Group, ...]]:
    """Yield partitions of the members: by each dimension, then by each suffix of dimensions, innermost first.

    A suffix is a level of the fabric: with coordinates (rank, host, segment), members of equal host and
    segment are in one host. Partitions with a single group are left out.
    """
    size = len(fabric.dims)
    cuts = dict.fromkeys([*((d,) for d in range(size)), *(tuple(range(d, size)) for d in range(1, size))])
    for cut in cuts:
        groups = _by_place([fabric.node(name) for name in members], cut)
        if len(groups) < 2:
            continue
        places = _places(fabric, cut)
        yield tuple(Group(group, places[at]) for at, group in groups.items())


@computed_once
def _places(fabric: Fabric, cut: tuple[int, ...]) -> dict[tuple[int, ...], frozenset[str]]:
    """Return all NPUs or GPUs of a fabric in groups, by their coordinates in the dimensions `cut`."""
    return _by_place([node for node in fabric.nodes if node.kind.member], cut)


def _by_place(nodes: Iterable[Node], cut: tuple[int, ...]) -> dict[tuple[int, ...], frozenset[str]]:
    groups: dict[tuple[int, ...], list[str]] = {}
    for node in nodes:
        groups.setdefault(tuple(node.coordinates[dimension] for dimension in cut), []).append(node.name)
    return {at: frozenset(names) for at, names in groups.items()}


@computed_once
def out_bps(fabric: Fabric, group: frozenset[str]) -> int:
    """Return the total rate of all links out of a group of nodes, in bit/s in each direction.

    A switch with all its neighbours in the group, such as the switch of a domain, counts as part of the
    group. The result is cached, because jobs have groups in common.
    """
    rates = _rates_to_neighbours(fabric)
    outside = {neighbour for name in group for neighbour in rates[name]} - group
    closed = group | {
        name for name in outside if not fabric.node(name).kind.member and group.issuperset(rates[name])
    }
    return sum(rate for name in closed for neighbour, rate in rates[name].items() if neighbour not in closed)


@computed_once
def _rates_to_neighbours(fabric: Fabric) -> dict[str, Counter[str]]:
    """Return the total rate of the links between a node and each neighbour, in bit/s, by node."""
    rates: dict[str, Counter[str]] = {node.name: Counter() for node in fabric.nodes}
    for link in fabric.links:
        rates[link.a.node][link.b.node] += link.rate_bps
        rates[link.b.node][link.a.node] += link.rate_bps
    return rates


def _values(fabric: Fabric, members: Sequence[str]) -> list[list[int]]:
    """Return the members' different coordinates in each dimension, in ascending order.

    Raises:
        ScenarioError: The members form no full mesh of whole lines.
    """
    coordinates = [fabric.node(name).coordinates for name in members]
    values = [sorted(set(column)) for column in zip(*coordinates, strict=True)]
    if [point[::-1] for point in product(*reversed(values))] != coordinates:
        raise ScenarioError(
            f"the {len(members)} members of {fabric.name} form no full mesh of whole lines",
            remedy="use `algorithm: direct`, or members that form a full mesh",
        )
    return values


def _by(dims: Sequence[int]) -> str:
    return " x ".join(map(str, dims))
