# SPDX-License-Identifier: Apache-2.0
"""Schedule of a scenario's collective among the members of a fabric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from emulation.traffic import collectives as c
from emulation.traffic.schedule.schedule import Schedule
from lab.errors import ScenarioError
from lab.run.grids import dimension_rates, grid_of, pair_rates, split_grid
from lab.scenario.schema import Collective, Part
from topologies import Fabric

__all__ = ["schedule_of"]


def schedule_of(
    fabric: Fabric, members: Sequence[str], collective: Collective, *, detours: bool = True
) -> Schedule:
    """Return the schedule, whose rank r is `members[r]`.

    Args:
        fabric: Fabric of the members.
        members: Names of the nodes that take part, by rank.
        collective: Kind, algorithm and data.
        detours: Whether routing may send over a third NPU; the split over several rings uses it.

    Raises:
        RailyardError: The algorithm does not fit the members or the data.
    """
    if len(members) < 2:
        raise ScenarioError(f"a collective of {len(members)} NPUs", remedy="take two or more NPUs")
    elements = collective.elements
    parts: tuple[int, ...] = (0,)
    if collective.algorithm == "direct":
        grid: tuple[int, ...] = (len(members),)
    else:
        dims = grid_of(fabric, members)
        parts = split_grid(dims, collective.grid)
        grid = collective.grid or dims
    match collective.algorithm:
        case "bidirectional-dimension-order":
            return c.bidirectional_dimension_order(grid, elements)
        case "ring":
            return c.allreduce_ring(range(grid[0]) if len(grid) == 1 else c.mesh_ring(grid), elements)
        case "rings" | "bidirectional-rings":
            return _rings(fabric, members, grid, collective, detours)
        case "sequential" | "concurrent":
            return _mixture(grid, collective)
    solved = collective.algorithm == "dimension-wise" and collective.shares == "balanced"
    rates = dimension_rates(fabric, members, parts, grid) if solved and not collective.order else None
    return _plain_schedule(collective, grid, elements, rates)


def _plain_schedule(
    collective: Collective | Part, grid: tuple[int, ...], elements: int, rates: Sequence[float] | None
) -> Schedule:
    """Return the schedule of any algorithm but rings, mixtures and bidirectional dimension order.

    `elements` is the length of an NPU's array; `rates` are bits per second by dimension.
    """
    is_direct = collective.algorithm == "direct"
    ranks = prod(grid)
    match collective.kind:
        case "allreduce" | "reduce-scatter" | "all-gather" as kind:
            if is_direct:
                return c.direct(ranks, elements, kind)
            exchange = collective.exchange if isinstance(collective, Collective) else 0
            if collective.order:
                # An all-gather runs through the dimensions in reverse.
                shares = {collective.order[::-1] if kind == "all-gather" else collective.order: 1.0}
            elif isinstance(collective, Collective) and collective.shares == "single-order":
                shares = c.in_order(grid)
            else:
                shares = c.balanced(grid, rates, exchange=exchange)
            return c.dimension_wise(grid, elements, kind=kind, shares=shares, exchange=exchange)
        case "all-to-all":
            block = _block(elements, ranks)
            orders = [collective.order] if collective.order else None
            return (
                c.direct_all_to_all(ranks, block) if is_direct else c.all_to_all(grid, block, orders=orders)
            )
        case "broadcast" | "reduce":
            root = collective.root if isinstance(collective, Collective) else 0
            if root >= ranks:
                raise ScenarioError(f"root {root} of {ranks} NPUs", remedy=f"take 0 to {ranks - 1}")
            schedule = c.broadcast if collective.kind == "broadcast" else c.reduce
            return schedule(grid, elements, root, direct=is_direct)
        case "dispatch" | "combine":
            schedule = c.dispatch if collective.kind == "dispatch" else c.combine
            # Experts are the same for any data, hence a seed of their own.
            chosen = c.experts(ranks, collective.experts, seed=1)
            return schedule(grid, _block(elements, ranks), chosen, direct=is_direct)
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
            remedy="take members that form a line of one dimension",
        )
    disjoint = c.rings(grid[0], "directed" if collective.algorithm == "rings" else "undirected")
    if (collective.rings or 1) > len(disjoint):
        raise ScenarioError(
            f"{collective.rings} rings on {grid[0]} NPUs that share no link",
            remedy=f"take up to {len(disjoint)}",
        )
    chosen = disjoint[: collective.rings]
    rates = pair_rates(fabric, members)
    if len(rates) < grid[0] * (grid[0] - 1):
        rates = {}  # switches join the members: all links count as equal
    split = c.balanced_rings(chosen, rates, detours=detours)
    return c.multi_ring(chosen, collective.elements, split.shares)


def _mixture(grid: tuple[int, ...], collective: Collective) -> Schedule:
    """Return the parts one after the other on one array, or concurrently, each on its share of the array.

    In sequence the largest part works on the whole array. Parts of up to half of the array lie side by side,
    because the many small blocks of one part would cut overlapping parts into as many frames.
    """
    shares = [part.share for part in collective.parts]
    whole = max(shares) if collective.algorithm == "sequential" else sum(shares)
    ranks = prod(grid)
    schedules: list[Schedule] = []
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
        if part.order and max(part.order) >= len(shape):
            raise ScenarioError(
                f"order {list(part.order)} of a part over {len(shape)} dimensions",
                remedy="number the dimensions that the part is over from 0",
            )
        schedules.append(c.on_groups(_plain_schedule(part, shape, elements, None), groups, ranks))
        small = 2 * elements <= collective.elements
        free = free if free + elements <= collective.elements else 0
        offsets.append(free if small else 0)
        free += elements if small else 0
    if collective.algorithm == "concurrent":
        schedules, offsets = [c.at_once("mixture", schedules)], [0]
    mixture = c.in_sequence("mixture", schedules * collective.rounds, offsets * collective.rounds)
    return replace(mixture, elements=collective.elements)
