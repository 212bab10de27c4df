# SPDX-License-Identifier: Apache-2.0
"""Who takes part in a collective, on which grid they stand, and what joins those of a line of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from lab.errors import ScenarioError
from topologies import Fabric

__all__ = ["dimension_rates", "grid_of", "groups_of", "members_of", "out_bps", "pair_rates", "split_grid"]


def members_of(fabric: Fabric, wanted: int | Sequence[str] | None) -> tuple[str, ...]:
    """The nodes that take part, in the order of the fabric: all that can, the first so many, or those named.

    `gpu8..gpu15` are all from the one to the other. ScenarioError for one that is not there, or that cannot.
    """
    able = tuple(node.name for node in fabric.nodes if node.kind.member)
    if wanted is None:
        return able
    if isinstance(wanted, int):
        if wanted > len(able):
            raise ScenarioError(
                f"{wanted} members of a fabric that has {len(able)}", remedy=f"take up to {len(able)}"
            )
        return able[:wanted]
    place = {name: number for number, name in enumerate(able)}
    chosen: set[int] = set()
    for entry in wanted:
        ends = [_place(fabric, place, name) for name in entry.split("..", 1)]
        named = set(range(ends[0], ends[-1] + 1))
        if not named or named & chosen:
            fault = "is named twice" if named else "ends before it begins"
            raise ScenarioError(f"member {entry} {fault}", remedy="name each once, a range as gpu8..gpu15")
        chosen |= named
    return tuple(able[number] for number in sorted(chosen))


def _place(fabric: Fabric, place: Mapping[str, int], name: str) -> int:
    found = place.get(fabric.node(name).name)
    if found is None:
        able = next(iter(place), "none")
        raise ScenarioError(
            f"{name} computes nothing, so it is no member", remedy=f"name nodes such as {able}"
        )
    return found


def grid_of(fabric: Fabric, members: Sequence[str]) -> tuple[int, ...]:
    """The dimensions of the full mesh that the members are, those of one place left out.

    ScenarioError when they are not the whole of one, or not in its order: the first dimension fastest.
    """
    return tuple(len(values) for values in _values(fabric, members) if len(values) > 1) or (1,)


def split_grid(dims: Sequence[int], wanted: Sequence[int] | None) -> tuple[int, ...]:
    """For every dimension of the `wanted` grid, the one of `dims` that it is, or is a part of.

    ScenarioError when the wanted ones are not those of the members, some of them cut in several.
    """
    if wanted is None:
        return tuple(range(len(dims)))
    parts: list[int] = []
    left = list(wanted)
    for dimension, size in enumerate(dims):
        whole = 1
        while left and whole < size and size % (whole * left[0]) == 0:
            whole *= left.pop(0)
            parts.append(dimension)
        if whole != size:
            break
    if left or len(set(parts)) != len(dims) or prod(wanted) != prod(dims):
        raise ScenarioError(
            f"a grid of {_by(wanted)} for members that are {_by(dims)}",
            remedy="cut each of their dimensions into factors, in order: 8x16 into 8x4x4, for example",
        )
    return tuple(parts)


def dimension_rates(
    fabric: Fabric, members: Sequence[str], parts: Sequence[int], grid: Sequence[int]
) -> tuple[float, ...]:
    """Bits a second between two members of a line, by dimension of their grid.

    `parts[i]` is the dimension of the members that the grid's is a part of. Where only switches join a line,
    it is what a member has towards them, dealt equally to all whom it reaches by the same links.
    """
    inside = set(members)
    dims = [d for d, there in enumerate(_values(fabric, members)) if len(there) > 1]
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
    """The links by which the first member begins a shortest path to the others of its line."""
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

    far = nx.single_source_shortest_path_length(fabric.graph(), line[-1])
    neighbours = [name for name in fabric.neighbours(source) if far.get(name, len(far)) < far.get(source, 0)]
    if not neighbours:
        raise ScenarioError(
            f"nothing joins {source} to {line[-1]} of {fabric.name}", remedy="take algorithm `direct`"
        )
    return frozenset(fabric.link_between(source, name).name for name in neighbours)


def pair_rates(fabric: Fabric, members: Sequence[str]) -> dict[tuple[int, int], float]:
    """Of the links that join two members, by their ranks."""
    rank_of = {name: rank for rank, name in enumerate(members)}
    rates = {}
    for link in fabric.links:
        a, b = rank_of.get(link.a.node), rank_of.get(link.b.node)
        if a is not None and b is not None:
            rates[a, b] = rates[b, a] = float(link.rate_bps)
    return rates


def groups_of(fabric: Fabric, members: Sequence[str]) -> Iterator[tuple[frozenset[str], ...]]:
    """For each dimension in which members differ, those of equal place in it."""
    for dimension in range(len(fabric.dims)):
        by_place: dict[int, set[str]] = {}
        for name in members:
            by_place.setdefault(fabric.node(name).coordinates[dimension], set()).add(name)
        if len(by_place) > 1:
            yield tuple(map(frozenset, by_place.values()))


def out_bps(fabric: Fabric, group: frozenset[str]) -> int:
    """What all links that lead out of a group carry, each way.

    Who has all its neighbours in the group, as a switch inside of a domain, is of it.
    """
    near = {far for name in group for far in fabric.neighbours(name)} - group
    closed = group | {name for name in near if group.issuperset(fabric.neighbours(name))}
    return sum(
        link.rate_bps
        for name in closed
        for far in fabric.neighbours(name)
        if far not in closed
        for link in fabric.links_between(name, far)
    )


def _values(fabric: Fabric, members: Sequence[str]) -> list[list[int]]:
    """By dimension, the coordinates that occur."""
    places = [fabric.node(name).coordinates for name in members]
    values = [sorted(set(column)) for column in zip(*places, strict=True)]
    if [place[::-1] for place in product(*reversed(values))] != places:
        raise ScenarioError(
            f"{len(members)} members of {fabric.name} that are no full mesh of whole lines",
            remedy="take algorithm `direct`, or members that are one",
        )
    return values


def _by(dims: Sequence[int]) -> str:
    return " x ".join(map(str, dims))
