# SPDX-License-Identifier: Apache-2.0
"""From what a scenario says of a collective to its schedule among the NPUs of a fabric, and to its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from statistics import mean

from emulation.traffic import collectives as c
from emulation.traffic.schedule import Schedule
from lab.errors import ScenarioError
from lab.scenario import ELEMENT_BYTES, Collective, Part
from topologies import Fabric

__all__ = ["bound_ps", "grid_of", "schedule_of"]


def grid_of(fabric: Fabric, members: Sequence[str]) -> tuple[int, ...]:
    """The dimensions of the full mesh that the members are, those of one place left out.

    ScenarioError when they are not the whole of one, or not in its order: the first dimension fastest.
    """
    return tuple(len(values) for values in _values(fabric, members) if len(values) > 1) or (1,)


def schedule_of(
    fabric: Fabric, members: Sequence[str], collective: Collective, *, detours: bool = True
) -> Schedule:
    """The schedule, whose rank r is `members[r]`; an error of the lower floors where it cannot be.

    `detours`: routing may lead a send over a third NPU, which the split over several rings takes into
    account.
    """
    if len(members) < 2:
        raise ScenarioError(f"a collective of {len(members)} NPUs", remedy="it takes two or more")
    elements = collective.elements
    if collective.algorithm == "direct":
        grid: tuple[int, ...] = (len(members),)
    else:
        grid = grid_of(fabric, members)
    match collective.algorithm:
        case "halves":
            return c.allreduce_halves(grid, elements)
        case "ring":
            return c.allreduce_ring(range(grid[0]) if len(grid) == 1 else c.mesh_ring(grid), elements)
        case "rings" | "rings-both-ways":
            return _rings(fabric, members, grid, collective, detours)
        case "sequence" | "at-once":
            return _mixture(grid, collective)
    rates = _dimension_rates(fabric, members) if collective.algorithm == "dimension-wise" else None
    return _one(collective, grid, elements, rates)


def _one(
    collective: Collective | Part, grid: tuple[int, ...], elements: int, rates: Sequence[float] | None
) -> Schedule:
    """A collective other than those of rings and of halves; `elements` are those of an NPU's array."""
    is_direct = collective.algorithm == "direct"
    ranks = prod(grid)
    match collective.kind:
        case "allreduce" | "reduce-scatter" | "all-gather" as kind:
            if is_direct:
                return c.direct(ranks, elements, kind)
            exchange = collective.exchange if isinstance(collective, Collective) else 0
            shares = c.in_order(grid)
            if not (isinstance(collective, Collective) and collective.shares == "one"):
                shares = c.balanced(grid, rates, exchange=exchange)
            return c.dimension_wise(grid, elements, kind=kind, shares=shares, exchange=exchange)
        case "all-to-all":
            block = _block(elements, ranks)
            return c.direct_all_to_all(ranks, block) if is_direct else c.all_to_all(grid, block)
        case "broadcast" | "reduce":
            root = collective.root if isinstance(collective, Collective) else 0
            if root >= ranks:
                raise ScenarioError(f"root {root} of {ranks} NPUs", remedy=f"take 0 to {ranks - 1}")
            make = c.broadcast if collective.kind == "broadcast" else c.reduce
            return make(grid, elements, root, direct=is_direct)
        case "dispatch" | "combine":
            make = c.dispatch if collective.kind == "dispatch" else c.combine
            # Who is whose expert is the same for any data: a seed of its own.
            chosen = c.experts(ranks, collective.experts, seed=1)
            return make(grid, _block(elements, ranks), chosen, direct=is_direct)
        case _:
            return c.pipeline(grid, elements)


def _block(elements: int, ranks: int) -> int:
    if elements % ranks:
        raise ScenarioError(
            f"arrays of {elements} elements have no equal blocks for {ranks} NPUs",
            remedy=f"take a multiple of {ranks}, such as {max(1, elements // ranks) * ranks}",
        )
    return elements // ranks


def _rings(
    fabric: Fabric, members: Sequence[str], grid: tuple[int, ...], collective: Collective, detours: bool
) -> Schedule:
    if len(grid) != 1:
        raise ScenarioError(
            f"rings through a mesh of dimensions {grid}",
            remedy="they go through a line of NPUs, one dimension",
        )
    found = c.rings(grid[0], "directed" if collective.algorithm == "rings" else "undirected")
    if (collective.rings or 1) > len(found):
        raise ScenarioError(
            f"{collective.rings} rings on {grid[0]} NPUs that share no link", remedy=f"there are {len(found)}"
        )
    chosen = found[: collective.rings]
    rates = _pair_rates(fabric, members)
    if len(rates) < grid[0] * (grid[0] - 1):
        rates = {}  # switches join them: any link as good as any other
    split = c.balanced_rings(chosen, rates, detours=detours)
    return c.multi_ring(chosen, collective.elements, split.shares)


def _mixture(grid: tuple[int, ...], collective: Collective) -> Schedule:
    """All parts in turn on one array, the largest on the whole of it; or at once, each on its share.

    In turn, those of up to half the array lie side by side: the many small blocks of one would cut the others
    into as many frames.
    """
    shares = [part.share for part in collective.parts]
    whole = max(shares) if collective.algorithm == "sequence" else sum(shares)
    ranks = prod(grid)
    made: list[Schedule] = []
    offsets: list[int] = []
    free = 0
    for part in collective.parts:
        over = tuple(range(len(grid))) if part.over is None else part.over
        groups = c.lines(grid, over)
        size = len(groups[0])
        elements = int(collective.elements * part.share / whole)
        if part.kind in ("all-to-all", "dispatch", "combine"):
            elements -= elements % size
        if elements < 1 or size < 2:
            raise ScenarioError(
                f"{part.kind} of {elements} elements among {size} NPUs",
                remedy="give the mixture more elements, the part a larger share or other dimensions",
            )
        shape = (size,) if part.algorithm == "direct" else tuple(grid[d] for d in over)
        one = _one(part, shape, elements, None)
        made.append(c.on_groups(one, groups, ranks))
        small = 2 * elements <= collective.elements
        free = free if free + elements <= collective.elements else 0
        offsets.append(free if small else 0)
        free += elements if small else 0
    if collective.algorithm == "at-once":
        made, offsets = [c.at_once("mixture", made)], [0]
    mixture = c.in_sequence("mixture", made * collective.rounds, offsets * collective.rounds)
    return replace(mixture, elements=collective.elements)


def bound_ps(fabric: Fabric, members: Sequence[str], collective: Collective, strategy: str) -> int:
    """What the collective cannot beat on these links; under `shortest`, what its own sends cannot.

    Sends that keep to the direct links of their pairs are bound by the busiest of these; others only by what
    must leave an NPU, or cross the middle of a dimension.
    """
    if collective.algorithm == "ring" and strategy == "shortest":
        rate = min(link.rate_bps for link in fabric.links)
        return round(c.ring_bound_ps(len(members), collective.data_bytes, rate))
    least = _bound(fabric, members, collective)
    if strategy == "shortest" and collective.algorithm != "halves":
        schedule = schedule_of(fabric, members, collective, detours=False)
        least = max(least, c.busiest_pair_ps(schedule, _pair_rates(fabric, members), ELEMENT_BYTES))
    return max(1, round(least))


def _bound(fabric: Fabric, members: Sequence[str], collective: Collective) -> float:
    ranks, data = len(members), collective.data_bytes
    ports = [_port_bps(fabric, name) for name in members]
    average = ports[0] if min(ports) == max(ports) else mean(ports)
    match collective.kind:
        case "allreduce":
            return c.allreduce_ports_bound_ps(ranks, data, average)
        case "reduce-scatter" | "all-gather":
            return c.gather_bound_ps(ranks, data, average)
        case "all-to-all":
            leave = c.gather_bound_ps(ranks, data, average)
            if any(link.dimension is None for link in fabric.links) or ranks < len(fabric.nodes):
                return leave  # other ways than along the dimensions
            grid, rates = grid_of(fabric, members), _dimension_rates(fabric, members)
            return max(leave, c.all_to_all_bound_ps(grid, data // ranks, rates))
        case "broadcast" | "reduce":
            return c.send_bound_ps(data, ports[collective.root])
        case "p2p":
            return c.send_bound_ps(data, max(ports))
        case _:
            return c.traffic_bound_ps(schedule_of(fabric, members, collective), sum(ports), ELEMENT_BYTES)


def _values(fabric: Fabric, members: Sequence[str]) -> list[list[int]]:
    """By dimension, the coordinates that occur."""
    places = [fabric.node(name).coordinates for name in members]
    values = [sorted(set(column)) for column in zip(*places, strict=True)]
    if [place[::-1] for place in product(*reversed(values))] != places:
        raise ScenarioError(
            f"{len(members)} NPUs of {fabric.name} that are no full mesh of whole lines",
            remedy="take algorithm `direct`, or NPUs that are one",
        )
    return values


def _port_bps(fabric: Fabric, name: str) -> int:
    """What all links of an NPU carry, each way."""
    ports = fabric.node(name).ports
    return sum(link.rate_bps for port in ports if (link := fabric.link_at(name, port.number)))


def _pair_rates(fabric: Fabric, members: Sequence[str]) -> dict[tuple[int, int], float]:
    """Of the links that join two members, by their ranks; 0 between others."""
    rank_of = {name: rank for rank, name in enumerate(members)}
    rates = {}
    for link in fabric.links:
        a, b = rank_of.get(link.a.node), rank_of.get(link.b.node)
        if a is not None and b is not None:
            rates[a, b] = rates[b, a] = float(link.rate_bps)
    return rates


def _dimension_rates(fabric: Fabric, members: Sequence[str]) -> tuple[float, ...]:
    """What joins two members of a line, by dimension of their grid.

    Where only switches join them, it is what an NPU has to switches, dealt equally to all whom it reaches by
    them.
    """
    inside = set(members)
    values = _values(fabric, members)
    dims = [d for d, there in enumerate(values) if len(there) > 1]
    rates: dict[int, int] = {}
    for link in fabric.links:
        if link.dimension is not None and link.a.node in inside and link.b.node in inside:
            rates[link.dimension] = min(link.rate_bps, rates.get(link.dimension, link.rate_bps))
    peers = sum(len(values[d]) - 1 for d in dims if d not in rates)
    node = fabric.node(members[0])
    links = [fabric.link_at(node.name, port.number) for port in node.ports]
    up = sum(link.rate_bps for link in links if link and link.dimension is None)
    if peers and not up:
        raise ScenarioError(f"NPUs of {fabric.name} that nothing joins", remedy="take algorithm `direct`")
    return tuple(float(rates[d]) if d in rates else up / peers for d in dims)
