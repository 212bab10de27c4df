# SPDX-License-Identifier: Apache-2.0
"""AllReduce along rings in all dimensions of a full mesh at once, and along rings of otherwise idle links.

The rings of a dimension exist in each of its lines: a rack of 8 x 8 has the rings of a board in each of its
8 boards and in each of its 8 columns. The array is cut into shares that take the dimensions in different
orders, so that all dimensions are busy at the same time: half of the array goes round the rings of X first,
half round the rings of Y. A share is cut into ring schedules, each of which uses one ring of each line.

Walecki's cycles leave a perfect matching of every line of even length idle. UB-Mesh borrows idle links (the
paper's section on multi-ring AllReduce, which does not say how). The method is derived here: an NPU of two
dimensions has an idle link in each, so the idle links of the mesh form cycles that change the dimension at
every NPU. The cycles of different lines visit NPUs in different orders, chosen such that the idle links
form a single cycle through all NPUs. This cycle gives two more rings, one in each direction.

Detours of a ring's hops over idle links would not help. With the same cycles in every line, the idle links
form separate squares of four NPUs, and no two NPUs of a square are neighbours on a ring. So every path
between neighbours needs a link that a ring uses.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise, product
from math import prod
from typing import Literal, final

from emulation.errors import EmulationError
from emulation.traffic.collectives.cutting import cut, cut_by, lines
from emulation.traffic.collectives.dimension_wise import Order, balanced, load_of
from emulation.traffic.collectives.rings import Arc, Ring, arcs_of, check_rings, pass_on, rings, walecki
from emulation.traffic.collectives.split import balanced_rings
from emulation.traffic.schedule.goals import Goal
from emulation.traffic.schedule.schedule import Combine, Schedule, Transfer

__all__ = [
    "MeshRings",
    "RingSchedule",
    "borrowing_rings",
    "mesh_multi_ring",
    "mesh_rings",
    "split_over_rings",
]

_MOST_TRIES = 10_000
# Parts of the array up to this fraction are rounding errors.
_LEAST_SHARE = 1e-7


@final
@dataclass(frozen=True, slots=True)
class MeshRings:
    """Rings of a full mesh sharing no directed link.

    Attributes:
        dims: Dimensions of the mesh; a rank is c0 + k0 * (c1 + k1 * (...)).
        along: Rings of each dimension, over positions 0 to n - 1 in a line; all lines have these rings.
        lines: Ranks of each line of each dimension, in order of their positions.
        around: Rings that visit all ranks of the mesh.
    """

    dims: tuple[int, ...]
    along: tuple[tuple[Ring, ...], ...]
    lines: tuple[tuple[tuple[int, ...], ...], ...]
    around: tuple[Ring, ...] = ()

    def arcs(self) -> Iterator[Arc]:
        """Yield the directed links of all rings."""
        for rings_of_line, lines_of_dimension in zip(self.along, self.lines, strict=True):
            for line, ring in product(lines_of_dimension, rings_of_line):
                yield from ((line[a], line[b]) for a, b in arcs_of(ring))
        for ring in self.around:
            yield from arcs_of(ring)


def mesh_rings(
    dims: Sequence[int], kind: Literal["undirected", "directed"] = "directed", count: int | None = None
) -> MeshRings:
    """Return the first `count` disjoint rings of each line, or all; `rings` explains `kind`."""
    along = tuple(rings(size, kind) for size in dims)
    fewest = min(map(len, along))
    if count is not None and count > fewest:
        raise EmulationError(
            f"lines of {' and '.join(map(str, dims))} NPUs do not have {count} rings that share no link",
            remedy=f"take up to {fewest} rings",
        )
    drawn = tuple(tuple(lines(dims, (d,))) for d in range(len(dims)))
    return MeshRings(tuple(dims), tuple(each[:count] for each in along), drawn)


@lru_cache
def borrowing_rings(dims: tuple[int, ...]) -> MeshRings:
    """Return rings on Walecki's cycles in every line, and two rings on the links left idle by the cycles.

    The order of the ranks in each line is drawn at random, from a fixed seed, until the idle links form a
    single cycle. EmulationError unless there are two dimensions, each of an even size of at least 4.
    """
    if len(dims) != 2 or any(size < 4 or size % 2 for size in dims):
        raise EmulationError(
            f"a mesh of dimensions {dims} has no rings of idle links: {_lacking(dims)}",
            remedy="take algorithm `rings`, which leaves no link idle, or `bidirectional-rings`",
        )
    dice = random.Random(prod(dims))
    matchings = [walecki(size)[1] for size in dims]
    for _ in range(_MOST_TRIES):
        drawn = [[tuple(dice.sample(line, len(line))) for line in lines(dims, (d,))] for d in range(2)]
        peers: list[dict[int, int]] = [{}, {}]
        for peer, matching, lines_of_dimension in zip(peers, matchings, drawn, strict=True):
            for line, (a, b) in product(lines_of_dimension, matching):
                peer[line[a]], peer[line[b]] = line[b], line[a]
        cycle = [0]
        while (after := peers[len(cycle) % 2][cycle[-1]]) != 0:
            cycle.append(after)
        if len(cycle) == prod(dims):
            along = tuple(rings(size, "undirected") for size in dims)
            around = (tuple(cycle), (0, *reversed(cycle[1:])))
            check_rings(around)
            return MeshRings(dims, along, tuple(map(tuple, drawn)), around)
    raise EmulationError(
        f"the idle links of a mesh of dimensions {dims} form no cycle", remedy="take algorithm `rings`"
    )


def _lacking(dims: Sequence[int]) -> str:
    """Return the reason why a mesh has no rings of idle links, for an error message."""
    if len(dims) != 2:
        return f"expected 2 dimensions, got {len(dims)}"
    unfit = [f"{size} is {'odd' if size % 2 else 'too small'}" for size in dims if size < 4 or size % 2]
    return f"expected two even sizes from 4, but {' and '.join(unfit)}"


@final
@dataclass(frozen=True, slots=True)
class RingSchedule:
    """A part of the array with its order of dimensions, and one ring of each line.

    `rings[i]` is the index of the ring along dimension `order[i]`; `share` is a fraction of the whole array.
    """

    order: Order
    rings: tuple[int, ...]
    share: float


def split_over_rings(
    mesh: MeshRings, rates: Mapping[Arc, float] | None = None, *, detours: bool = False, step: float = 0.0
) -> tuple[tuple[RingSchedule, ...], tuple[float, ...]]:
    """Return ring schedules, and shares of `mesh.around`, for the least load of the busiest link.

    `balanced_rings` splits the data of a dimension over its rings, `balanced` splits the array over orders of
    dimensions. A ring of `mesh.around` gets the data that its slowest link carries in the time of the other
    rings, less the fixed time of its many steps.

    Args:
        mesh: Rings along the dimensions, and around the mesh.
        rates: Rates of directed links, 1 by default, 0 for a failed link.
        detours: Whether hops of rings along dimensions may also go over third ranks.
        step: Fixed time of a step of a ring around, in units of an array over a rate of 1.
    """
    rates = rates or {}
    along: list[Sequence[float]] = []
    line_rates: list[float] = []
    for size, rings_of_line, lines_of_dimension in zip(mesh.dims, mesh.along, mesh.lines, strict=True):
        slowest = {
            (a, b): min(rates.get((line[a], line[b]), 1.0) for line in lines_of_dimension)
            for a, b in product(range(size), repeat=2)
            if a != b
        }
        split = balanced_rings(rings_of_line, slowest, detours=detours)
        along.append(split.shares)
        # With direct links of this rate between all ranks of a line, data take as long as on the rings.
        line_rates.append(2 / size / split.time)
    orders = balanced(mesh.dims, line_rates)
    total = sum(orders.values())
    around_rates = [min(rates.get(arc, 1.0) for arc in arcs_of(ring)) for ring in mesh.around]
    busiest = max(
        sum(share * load_of(mesh.dims, order)[d] for order, share in orders.items()) / total / rate
        for d, rate in enumerate(line_rates)
    )
    # `paces`: number of arrays that each ring around the whole mesh carries in a unit of time. If these rings
    # carry a share s of the array, they take s / sum(paces) + wait. The rings along the dimensions carry the
    # rest, and take (1 - s) * busiest.
    steps = 2 * (prod(mesh.dims) - 1)
    paces, wait = [rate * prod(mesh.dims) / steps for rate in around_rates], steps * step
    borrowed = max(0.0, sum(paces) * (busiest - wait) / (1 + sum(paces) * busiest))
    result = tuple(
        RingSchedule(order, numbers, share / total * part * (1 - borrowed))
        for order, share in orders.items()
        for numbers, part in _merged([along[d] for d in order])
    )
    return result, tuple(borrowed * pace / (sum(paces) or 1.0) for pace in paces)


def _merged(splits: Sequence[Sequence[float]]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield (index of a ring in each split, share); the shares with a ring add up to its share in the split.

    The shares of each split fill the interval from 0 to 1. The ends of all shares cut it into the results.
    """
    ends = [list(accumulate(split)) for split in splits]
    cuts = sorted({0.0, *(end / each[-1] for each in ends for end in each)})
    for low, high in pairwise(cuts):
        if high - low > _LEAST_SHARE:
            middle = (low + high) / 2
            yield tuple(sum(end / each[-1] < middle for end in each) for each in ends), high - low


def mesh_multi_ring(
    mesh: MeshRings,
    elements: int,
    rates: Mapping[Arc, float] | None = None,
    *,
    detours: bool = False,
    step: float = 0.0,
) -> Schedule:
    """Return an AllReduce along all rings at once; `split_over_rings` explains arguments and shares.

    A ring schedule reduces and scatters its part round the rings of its first dimension, then of the next,
    and gathers it in the reverse order of dimensions.
    """
    ring_schedules, around = split_over_rings(mesh, rates, detours=detours, step=step)
    transfers: list[Transfer] = []
    parts = cut_by(0, elements, [*(own.share for own in ring_schedules), *around])
    for own, part in zip(ring_schedules, parts, strict=False):
        transfers += _ring_transfers(mesh, own, part)
    for ring, part in zip(mesh.around, parts[len(ring_schedules) :], strict=True):
        transfers += pass_on(ring, part)
    ranks = prod(mesh.dims)
    steps = max(2 * (ranks - 1) if mesh.around else 0, 2 * sum(size - 1 for size in mesh.dims))
    goal = Goal("allreduce", tuple(range(ranks)), (((0, elements),),), end=steps)
    count = "-".join(str(len(each)) for each in mesh.along) + (f"-{len(around)}" if around else "")
    name = f"allreduce-{count}-rings-{'x'.join(map(str, mesh.dims))}"
    return Schedule(name, ranks, elements, tuple(transfers), (goal,))


def _ring_transfers(mesh: MeshRings, rings: RingSchedule, part: tuple[int, int]) -> Iterator[Transfer]:
    """Yield the transfers of a ring schedule; a rank owns the piece at its coordinates."""
    sizes = [mesh.dims[d] for d in rings.order]
    pieces: dict[tuple[int, ...], tuple[int, int]] = {(): part}
    for level, size in enumerate(sizes):
        for before in [prefix for prefix in pieces if len(prefix) == level]:
            pieces |= {
                (*before, position): piece for position, piece in enumerate(cut(*pieces[before], size))
            }
    coordinates = _coordinates(mesh.dims, rings.order)
    reduced = sum(size - 1 for size in sizes)
    for level, (d, number) in enumerate(zip(rings.order, rings.rings, strict=True)):
        before, behind = sum(size - 1 for size in sizes[:level]), sum(size - 1 for size in sizes[level + 1 :])
        for line in mesh.lines[d]:
            ring = [line[position] for position in mesh.along[d][number]]
            owned = [pieces[coordinates[rank][: level + 1]] for rank in ring]
            for (at, source), step in product(enumerate(ring), range(len(ring) - 1)):
                target = ring[(at + 1) % len(ring)]
                low, high = owned[at - 1 - step]
                if high > low:
                    yield Transfer(before + step, source, target, low, high - low, Combine.REDUCE)
                low, high = owned[at - step]
                if high > low:
                    yield Transfer(reduced + behind + step, source, target, low, high - low, Combine.COPY)


def _coordinates(dims: Sequence[int], order: Order) -> list[tuple[int, ...]]:
    """Return the coordinates of each rank, with the dimensions in the given order."""
    ranks = [reverse[::-1] for reverse in product(*(range(size) for size in reversed(dims)))]
    return [tuple(rank[d] for d in order) for rank in ranks]
