# SPDX-License-Identifier: Apache-2.0
"""AllReduce, reduce-scatter and all-gather dimension by dimension, always by direct sends along a line.

Along one dimension every rank sends to each peer of its line the part that the peer shall have: one step.
The array is cut into shares that go through the dimensions in different orders at the same time, so that all
links are busy; `balanced` solves for the shares that keep the busiest link least busy.
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
    """AllReduce over a 2D full mesh in two halves at once, the first X-first, the second Y-first.

    Each half: reduce-scatter along its first dimension, then along its second, all-gather back along the
    second, then along the first, always by direct sends to all peers of the line. A rank is x + X * y.
    """
    if len(dims) != 2 or min(dims) < 1 or prod(dims) < 2:
        raise EmulationError(
            f"mesh of dimensions {tuple(dims)}: halves need two, and two ranks or more",
            remedy="algorithm dimension-wise takes any number of dimensions",
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
    exchange: int = 0,
    name: str = "",
) -> Schedule:
    """A collective over a full mesh of any number of dimensions; rank = c0 + k0 * (c1 + k1 * (...)).

    `shares` are parts of the array by the order in which each goes through the dimensions (default:
    `balanced` for equal links). Of every share a rank owns the piece at its place in that order. In an
    AllReduce the last `exchange` dimensions of each order are not scattered over: ranks of a line send each
    other their whole piece, which moves more data in fewer steps and far fewer frames, right for arrays that
    would come to pieces of a few elements.
    """
    n = len(dims)
    if n < 1 or min(dims) < 1 or prod(dims) < 2:
        raise EmulationError(f"mesh of dimensions {tuple(dims)}: it takes two ranks or more")
    if not 0 <= exchange < n or (exchange and kind != "allreduce"):
        raise EmulationError(
            f"{kind} over {n} dimensions that exchanges whole pieces along {exchange}",
            remedy=f"an allreduce does so along 0 to {n - 1} dimensions, nothing else does",
        )
    shares = balanced(dims, exchange=exchange) if shares is None else shares
    for order in shares:
        check_order(order, n)
    transfers: list[Transfer] = []
    owned: list[list[Range]] = [[] for _ in range(prod(dims))]
    for order, part in zip(shares, cut_by(0, elements, list(shares.values())), strict=True):
        if part[1] > part[0]:
            for rank, piece in _one_share(dims, order, part, kind, exchange, transfers):
                if piece[1] > piece[0]:
                    owned[rank].append((piece[0], piece[1] - piece[0]))
    everyone = tuple(range(prod(dims)))
    pieces = (((0, elements),),) if kind == "allreduce" else tuple(map(tuple, owned))
    goal = Goal(kind, everyone, pieces, end=2 * n - exchange if kind == "allreduce" else n)
    name = name or f"{kind}-{'x'.join(map(str, dims))}"
    return Schedule(name, prod(dims), elements, tuple(transfers), (goal,))


def _one_share(
    dims: Sequence[int],
    order: Order,
    share: tuple[int, int],
    kind: Kind,
    exchange: int,
    transfers: list[Transfer],
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Adds the transfers of one share; yields every rank and the piece of it that the rank owns."""
    n, depth = len(dims), len(dims) - exchange
    stride = strides(dims)
    parts: dict[tuple[int, ...], tuple[int, int]] = {(): share}
    for level in range(depth):
        for before in [places for places in parts if len(places) == level]:
            for place, part in enumerate(cut(*parts[before], dims[order[level]])):
                parts[*before, place] = part
    gather = 0 if kind == "all-gather" else n  # the step in which the last dimension is gathered
    append = transfers.append
    for places in product(*(range(dims[d]) for d in order)):
        me = sum(place * stride[d] for place, d in zip(places, order, strict=True))
        for level, (d, mine) in enumerate(zip(order, places, strict=True)):
            scattered = level < depth
            before = places[:level] if scattered else places[:depth]
            own = parts[*before, mine] if scattered else parts[before]
            for place in range(dims[d]):
                if place == mine:
                    continue
                peer = me + (place - mine) * stride[d]
                theirs = parts[*before, place] if scattered else own
                if kind != "all-gather" and theirs[1] > theirs[0]:
                    append(Transfer(level, me, peer, theirs[0], theirs[1] - theirs[0], Combine.REDUCE))
                if kind != "reduce-scatter" and scattered and own[1] > own[0]:
                    step = gather + depth - 1 - level
                    append(Transfer(step, me, peer, own[0], own[1] - own[0], Combine.COPY))
        yield me, parts[places[:depth]]


def direct(ranks: int, elements: int, kind: Kind = "allreduce") -> Schedule:
    """The collective on one line of ranks, every rank sending to every other: one step each way."""
    return dimension_wise((ranks,), elements, kind=kind, shares={(0,): 1.0}, name=f"{kind}-direct-{ranks}")


def check_order(order: Order, dimensions: int) -> None:
    """EmulationError unless it names every dimension once."""
    if sorted(order) != list(range(dimensions)):
        raise EmulationError(f"order {tuple(order)}: it must name each of {dimensions} dimensions once")


def in_order(dims: Sequence[int]) -> dict[Order, float]:
    """One share that goes through the dimensions as they come: fewest frames, idle links."""
    return {tuple(range(len(dims))): 1.0}


def load_of(dims: Sequence[int], order: Order, *, exchange: int = 0) -> list[float]:
    """What an AllReduce in this order brings to each link of a dimension, each way, as a share of the array.

    Reduce-scatter or all-gather alone bring half of it.
    """
    load = [0.0] * len(dims)
    left = 1.0
    for level, d in enumerate(order):
        if level < len(order) - exchange:
            left /= dims[d]
            load[d] = 2 * left if dims[d] > 1 else 0.0
        else:
            load[d] = left if dims[d] > 1 else 0.0
    return load


def balanced(
    dims: Sequence[int], rates: Sequence[float] | None = None, *, exchange: int = 0
) -> dict[Order, float]:
    """Shares, by order, that keep the busiest link least busy; `rates` are those of a link by dimension.

    A linear program (derived here): over the rotations of the dimensions, which are as many as there are
    dimensions, and over all permutations only where those do better. Equal links of 8 x 8 give two halves.
    """
    rates = tuple(float(rate) for rate in rates) if rates else (1.0,) * len(dims)
    if len(rates) != len(dims) or min(rates, default=0.0) <= 0:
        raise EmulationError(f"rates {rates} of {len(dims)} dimensions: each has one, above 0")
    return dict(_balanced(tuple(dims), rates, exchange))


@lru_cache
def _balanced(dims: Order, rates: tuple[float, ...], exchange: int) -> tuple[tuple[Order, float], ...]:
    n = len(dims)
    rotations = [tuple((first + d) % n for d in range(n)) for first in range(n)]
    best, shares = _solve(dims, rates, rotations, exchange)
    if 2 < n <= 6:
        least, others = _solve(dims, rates, list(permutations(range(n))), exchange)
        if least < 0.999 * best:
            shares = others
    return shares


def _solve(
    dims: Order, rates: tuple[float, ...], orders: list[Order], exchange: int
) -> tuple[float, tuple[tuple[Order, float], ...]]:
    if len(orders) == 1:
        return 1.0, ((orders[0], 1.0),)
    # Loaded here: it takes longer to import than a schedule to make.
    from scipy.optimize import linprog

    fastest = max(rates)
    loads = [load_of(dims, order, exchange=exchange) for order in orders]
    limits = [[load[d] * fastest / rates[d] for load in loads] + [-1.0] for d in range(len(dims))]
    cost = [0.0] * len(orders) + [1.0]
    whole = [[1.0] * len(orders) + [0.0]]
    solved = linprog(cost, limits, [0.0] * len(dims), whole, [1.0], method="highs")
    if solved.status != 0:
        raise EmulationError(f"shares of {len(orders)} orders over {dims}: {solved.message}")
    # To a millionth: what is below is the solver's rounding, and the sum is scaled anyway.
    found = [(order, round(float(x), 6)) for order, x in zip(orders, solved.x, strict=False)]
    return float(solved.x[-1]), tuple((order, share) for order, share in found if share > 0)
