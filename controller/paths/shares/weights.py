# SPDX-License-Identifier: Apache-2.0
"""Shares of paths that minimise the busiest link's load for a demand, and their apportionment to buckets."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from math import gcd
from typing import TypeVar, final

import numpy as np

from controller.errors import PlanError
from controller.paths.finder import PathFinder, distance
from controller.paths.shares.linear_program import SparseMatrix, minimise
from controller.plan.entry import BUCKETS, Pair, Path, hops_of
from topologies import Fabric
from topologies.model.computed_once import computed_once

__all__ = [
    "Demand",
    "SharedLoad",
    "apportion",
    "check_demand",
    "divide",
    "minimise_utilisation",
    "rate_between",
    "share_load",
    "utilisation_bound",
]

T = TypeVar("T")

# Bytes to be sent from one node to another.
Demand = Mapping[Pair, float]

# Cost of one hop of all bytes, in units of the utilisation that the largest demand causes on its own. It is
# enough to prefer the shorter of two equal paths, and too little to make the busiest link any busier.
_HOP_COST = 1e-3

# A share counts as a multiple of 1/16 if the difference is less than _EXACT sixteenths. Shares up to
# _LEAST_SHARE are numerical noise.
_EXACT = 1e-4
_LEAST_SHARE = 1e-4


def rate_between(fabric: Fabric, node: str, neighbour: str, failed: Set[str] = frozenset()) -> int:
    """Return the rate of a hop in bit/s: the sum of the parallel links that have not `failed`.

    A link without parallel links counts even if it has failed.
    """
    if not fabric.has_parallel:
        return fabric.link_between(node, neighbour).rate_bps
    return _rate_of_parallel(fabric, node, neighbour, frozenset(failed))


@computed_once
def _rate_of_parallel(fabric: Fabric, node: str, neighbour: str, failed: frozenset[str]) -> int:
    links = fabric.links_between(node, neighbour)
    return sum(link.rate_bps for link in links if len(links) == 1 or link.name not in failed)


def check_demand(fabric: Fabric, demand: Demand) -> dict[Pair, float]:
    """Return the pairs with traffic; PlanError on an impossible demand."""
    for (source, destination), amount in demand.items():
        fabric.node(source)
        fabric.node(destination)
        if source == destination or not 0 <= amount < float("inf"):
            raise PlanError(
                f"the demand from {source} to {destination} is {amount} bytes",
                remedy="give a finite amount of 0 or more between two different nodes",
            )
    return {pair: amount for pair, amount in demand.items() if amount}


@final
@dataclass(frozen=True, slots=True)
class SharedLoad:
    """Solution of the linear program: shares of each pair's paths, and the prices of hops.

    Attributes:
        shares: Shares of each pair's paths, in the order of the paths.
        utilisation: Utilisation of the busiest hop; 1 is the largest demand alone on the fastest hop.
        fastest: Rate in bit/s of the fastest hop of all paths.
        hop_cost: Cost of a byte on any hop.
        prices: Cost of a byte on each hop, in addition to `hop_cost`.
        pair_costs: Cost of a byte of each pair on its cheapest path of the program.
    """

    shares: dict[Pair, list[float]]
    utilisation: float
    fastest: float
    hop_cost: float
    prices: dict[Pair, float]
    pair_costs: dict[Pair, float]


def minimise_utilisation(
    fabric: Fabric,
    demand: Mapping[Pair, float],
    candidates: Mapping[Pair, Sequence[Path]],
    failed: Set[str] = frozenset(),
) -> dict[Pair, list[float]]:
    """Return shares of each pair's candidates that minimise the largest bytes / rate of a link direction.

    The linear program has a small cost for each hop, so that the shorter of two equally good paths wins.
    The rate of parallel links is the sum of the rates of those links that are not in `failed`.
    """
    return share_load(fabric, demand, candidates, failed).shares


def utilisation_bound(finder: PathFinder, demand: Mapping[Pair, float], fastest: float) -> float:
    """Return a lower bound on the utilisation of the busiest hop, in units of `SharedLoad.utilisation`.

    The bound is the greatest of three: the bytes that a node sends or receives over the rates of its working
    links; the bytes of all pairs, each times its fewest hops, over the rates of all working links; and the
    same with a second hop for the bytes between neighbours that their own link has no capacity for.
    """
    fabric = finder.fabric
    rates: dict[str, int] = {}
    for node in fabric.nodes:
        neighbours = finder.neighbours(node.name)
        rates[node.name] = sum(rate_between(fabric, node.name, other, finder.failed) for other in neighbours)
    sent: dict[str, float] = defaultdict(float)
    received: dict[str, float] = defaultdict(float)
    volume = between_neighbours = 0.0
    direct = 0
    for (source, destination), amount in demand.items():
        sent[source] += amount
        received[destination] += amount
        hops = distance(fabric, source, destination)
        volume += amount * hops
        if hops == 1:
            between_neighbours += amount
            direct += rate_between(fabric, source, destination, finder.failed)
    by_port = [
        amount / rates[node] for counts in (sent, received) for node, amount in counts.items() if rates[node]
    ]
    total = sum(rates.values())
    bounds = (*by_port, volume / total, (volume + between_neighbours) / (total + direct))
    return max(bounds) * fastest / max(demand.values())


def share_load(
    fabric: Fabric,
    demand: Mapping[Pair, float],
    candidates: Mapping[Pair, Sequence[Path]],
    failed: Set[str] = frozenset(),
) -> SharedLoad:
    """Solve the linear program of `minimise_utilisation`; return shares of paths and prices of hops."""
    if not demand:
        return SharedLoad({}, 0.0, 0.0, 0.0, {}, {})
    paths = [(pair, path) for pair in demand for path in candidates[pair]]
    pair_row = {pair: row for row, pair in enumerate(demand)}
    channel_row: dict[Pair, int] = {}
    rates: list[float] = []
    load_rows: list[int] = []
    load_columns: list[int] = []
    amounts: list[float] = []
    for column, (pair, path) in enumerate(paths):
        for hop in hops_of(path):
            if hop not in channel_row:
                channel_row[hop] = len(channel_row)
                rates.append(rate_between(fabric, *hop, failed))
            load_rows.append(channel_row[hop])
            load_columns.append(column)
            amounts.append(demand[pair])
    # Scaled so that the largest demand alone on the fastest hop is a utilisation of 1.
    rate = np.array(rates)
    load = np.array(amounts) / max(demand.values()) / rate[load_rows] * rate.max()
    channels, busiest = len(rates), len(paths)
    # Rows: the load of each hop minus the load of the busiest hop, then the sum of the shares of each pair.
    matrix = SparseMatrix(
        np.concatenate([load_rows, np.arange(channels), [channels + pair_row[pair] for pair, _ in paths]]),
        np.concatenate([load_columns, np.full(channels, busiest), np.arange(len(paths))]),
        np.concatenate([load, -np.ones(channels), np.ones(len(paths))]),
    )
    hops = np.array([demand[pair] * (len(path) - 1) for pair, path in paths])
    cost = np.append(_HOP_COST * hops / sum(demand.values()), 1.0)
    solved = minimise(
        cost,
        matrix,
        np.concatenate([np.full(channels, -np.inf), np.ones(len(demand))]),
        np.concatenate([np.zeros(channels), np.ones(len(demand))]),
    )
    if solved.x is None or solved.row_duals is None:
        raise PlanError(
            f"the linear program for the shares of {len(demand)} pairs failed: {solved.status}",
            remedy="plan without a demand",
        )
    shares: dict[Pair, list[float]] = {pair: [] for pair in demand}
    for (pair, _), share in zip(paths, solved.x, strict=False):
        shares[pair].append(max(float(share), 0.0))
    total = sum(demand.values())
    # Amount that one byte on a hop adds to the hop's row of the linear program.
    unit = rate.max() / max(demand.values()) / rate
    prices = -solved.row_duals[:channels] * unit
    return SharedLoad(
        shares=shares,
        utilisation=float(solved.x[busiest]),
        fastest=float(rate.max()),
        hop_cost=_HOP_COST / total,
        prices=dict(zip(channel_row, prices.tolist(), strict=True)),
        pair_costs={
            pair: float(cost) / demand[pair]
            for pair, cost in zip(demand, solved.row_duals[channels:], strict=True)
        },
    )


def apportion(
    paths: Sequence[T], weights: Sequence[float], offset: int = 0, buckets: int = BUCKETS
) -> tuple[T, ...]:
    """Apportion buckets, by default 16, to paths in proportion to the weights, by largest remainder.

    The buckets of a path are spread over the range, so that a sender that takes the buckets in order sends
    evenly. If there are more paths of equal weight than buckets, `offset` decides which paths have no bucket,
    so that pairs with different offsets use different paths.
    """
    order = _spread_order(len(paths), offset, buckets)
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise PlanError(
            f"the weights {list(weights)} do not fit {len(paths)} paths",
            remedy="give a weight of 0 or more for each path, and at least one above 0",
        )
    quotas = [buckets * weight / total for weight in weights]
    counts = [int(quota) for quota in quotas]
    # Rounded, so that quotas which differ only by floating-point noise are ties and the earlier path wins.
    by_remainder = sorted(range(len(paths)), key=lambda at: (round(counts[at] - quotas[at], 9), order[at]))
    for at in by_remainder[: buckets - sum(counts)]:
        counts[at] += 1
    slots = sorted(((turn + 0.5) / count, at) for at, count in enumerate(counts) for turn in range(count))
    return tuple(paths[at] for _, at in slots)


def divide(
    paths: Sequence[T], shares: Sequence[float], offset: int = 0
) -> tuple[tuple[T, ...], tuple[float, ...] | None]:
    """Return each bucket's path, and each bucket's weight, or None for the weights if all are equal.

    If all shares are multiples of 1/16, the number of buckets expresses them. Otherwise the weights keep the
    exact shares: each path with a share has at least one bucket, or the 16 largest shares if there are more.
    """
    whole = [round(share * BUCKETS) for share in shares]
    if all(abs(share * BUCKETS - count) < _EXACT for share, count in zip(shares, whole, strict=True)):
        return apportion(paths, shares, offset), None
    ranked = sorted(range(len(paths)), key=lambda at: (-round(shares[at], 9), at))[:BUCKETS]
    # Of thousands of paths with equal shares all shares are small, and the first 16 paths are used.
    least = min(_LEAST_SHARE, max(shares) / 2)
    kept = sorted(at for at in ranked if shares[at] > least)
    counts = dict.fromkeys(kept, 1)
    for _ in range(BUCKETS - len(kept)):
        counts[max(kept, key=lambda at: (shares[at] / counts[at], -at))] += 1
    slots = sorted(((turn + 0.5) / count, at) for at, count in counts.items() for turn in range(count))
    total = sum(shares[at] for at in kept)
    weights = tuple(shares[at] / counts[at] / total for _, at in slots)
    return tuple(paths[at] for _, at in slots), weights


def _spread_order(count: int, turn: int, buckets: int) -> Sequence[int]:
    """Return the rank of each of `count` paths in an order of preference with adjacent paths set apart."""
    if count <= buckets:
        return range(count)
    step = next(step for step in range(round(count * 0.618), count) if gcd(step, count) == 1)
    return [(at - turn) * step % count for at in range(count)]
