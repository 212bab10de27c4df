# SPDX-License-Identifier: Apache-2.0
"""All-to-all over a full mesh, and sends from one rank to another."""

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

from emulation.errors import EmulationError
from emulation.traffic.collectives.cutting import cut, strides
from emulation.traffic.collectives.dimension_wise import Order, check_order
from emulation.traffic.schedule.goals import Goal, Range
from emulation.traffic.schedule.schedule import Combine, Schedule, Transfer

__all__ = ["all_to_all", "direct_all_to_all", "p2p", "pipeline"]


def all_to_all(dims: Sequence[int], block: int, *, orders: Sequence[Order] | None = None) -> Schedule:
    """Return an all-to-all with `block` elements from every rank to every rank.

    UB-Mesh cuts an element in two partitions, sent at the same time over the X and the Y full mesh with at
    most one forwarding hop: on 8 x 8 half a block goes X-first, half Y-first. This function takes any number
    of dimensions, and a partition for each of `orders` (default: all rotations). Along a dimension a rank
    sends each peer of its line all data for the ranks that the peer forwards to. Rail-only's two steps, along
    the rails and then inside the domains (§5), are a single order.

    Block j of rank i ends as block i of rank j. The array holds the partitions one after the other, and in
    each its blocks, sorted by the coordinates of their ranks in the partition's order. A rank's own block
    stays. EmulationError for invalid dimensions, block or orders.
    """
    n = len(dims)
    if n < 1 or min(dims) < 1 or prod(dims) < 2 or block < 1:
        raise EmulationError(
            f"an all-to-all of {block} elements over {tuple(dims)} needs two ranks and one element or more"
        )
    if orders is None:
        orders = [tuple((first + d) % n for d in range(n)) for first in range(n)]
    for order in orders:
        check_order(order, n)
    ranks = prod(dims)
    transfers: list[Transfer] = []
    pieces: list[list[Range]] = [[] for _ in range(ranks)]
    for order, (low, high) in zip(orders, cut(0, block, len(orders)), strict=True):
        if high > low:
            _one_partition(dims, order, low * ranks, high - low, transfers, pieces)
    goal = Goal("all-to-all", tuple(range(ranks)), tuple(map(tuple, pieces)), end=n)
    name = f"all-to-all-{'x'.join(map(str, dims))}"
    return Schedule(name, ranks, block * ranks, tuple(transfers), (goal,))


def _one_partition(
    dims: Sequence[int],
    order: Order,
    base: int,
    size: int,
    transfers: list[Transfer],
    pieces: list[list[Range]],
) -> None:
    """Add the transfers of a partition, one dimension a step, and each rank's own block to `pieces`."""
    stride = strides(dims)
    sizes = [dims[d] for d in order]
    behind = [size * prod(sizes[level + 1 :]) for level in range(len(order))]
    for coordinates in product(*map(range, sizes)):
        me = sum(coordinate * stride[d] for coordinate, d in zip(coordinates, order, strict=True))
        own = base + sum(coordinate * run for coordinate, run in zip(coordinates, behind, strict=True))
        pieces[me].append((own, size))
        for level, mine in enumerate(coordinates):
            run = behind[level]
            for there in range(sizes[level]):
                if there == mine:
                    continue
                peer = me + (there - mine) * stride[order[level]]
                for before in range(prod(sizes[:level])):
                    offset = base + (before * sizes[level] + there) * run
                    shift = (mine - there) * run
                    transfers.append(Transfer(level, me, peer, offset, run, Combine.COPY, shift))


def direct_all_to_all(ranks: int, block: int) -> Schedule:
    """Return an all-to-all in one step: every rank sends every other rank its block over the fabric."""
    transfers = tuple(
        Transfer(0, source, target, target * block, block, Combine.COPY, (source - target) * block)
        for source in range(ranks)
        for target in range(ranks)
        if target != source
    )
    pieces = tuple(((rank * block, block),) for rank in range(ranks))
    goal = Goal("all-to-all", tuple(range(ranks)), pieces, end=1)
    return Schedule(f"all-to-all-direct-{ranks}", ranks, block * ranks, transfers, (goal,))


def p2p(ranks: int, elements: int, pairs: Iterable[tuple[int, int]]) -> Schedule:
    """Return sends of the whole array for (source, target) pairs at once; a rank receives at most once."""
    pairs = tuple(pairs)
    if not pairs:
        raise EmulationError(
            "a point-to-point collective has no pairs", remedy="give one or more pairs (source, target)"
        )
    sources, targets = (tuple(end) for end in zip(*pairs, strict=True))
    transfers = tuple(Transfer(0, *pair, 0, elements, Combine.COPY) for pair in pairs)
    goal = Goal("p2p", sources, (((0, elements),),), targets=targets, end=1)
    return Schedule(f"p2p-{len(pairs)}", ranks, elements, transfers, (goal,))


def pipeline(dims: Sequence[int], elements: int, along: int = -1) -> Schedule:
    """Return a pipeline's sends in steady state: each rank sends its array to the rank of the next stage.

    A rank's stage is its coordinate in dimension `along` (default: the last); the last stage sends nothing.
    """
    along %= len(dims)
    stride = strides(dims)[along]
    pairs = [
        (rank, rank + stride) for rank in range(prod(dims)) if rank // stride % dims[along] < dims[along] - 1
    ]
    return p2p(prod(dims), elements, pairs)
