# SPDX-License-Identifier: Apache-2.0
"""AllReduce, reduce-scatter and all-gather dimension by dimension, always by direct sends along a line.

Along a dimension every rank exchanges parts with each peer of its line in one step: it sends the peer's part
to be reduced, or its own part to be gathered. The array is cut into shares that go through the dimensions in
different orders at the same time, so that all links are busy; `balanced` solves for the shares that minimise
the load of the busiest link.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations, product
from math import prod
from typing import Literal

from emulation.errors import EmulationError
from emulation.traffic.collectives.cutting import cut, cut_by, strides
from emulation.traffic.schedule.goals import Goal, Range
from emulation.traffic.schedule.schedule import Combine, Schedule, Transfer

__all__ = [
    "Order",
    "balanced",
    "bidirectional_dimension_order",
    "check_order",
    "dimension_wise",
    "direct",
    "in_order",
    "load_of",
]

Order = tuple[int, ...]
"""Dimensions in the order in which a share is scattered over them."""

Kind = Literal["allreduce", "reduce-scatter", "all-gather"]


def bidirectional_dimension_order(dims: Sequence[int], elements: int) -> Schedule:
    """Return an AllReduce over a 2D full mesh in two halves at once, the first X-first, the second Y-first.

    Each half: reduce-scatter along its first dimension, then along its second, all-gather along the second,
    then along the first, always by direct sends to all peers of the line. A rank is x + X * y.
    """
    if len(dims) != 2 or min(dims) < 1 or prod(dims) < 2:
        raise EmulationError(
            f"two halves need a mesh of two dimensions and two or more ranks, got dimensions {tuple(dims)}",
            remedy="use the algorithm dimension-wise, which takes any number of dimensions",
        )
    shares = {(0, 1): 1.0, (1, 0): 1.0}
    name = f"allreduce-bidirectional-dimension-order-{dims[0]}x{dims[1]}"
    return dimension_wise(dims, elements, shares=shares, name=name)


def dimension_wise(
    dims: Sequence[int],
    elements: int,
    *,
    kind: Kind = "allreduce",
    shares: dict[Order, float] | None = None,
    unscattered_dims: int = 0,
    name: str = "",
) -> Schedule:
    """Return a collective over a full mesh of any number of dimensions; rank = c0 + k0 * (c1 + k1 * (...)).

    `shares` has the parts of the array by the order in which each goes through the dimensions (default:
    `balanced` for equal links). A rank owns the piece of every share at its coordinates. An AllReduce does
    not scatter over the last `unscattered_dims` dimensions of each order: ranks of a line send each other
    their whole piece. More data then move in fewer steps and far fewer frames, which suits arrays whose
    pieces would have only a few elements. EmulationError for invalid dimensions, orders or shares.
    """
    n = len(dims)
    if n < 1 or min(dims) < 1 or prod(dims) < 2:
        raise EmulationError(
            f"a mesh of dimensions {tuple(dims)} has fewer than two ranks; give larger dimensions"
        )
    if not 0 <= unscattered_dims < n or (unscattered_dims and kind != "allreduce"):
        raise EmulationError(
            f"a collective {kind} over {n} dimensions cannot exchange whole pieces along {unscattered_dims}",
            remedy=f"give unscattered_dims from 0 to {n - 1} for an allreduce, and 0 for other kinds",
        )
    shares = balanced(dims, unscattered_dims=unscattered_dims) if shares is None else shares
    for order in shares:
        check_order(order, n)
    name = name or f"{kind}-{'x'.join(map(str, dims))}"
    return _schedule(tuple(dims), elements, kind, tuple(shares.items()), unscattered_dims, name)


@lru_cache(maxsize=2)
def _schedule(
    dims: tuple[int, ...],
    elements: int,
    kind: Kind,
    shares: tuple[tuple[Order, float], ...],
    unscattered_dims: int,
    name: str,
) -> Schedule:
    """Return the schedule of `dimension_wise`; jobs of equal shape share it."""
    n = len(dims)
    transfers: list[Transfer] = []
    owned: list[list[Range]] = [[] for _ in range(prod(dims))]
    parts = cut_by(0, elements, [weight for _, weight in shares])
    for (order, _), part in zip(shares, parts, strict=True):
        if part[1] > part[0]:
            for rank, piece in _one_share(dims, order, part, kind, unscattered_dims, transfers):
                if piece[1] > piece[0]:
                    owned[rank].append((piece[0], piece[1] - piece[0]))
    everyone = tuple(range(prod(dims)))
    pieces = (((0, elements),),) if kind == "allreduce" else tuple(map(tuple, owned))
    goal = Goal(kind, everyone, pieces, end=2 * n - unscattered_dims if kind == "allreduce" else n)
    return Schedule(name, prod(dims), elements, tuple(transfers), (goal,))


def _one_share(
    dims: Sequence[int],
    order: Order,
    share: tuple[int, int],
    kind: Kind,
    unscattered_dims: int,
    transfers: list[Transfer],
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Add the transfers of a share; yield every rank and its piece (begin, end) of the share."""
    n, depth = len(dims), len(dims) - unscattered_dims
    stride = strides(dims)
    parts: dict[tuple[int, ...], tuple[int, int]] = {(): share}
    for level in range(depth):
        for before in [coordinates for coordinates in parts if len(coordinates) == level]:
            for coordinate, part in enumerate(cut(*parts[before], dims[order[level]])):
                parts[*before, coordinate] = part
    gather = 0 if kind == "all-gather" else n  # the step in which the last dimension is gathered
    append = transfers.append
    for coordinates in product(*(range(dims[d]) for d in order)):
        me = sum(coordinate * stride[d] for coordinate, d in zip(coordinates, order, strict=True))
        for level, (d, mine) in enumerate(zip(order, coordinates, strict=True)):
            scattered = level < depth
            before = coordinates[:level] if scattered else coordinates[:depth]
            own = parts[*before, mine] if scattered else parts[before]
            for coordinate in range(dims[d]):
                if coordinate == mine:
                    continue
                peer = me + (coordinate - mine) * stride[d]
                theirs = parts[*before, coordinate] if scattered else own
                if kind != "all-gather" and theirs[1] > theirs[0]:
                    append(Transfer(level, me, peer, theirs[0], theirs[1] - theirs[0], Combine.REDUCE))
                if kind != "reduce-scatter" and scattered and own[1] > own[0]:
                    step = gather + depth - 1 - level
                    append(Transfer(step, me, peer, own[0], own[1] - own[0], Combine.COPY))
        yield me, parts[coordinates[:depth]]


def direct(ranks: int, elements: int, kind: Kind = "allreduce") -> Schedule:
    """Return the collective on a single line of ranks: every rank sends to every other rank in each step."""
    return dimension_wise((ranks,), elements, kind=kind, shares={(0,): 1.0}, name=f"{kind}-direct-{ranks}")


def check_order(order: Order, dimensions: int) -> None:
    """Raise an EmulationError unless an order names every dimension once."""
    if sorted(order) != list(range(dimensions)):
        raise EmulationError(f"the order {tuple(order)} must name each of {dimensions} dimensions once")


def in_order(dims: Sequence[int]) -> dict[Order, float]:
    """Return a single share through the dimensions in ascending order: few frames, but idle links."""
    return {tuple(range(len(dims))): 1.0}


def load_of(dims: Sequence[int], order: Order, *, unscattered_dims: int = 0) -> list[float]:
    """Return, by dimension, the fraction of the array that an AllReduce sends over each link per direction.

    A reduce-scatter or an all-gather sends half as much. `unscattered_dims` is as in `dimension_wise`.
    """
    load = [0.0] * len(dims)
    left = 1.0
    for level, d in enumerate(order):
        if level < len(order) - unscattered_dims:
            left /= dims[d]
            load[d] = 2 * left if dims[d] > 1 else 0.0
        else:
            load[d] = left if dims[d] > 1 else 0.0
    return load


def balanced(
    dims: Sequence[int], rates: Sequence[float] | None = None, *, unscattered_dims: int = 0
) -> dict[Order, float]:
    """Return the share of the array for each order of the dimensions; the busiest link has the least load.

    `rates` are the link rates of the dimensions, in any unit (default: equal). A linear program, derived
    here, gives the shares. The orders are the rotations of the dimensions, or all permutations if these do
    better. Equal links of 8 x 8 give two halves. `unscattered_dims` is as in `dimension_wise`.
    """
    rates = tuple(float(rate) for rate in rates) if rates else (1.0,) * len(dims)
    if len(rates) != len(dims) or min(rates, default=0.0) <= 0:
        raise EmulationError(
            f"the rates {rates} do not fit {len(dims)} dimensions; give a rate above 0 for each"
        )
    return dict(_balanced(tuple(dims), rates, unscattered_dims))


@lru_cache
def _balanced(
    dims: Order, rates: tuple[float, ...], unscattered_dims: int
) -> tuple[tuple[Order, float], ...]:
    n = len(dims)
    rotations = [tuple((first + d) % n for d in range(n)) for first in range(n)]
    best, shares = _solve(dims, rates, rotations, unscattered_dims)
    if 2 < n <= 6:
        least, others = _solve(dims, rates, list(permutations(range(n))), unscattered_dims)
        if least < 0.999 * best:
            shares = others
    return shares


def _solve(
    dims: Order, rates: tuple[float, ...], orders: list[Order], unscattered_dims: int
) -> tuple[float, tuple[tuple[Order, float], ...]]:
    if len(orders) == 1:
        return 1.0, ((orders[0], 1.0),)
    # Imported here, since importing SciPy takes longer than making a schedule.
    from scipy.optimize import linprog

    fastest = max(rates)
    loads = [load_of(dims, order, unscattered_dims=unscattered_dims) for order in orders]
    limits = [[load[d] * fastest / rates[d] for load in loads] + [-1.0] for d in range(len(dims))]
    cost = [0.0] * len(orders) + [1.0]
    whole = [[1.0] * len(orders) + [0.0]]
    solved = linprog(cost, limits, [0.0] * len(dims), whole, [1.0], method="highs")
    if solved.status != 0:
        raise EmulationError(f"no shares of {len(orders)} orders over {dims} were found: {solved.message}")
    # Round to a millionth, above the solver's rounding errors; users scale the shares to their sum.
    rounded = [(order, round(float(x), 6)) for order, x in zip(orders, solved.x, strict=False)]
    return float(solved.x[-1]), tuple((order, share) for order, share in rounded if share > 0)
