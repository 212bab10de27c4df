# SPDX-License-Identifier: Apache-2.0
"""Shares of traffic: the path of each bucket of each pair (source, destination), and the weights of buckets.

A linear program decides the pairs of a demand with few paths. Pairs whose standby paths are not among their
candidates are searched one by one. All other pairs are decided at once, in columns.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from controller.paths.shares.buckets import add_standby_rows, buckets_by_weight, equal_buckets
from controller.paths.shares.column_generation import relieve
from controller.paths.shares.standby import add_standby_paths
from controller.paths.shares.weights import apportion, divide
from controller.plan.entry import Pair, Path
from controller.plan.path_columns import PairColumns, PathColumns
from controller.plan.routes import Routes, Weights
from controller.schemes.scheme import Scheme

__all__ = ["share_traffic"]

# Largest number of paths in a linear program of shares: a larger program takes minutes.
_MAX_SOLVED_PATHS = 50_000

Decided = dict[Pair, tuple[tuple[Path, ...], tuple[float, ...] | None]]
"""Paths and weights of the buckets of pairs decided one by one; weights None: all buckets are equal."""


def share_traffic(
    scheme: Scheme,
    candidates: PathColumns,
    demand: Mapping[Pair, float] | None,
    payload_bytes: int,
    standby: int,
) -> tuple[Routes, Weights]:
    """Return the paths of the 16 buckets of each pair, and the weights of pairs with unequal weights.

    Args:
        scheme: Forwarding over the links that work.
        candidates: Paths among which each pair may choose.
        demand: Bytes by pair, for which shares minimise the load of the busiest link; None if unknown.
        payload_bytes: Size of a frame.
        standby: Number of buckets that a pair with too few paths gives to standby paths.
    """
    if scheme.strategy.spray:
        demand = None  # the linear program would leave a pair few paths; sprayed frames need all
    steered = scheme.steers_every_hop(scheme.fabric)
    decided = _solved(scheme, candidates, demand or {}, payload_bytes, steered=steered)
    if demand is None:
        buckets = buckets_by_weight(candidates, scheme.path_weights(candidates))
    else:
        buckets = equal_buckets(candidates)
    numbers = np.full(len(candidates), -1, np.int64)
    patterns: list[tuple[float, ...]] = []
    if standby and steered:
        open_pairs = np.ones(len(candidates), np.bool_)
        open_pairs[candidates.pairs.numbers(PairColumns.of(scheme.fabric, decided))] = False
        searched = np.zeros(len(candidates), np.bool_)
        if not scheme.strategy.adaptive:
            weights, counts, searched = add_standby_rows(candidates, buckets, standby, open_pairs)
            for count, pattern in weights.items():
                numbers[counts == count] = len(patterns)
                patterns.append(pattern)
        rest = open_pairs if scheme.strategy.adaptive else searched
        _search_standby(scheme, candidates, buckets, decided, rest, standby)
    routes = _with_decided(candidates, buckets, decided)
    for pair, (_, weights_of_pair) in decided.items():
        number = candidates.pairs.number(pair)
        numbers[number] = -1 if weights_of_pair is None else len(patterns)
        if weights_of_pair is not None:
            patterns.append(weights_of_pair)
    return routes, Weights(routes.paths, numbers, patterns)


def _solved(
    scheme: Scheme,
    candidates: PathColumns,
    demand: Mapping[Pair, float],
    payload_bytes: int,
    *,
    steered: bool,
) -> Decided:
    """Return the paths and weights of pairs with demand; empty if their linear program is too large."""
    numbers = candidates.pairs.numbers(PairColumns.of(scheme.fabric, demand))
    if not demand or candidates.counts[numbers].sum() > _MAX_SOLVED_PATHS:
        return {}
    meshed = [pair for pair in demand if steered and scheme.uses_longer_paths(*pair)]
    paths = {pair: candidates[pair] for pair in demand}
    decided: Decided = {}
    for pair, solved in relieve(scheme.finder, scheme.rules, demand, paths, meshed, payload_bytes).items():
        turn = sum(scheme.fabric.node(name).index for name in pair)
        decided[pair] = divide(*solved, turn) if steered else (apportion(*solved, turn), None)
    return decided


def _search_standby(
    scheme: Scheme,
    candidates: PathColumns,
    buckets: NDArray[np.int64],
    decided: Decided,
    searched: NDArray[np.bool_],
    standby: int,
) -> None:
    """Add standby paths to the pairs in `decided`, and to the pairs marked in the mask `searched`.

    `decided` then has the paths and weights of all these pairs. `buckets`, (pairs, 16), has the path of each
    bucket as a row of `candidates`.
    """
    own = Routes(candidates, buckets)
    routes = {pair: paths for pair, (paths, _) in decided.items()}
    routes |= {
        candidates.pairs.name(number): own.of_number(number) for number in np.flatnonzero(searched).tolist()
    }
    weights = {pair: exact for pair, (_, exact) in decided.items() if exact is not None}
    add_standby_paths(
        scheme,
        routes,
        weights,
        {pair: candidates[pair] for pair in routes},
        standby,
        adaptive=scheme.strategy.adaptive,
    )
    decided |= {pair: (paths, weights.get(pair)) for pair, paths in routes.items()}


def _with_decided(candidates: PathColumns, buckets: NDArray[np.int64], decided: Decided) -> Routes:
    """Return the routes of all pairs; the paths of pairs in `decided` come from `decided`.

    A decided path that is no candidate follows the candidates of its pair.
    """
    if not decided:
        return Routes(candidates, buckets)
    rows: dict[int, Sequence[Path]] = {}
    more: dict[Pair, list[Path]] = {}
    for pair, (paths, _) in decided.items():
        own = candidates[pair]
        rows[candidates.pairs.number(pair) or 0] = paths
        if extra := [path for path in dict.fromkeys(paths) if path not in own]:
            more[pair] = extra
    table = candidates.extended(more)
    moved = buckets - candidates.first[:-1][:, None] + table.first[:-1][:, None]
    for number, paths in rows.items():
        first = int(table.first[number])
        row_of = {path: first + index for index, path in enumerate(table.paths_of(number))}
        moved[number] = [row_of[path] for path in paths]
    return Routes(table, moved)
