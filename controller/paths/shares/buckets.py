# SPDX-License-Identifier: Apache-2.0
"""Assign paths to the buckets of many pairs (source, destination) at once, in arrays.

The path of a bucket is given as a row of `PathColumns`. Pairs with the same number of paths and equal weights
have the same pattern of buckets, so `apportion` runs once for each pattern.
"""

import numpy as np
from numpy.typing import NDArray

from controller.paths.shares.standby import standby_beside_one
from controller.paths.shares.weights import apportion
from controller.plan.entry import BUCKETS
from controller.plan.path_columns import PathColumns, ragged
from topologies.model.columns import columns

__all__ = ["add_standby_rows", "buckets_by_weight", "equal_buckets", "row_rates"]

Rows = NDArray[np.int64]


def row_rates(
    paths: PathColumns, failed: frozenset[str], core: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return, by path, the rate of its slowest hop in bit/s divided by its number of hops.

    Args:
        paths: Paths of all pairs.
        failed: Names of failed links. The rates of parallel links that have not failed add up.
        core: Mask, by node, of the switches that circuits join. On a path with hops between two such switches
            the slowest hop is searched among these hops only, because all sources of a Pod share them.
    """
    fabric, table = paths.fabric, columns(paths.fabric)
    rates = table.rates.copy()
    if fabric.has_parallel:
        works = np.repeat(np.array([link.name not in failed for link in fabric.links], np.bool_), 2)
        parallel = np.bincount(table.representative, minlength=len(works)) > 1
        together = np.zeros(len(works), np.int64)
        counted = works | ~parallel[table.representative]
        np.add.at(together, table.representative[counted], table.rates[counted])
        rates = together
    hops = paths.hops
    of_hop = np.where(hops >= 0, rates[hops], np.iinfo(np.int64).max)
    if core is not None and len(hops):
        inside = (hops >= 0) & core[table.tails[hops]] & core[table.heads[hops]]
        others = ~inside & inside.any(axis=1, keepdims=True)
        of_hop = np.where(others, np.iinfo(np.int64).max, of_hop)
    return of_hop.min(axis=1, initial=np.iinfo(np.int64).max) / paths.lengths


def buckets_by_weight(paths: PathColumns, weights: NDArray[np.float64]) -> Rows:
    """Return the path of each bucket, (pairs, 16) rows of `paths`: shares in proportion to the weights."""
    return _apportioned(paths, weights, paths.counts)


def equal_buckets(paths: PathColumns) -> Rows:
    """Return the path of each bucket, (pairs, 16) rows of `paths`: a pair's shortest paths share equally.

    The shortest paths must be the first paths of each pair.
    """
    fewest = paths.lengths[np.minimum(paths.first[:-1], max(len(paths.nodes) - 1, 0))]
    least = paths.lengths == fewest[paths.pair_of]
    counts = np.bincount(paths.pair_of[least], minlength=len(paths.pairs))
    return _apportioned(paths, None, counts)


def _apportioned(paths: PathColumns, weights: NDArray[np.float64] | None, counts: NDArray[np.int64]) -> Rows:
    """Divide each pair's buckets among its first `counts` paths; return the path of each bucket.

    The number of a path's buckets is in proportion to its weight; without `weights` all paths have equal
    shares.
    """
    pairs = paths.pairs
    buckets = np.zeros((len(pairs), BUCKETS), np.int64)
    offsets = pairs.sources.astype(np.int64) + pairs.destinations
    for count in np.flatnonzero(np.bincount(counts)).tolist():
        chosen = np.flatnonzero(counts == count)
        first = paths.first[chosen]
        # If a pair has more paths than buckets, its offset decides which paths have no bucket.
        turns = offsets[chosen] % count if count > BUCKETS else np.zeros(len(chosen), np.int64)
        for turn in np.flatnonzero(np.bincount(turns)).tolist():
            alike = np.flatnonzero(turns == turn)
            kinds, kind = np.ones((1, count)), np.zeros(len(alike), np.int64)
            if weights is not None:
                own = weights[first[alike][:, None] + np.arange(count)]
                kinds = own[:1]
                if (own != kinds).any():
                    # Rows compared as bytes: several times as fast as np.unique with an axis.
                    rows = own.view(np.dtype((np.void, own.itemsize * count)))[:, 0]
                    _, examples, kind = np.unique(rows, return_index=True, return_inverse=True)
                    kinds = own[examples]
            patterns = np.array([apportion(range(count), row, turn) for row in kinds.tolist()], np.int64)
            buckets[chosen[alike]] = first[alike][:, None] + patterns[kind]
    return buckets


def add_standby_rows(
    paths: PathColumns, buckets: Rows, most: int, usable: NDArray[np.bool_]
) -> tuple[dict[int, tuple[float, ...]], NDArray[np.int64], NDArray[np.bool_]]:
    """Give up to `most` buckets of each pair with a single path in use to standby paths.

    A candidate can stand by if it shares no link with the path in use, in either direction.

    Args:
        paths: Candidates of each pair, the preferred candidate first.
        buckets: The path of each bucket, (pairs, 16) rows of `paths`; changed in place.
        most: Largest number of standby paths of a pair; every pair keeps a bucket for its path in use.
        usable: Mask of the pairs that may get standby paths.

    Returns:
        Weights of the 16 buckets by number of standby paths; the number of standby paths of each pair; a mask
        of the usable pairs that have one path in use and no candidate that can stand by.
    """
    single = usable & (buckets == buckets[:, :1]).all(axis=1)
    # Hops 2 n and 2 n + 1 are the two directions of link n; -1 pads short paths.
    links = paths.hops >> 1
    used = links[buckets[:, 0]]
    chosen = np.flatnonzero(single)
    at, rows = ragged(paths.first[chosen], paths.first[chosen + 1])
    others = links[rows]
    meets = np.zeros(len(rows), np.bool_)
    for column in used[chosen].T:
        mine = column[at][:, None]
        meets |= ((others == mine) & (mine >= 0)).any(axis=1)
    at, rows = at[~meets], rows[~meets]
    # Each pair gets the first `most` of the candidates that can stand by.
    begin = np.searchsorted(at, np.arange(len(chosen)))
    rank = np.arange(len(at)) - begin[at]
    kept = rank < min(most, BUCKETS - 1)
    at, rows, rank = at[kept], rows[kept], rank[kept]
    counts = np.zeros(len(paths.pairs), np.int64)
    counts[chosen] = np.bincount(at, minlength=len(chosen))
    weights: dict[int, tuple[float, ...]] = {}
    for count in (count for count in np.unique(counts).tolist() if count):
        positions, weights[count] = standby_beside_one(count)
        own = counts[chosen[at]] == count
        buckets[chosen[at[own]], np.array(positions)[rank[own]]] = rows[own]
    return weights, counts, single & (counts == 0)
