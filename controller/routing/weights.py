# SPDX-License-Identifier: Apache-2.0
"""Shares of paths: equal, by rate, or minimising the busiest link's load for a demand; and apportionment."""

from collections.abc import Mapping, Sequence, Set
from math import gcd
from typing import TypeVar

import numpy as np

from controller.errors import PlanError
from controller.plan import BUCKETS, Path
from controller.routing.paths import hops_of, ocs_dimensions
from topologies import Fabric

__all__ = ["Demand", "Pair", "apportion", "check_demand", "minimise_utilisation", "rate_weights"]

T = TypeVar("T")

Pair = tuple[str, str]

# Bytes to be sent from one node to another.
Demand = Mapping[Pair, float]

# Cost of a hop, in units of the utilisation that the largest demand causes on its own: enough to choose the
# short path among equals, too little to make the busiest link any busier.
_HOP_COST = 1e-3


def rate_weights(fabric: Fabric, paths: Sequence[Path], failed: Set[str] = frozenset()) -> list[float]:
    """Return each path's bottleneck rate divided by its hops; parallel links that have not `failed` add up.

    On a path over circuits of a core only the circuits count: all sources of a Pod share them.
    """
    core = ocs_dimensions(fabric)
    rates: list[float] = []
    for path in paths:
        hops = list(hops_of(path))
        shared = [hop for hop in hops if hop[0] in core and hop[1] in core] if core else []
        rates.append(min(_rate(fabric, *hop, failed) for hop in shared or hops) / len(hops))
    return rates


def _rate(fabric: Fabric, node: str, neighbour: str, failed: Set[str] = frozenset()) -> int:
    if not fabric.has_parallel:
        return fabric.link_between(node, neighbour).rate_bps
    links = fabric.links_between(node, neighbour)
    return sum(link.rate_bps for link in links if len(links) == 1 or link.name not in failed)


def check_demand(fabric: Fabric, demand: Demand) -> dict[Pair, float]:
    """Return the pairs with traffic; PlanError on an impossible demand."""
    for (source, destination), amount in demand.items():
        fabric.node(source)
        fabric.node(destination)
        if source == destination or not 0 <= amount < float("inf"):
            raise PlanError(
                f"demand of {amount} bytes from {source} to {destination}",
                remedy="give a finite amount, not negative, between two different nodes",
            )
    return {pair: amount for pair, amount in demand.items() if amount}


def minimise_utilisation(
    fabric: Fabric, demand: Mapping[Pair, float], candidates: Mapping[Pair, Sequence[Path]]
) -> dict[Pair, list[float]]:
    """Return shares of each pair's candidates that minimise the largest bytes / rate of a link direction.

    Among equals, fewer hops win: a linear program with a small cost a hop.
    """
    if not demand:
        return {}
    # Imported here: importing takes longer than planning, and only plans with a demand need the solver.
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

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
                rates.append(_rate(fabric, *hop))
            load_rows.append(channel_row[hop])
            load_columns.append(column)
            amounts.append(demand[pair])
    # Scaled so that the largest demand alone on the fastest link is a utilisation of 1.
    rate = np.array(rates)
    load = np.array(amounts) / max(demand.values()) / rate[load_rows] * rate.max()
    channels, busiest = len(rates), len(paths)
    limits = csr_array(
        (
            np.concatenate([load, -np.ones(channels)]),
            (
                np.concatenate([load_rows, np.arange(channels)]),
                np.concatenate([load_columns, np.full(channels, busiest)]),
            ),
        ),
        shape=(channels, busiest + 1),
    )
    whole = csr_array(
        (np.ones(len(paths)), ([pair_row[pair] for pair, _ in paths], np.arange(len(paths)))),
        shape=(len(demand), busiest + 1),
    )
    hops = np.array([demand[pair] * (len(path) - 1) for pair, path in paths])
    cost = np.append(_HOP_COST * hops / sum(demand.values()), 1.0)
    solved = linprog(cost, limits, np.zeros(channels), whole, np.ones(len(demand)), method="highs")
    if solved.status != 0:
        raise PlanError(f"shares of {len(demand)} pairs: {solved.message}", remedy="plan without a demand")
    shares: dict[Pair, list[float]] = {pair: [] for pair in demand}
    for (pair, _), share in zip(paths, solved.x, strict=False):
        shares[pair].append(max(float(share), 0.0))
    return shares


def apportion(
    paths: Sequence[T], weights: Sequence[float], offset: int = 0, buckets: int = BUCKETS
) -> tuple[T, ...]:
    """Apportion buckets, by default 16, to paths in proportion to the weights, by largest remainder.

    The buckets of a path are spread over the range, so a sender that counts through them sends evenly. If
    there are more paths of equal weight than buckets, `offset` decides which paths have none, so that pairs
    with different offsets use different paths.
    """
    order = _spread_order(len(paths), offset, buckets)
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise PlanError(
            f"weights {list(weights)} of {len(paths)} paths", remedy="give one above 0, none below"
        )
    quotas = [buckets * weight / total for weight in weights]
    counts = [int(quota) for quota in quotas]
    # Rounded, so that quotas which differ only by floating-point noise are ties and the earlier path wins.
    by_remainder = sorted(range(len(paths)), key=lambda at: (round(counts[at] - quotas[at], 9), order[at]))
    for at in by_remainder[: buckets - sum(counts)]:
        counts[at] += 1
    slots = sorted(((turn + 0.5) / count, at) for at, count in enumerate(counts) for turn in range(count))
    return tuple(paths[at] for _, at in slots)


def _spread_order(count: int, turn: int, buckets: int) -> Sequence[int]:
    """Return the rank of each of `count` paths in the order of preference, which spreads adjacent paths."""
    if count <= buckets:
        return range(count)
    step = next(step for step in range(round(count * 0.618), count) if gcd(step, count) == 1)
    return [(at - turn) * step % count for at in range(count)]
