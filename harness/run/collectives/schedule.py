# SPDX-License-Identifier: Apache-2.0
"""Schedule of a scenario's collective among the members of a fabric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from emulation.traffic import collectives as c
from emulation.traffic.collectives.declaration import Request
from emulation.traffic.collectives.registry import find
from emulation.traffic.schedule.schedule import Schedule
from harness.errors import ScenarioError
from harness.run.collectives.grids import dimension_rates, grid_of, hop_ps, members_of, pair_rates, split_grid
from harness.scenario.schema import Collective, Part
from topologies import Fabric
from topologies.errors import RailyardError

__all__ = ["fitting", "schedule_of"]


def fitting(fabric: Fabric, collective: Collective) -> Collective:
    """Return the collective with an algorithm suitable for its members.

    The default algorithm of an AllReduce halves the array for a mesh of two dimensions. If the scenario gives
    neither algorithm nor grid, and the members form no such mesh, the AllReduce uses `direct`. Other
    collectives stay.
    """
    if collective.kind != "allreduce" or {"algorithm", "grid"} & collective.model_fields_set:
        return collective
    try:
        halves = len(grid_of(fabric, members_of(fabric, collective.members))) == 2
    except RailyardError:
        halves = False
    return collective if halves else collective.model_copy(update={"algorithm": "direct"})


def schedule_of(
    fabric: Fabric, members: Sequence[str], collective: Collective, *, detours: bool = True
) -> Schedule:
    """Return the schedule of a collective; rank r is `members[r]`.

    With `detours`, routing may send over a third NPU, which the division among several rings considers.

    Raises:
        RailyardError: The algorithm does not fit the members or the data.
    """
    if len(members) < 2:
        raise ScenarioError(
            f"the collective has {len(members)} members, but it needs two or more",
            remedy="give `members:` two or more NPUs",
        )
    algorithm = find(collective.kind).algorithm(collective.algorithm)
    if not algorithm.needs_grid:
        return algorithm.build(_request(collective, (len(members),), collective.elements))
    dims = grid_of(fabric, members)
    parts = split_grid(dims, collective.grid)
    grid = collective.grid or dims
    if collective.kind == "mixture":
        return _mixture(grid, collective)
    request = replace(
        _request(collective, grid, collective.elements),
        detours=detours,
        dimension_rates=lambda: dimension_rates(fabric, members, parts, grid),
        pair_rates=lambda: pair_rates(fabric, members),
        hop_ps=lambda: hop_ps(fabric, collective.payload_bytes),
    )
    return algorithm.build(request)


def _request(collective: Collective, grid: tuple[int, ...], elements: int) -> Request:
    return Request(
        grid,
        elements,
        order=collective.order,
        root=collective.root,
        experts=collective.experts,
        rings=collective.rings,
        single_order=collective.shares == "single-order",
        unscattered_dims=collective.unscattered_dims,
    )


def _part_schedule(part: Part, size: int, shape: tuple[int, ...], elements: int) -> Schedule:
    """Return the schedule of a mixture's part for one group of `size` members with the grid `shape`."""
    algorithm = find(part.kind).algorithm(part.algorithm)
    grid = shape if algorithm.needs_grid else (size,)
    if part.order and max(part.order) >= len(grid):
        raise ScenarioError(
            f"`order: {list(part.order)}` of a part names a dimension that it lacks: it has {len(grid)}",
            remedy="number the dimensions of the part from 0, in the order of `over:`",
        )
    return algorithm.build(Request(grid, elements, order=part.order, experts=part.experts))


def _mixture(grid: tuple[int, ...], collective: Collective) -> Schedule:
    """Return the schedule of a mixture: its parts one after the other, or concurrently.

    In sequence, the part with the largest share uses the whole array, and shares are relative to it. Parts of
    up to half of the array lie side by side in the array, because the many small blocks of one part would cut
    an overlapping part into many small frames. Concurrent parts each use their share of the array.
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
        if find(part.kind).blocks:
            elements -= elements % size
        if elements < 1 or size < 2:
            raise ScenarioError(
                f"the part {part.kind} has {elements} elements and {size} NPUs, but it needs at least one "
                "element and two NPUs",
                remedy="give the mixture more elements, or the part a larger share or other dimensions",
            )
        shape = tuple(grid[d] for d in over)
        schedules.append(c.on_groups(_part_schedule(part, size, shape, elements), groups, ranks))
        small = 2 * elements <= collective.elements
        free = free if free + elements <= collective.elements else 0
        offsets.append(free if small else 0)
        free += elements if small else 0
    if collective.algorithm == "concurrent":
        schedules, offsets = [c.at_once("mixture", schedules)], [0]
    mixture = c.in_sequence("mixture", schedules * collective.rounds, offsets * collective.rounds)
    return replace(mixture, elements=collective.elements)
