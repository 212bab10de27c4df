# SPDX-License-Identifier: Apache-2.0
"""Shares of paths: equal, by rate, or those that keep the busiest link least busy under a known demand."""

from collections.abc import Mapping, Sequence, Set

import numpy as np

from controller.errors import PlanError
from controller.plan import Path
from controller.routing.circuit_paths import ocs_dimensions
from controller.routing.paths import hops_of
from topologies import Fabric

__all__ = ["Demand", "Pair", "rate_weights", "check_demand", "minimise_utilisation"]

Pair = tuple[str, str]

# Bytes to be sent from one node to another.
Demand = Mapping[Pair, float]

# Cost of a hop, in units of the utilisation that the largest demand causes on its own: enough to choose the
# short path among equals, too little to make the busiest link any busier.
_HOP_COST = 1e-3


def rate_weights(fabric: Fabric, paths: Sequence[Path], failed: Set[str] = frozenset()) -> list[float]:
    """Each path's bottleneck rate divided by its hops; parallel links that have not `failed` add up.

    Of a path over circuits of a core it is theirs: all sources of a Pod share them.
    """
    core = ocs_dimensions(fabric)
    rates: list[float] = []
    for path in paths:
        hops = list(hops_of(path))
        shared = [hop for hop in hops if hop[0] in core and hop[1] in core] if core else []
        rates.append(min(_rate(fabric, *hop, failed) for hop in shared or hops) / len(hops))
    return rates


def _rate(fabric: Fabric, near: str, far: str, failed: Set[str] = frozenset()) -> int:
    if not fabric.has_parallel:
        return fabric.link_between(near, far).rate_bps
    links = fabric.links_between(near, far)
    return sum(link.rate_bps for link in links if len(links) == 1 or link.name not in failed)


def check_demand(fabric: Fabric, demand: Demand) -> dict[Pair, float]:
    """The pairs that send anything; PlanError on one that cannot be."""
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
    """Shares of each demanded pair's candidates that minimise the largest bytes / rate of a link direction.

    Among equals, fewer hops win: a linear program with a small cost a hop.
    """
    if not demand:
        return {}
    # Loaded here: it takes longer to import than a plan to make, and only plans with a demand need it.
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
