# SPDX-License-Identifier: Apache-2.0
"""Recursive bisection of a demand over slots; each cut is a min-cost flow that moves few standing circuits.

A slot is a pair of optical switches: it takes one circuit from each Pod and one to each Pod. In `even_split`,
a slot is a part of a matrix and may hold more. The slots of a spine have consecutive numbers. A block is a
run of slots with the demand that these slots carry. Each round cuts every block in two: between spines while
the block has several spines, then between the slots of a spine. One flow decides all cuts of a round. The
rounds end when every block is one slot. Source: LumosCore, FindConnectionAlgorithm, which cuts one block at
a time.

A flow always exists: if the first half has n0 of n slots, the fraction n0 / n of every entry keeps all
bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from controller.circuits.demand import check_matrix
from controller.circuits.entries import Entries
from controller.circuits.flow import Ints, Items, Nodes, minimise_cost, sharing_cost
from controller.errors import PlanError

__all__ = ["bisect", "even_split"]


def bisect(
    wanted: Entries,
    n: int,
    spines: Sequence[int] | Ints,
    *,
    first: Ints,
    standing: Entries | None = None,
    limited: bool = True,
    even: bool = True,
) -> Entries:
    """Split demand matrices over slots by repeated halving; return the entries of each slot.

    The field `block` of a returned entry is the number of its slot.

    Args:
        wanted: Demand of each block.
        n: Number of rows and columns of a matrix: Pods.
        spines: Number of slots of each spine.
        first: First spine of each block of `wanted`; a block ends where the next block begins.
        standing: Standing circuits by slot; few of them move.
        limited: Whether a slot holds at most one circuit in each row and each column. Otherwise each slot
            gets an equal share of row and column sums, rounded up or down.
        even: Whether each spine gets its share of every entry, in proportion to its slots. The share is
            rounded up or down if spines have equal numbers of slots; otherwise each cut rounds.
    """
    ends = np.concatenate(([0], np.cumsum(spines))).astype(np.int64)
    spine_of = np.repeat(np.arange(len(spines)), spines)
    start = ends[first]
    stop = np.append(start[1:], ends[-1])
    # Each of equal spines gets `share` to `share + more` circuits of an entry; these bounds limit each cut.
    alike = int(spines[0]) if len(np.unique(spines)) == 1 else 0
    share, more = np.divmod(wanted.count, (np.append(first[1:], len(spines)) - first)[wanted.block])
    more = more > 0
    while (stop - start > 1).any():
        cuts = _Cuts.of(start, stop, spine_of, ends)
        a, block = wanted.count, wanted.block
        n0, size = (cuts.cut - start)[block], np.maximum(stop - start, 1)[block]
        if even and alike:
            h0, h1 = n0 // alike, (size - n0) // alike
            most = share + more
            low, high = np.maximum(h0 * share, a - h1 * most), np.minimum(h0 * most, a - h1 * share)
        else:
            low, high = a * n0 // size, -(-a * n0 // size)
        within = cuts.shared[block] & even
        x = _choose_first_half(
            wanted, n, cuts, standing, np.where(within, low, 0), np.where(within, high, a), limited
        )
        start, stop = np.stack((start, cuts.cut), 1).ravel(), np.stack((cuts.cut, stop), 1).ravel()
        halves = Entries(
            np.concatenate((2 * block, 2 * block + 1)),
            np.tile(wanted.row, 2),
            np.tile(wanted.col, 2),
            np.concatenate((x, a - x)),
        )
        some = np.flatnonzero(halves.count)
        some = some[np.argsort(halves.key(n)[some], kind="stable")]
        wanted, share, more = halves.select(some), np.tile(share, 2)[some], np.tile(more, 2)[some]
    return Entries(start[wanted.block], wanted.row, wanted.col, wanted.count)


def even_split(matrix: Ints, parts: int) -> Ints:
    """Split an integer matrix, (N, N), into parts, (parts, N, N), as evenly as integers allow.

    Every entry, row sum and column sum of a part is 1 / `parts` of the whole, rounded up or down. LumosCore
    splits off one part after another; repeated halving meets the same bounds with fewer flows. PlanError if
    `parts` is less than 1.
    """
    if parts < 1:
        raise PlanError(f"a matrix cannot be divided into {parts} parts", remedy="ask for one part or more")
    matrix = check_matrix(matrix)
    entries = Entries.of(matrix[None])
    first = np.zeros(1, np.int64)
    return bisect(entries, len(matrix), [1] * parts, first=first, limited=False).dense(parts, len(matrix))


@final
@dataclass(frozen=True, slots=True)
class _Cuts:
    """Cut of each block; `shared` marks cuts between spines. A single slot stays in the first half."""

    start: Ints
    cut: Ints
    stop: Ints
    shared: np.ndarray

    @classmethod
    def of(cls, start: Ints, stop: Ints, spine_of: Ints, ends: Ints) -> "_Cuts":
        low, high = spine_of[np.minimum(start, len(spine_of) - 1)], spine_of[np.maximum(stop - 1, 0)]
        shared = high > low
        cut = np.where(shared, ends[(low + high + 1) // 2], (start + stop + 1) // 2)
        return cls(start, cut, stop, shared)


def _choose_first_half(
    wanted: Entries, n: int, cuts: _Cuts, standing: Entries | None, low: Ints, high: Ints, limited: bool
) -> Ints:
    """Return the part of each entry, from `low` to `high`, that goes to the first half of its block."""
    a, block = wanted.count, wanted.block
    n0, size = cuts.cut - cuts.start, np.maximum(cuts.stop - cuts.start, 1)
    whole = size[block]
    if standing is None:
        points, slopes = np.stack((low, high)), np.zeros((1, len(a)), np.int64)
    else:
        points, slopes = sharing_cost(a, low, high, *_count_standing(standing, wanted, n, cuts))
    row, col = block * 2 * n + wanted.row, block * 2 * n + n + wanted.col
    sums = np.bincount(np.concatenate((row, col)), np.tile(a, 2), 2 * n * len(n0)).astype(np.int64)
    low_sum, high_sum = _sum_bounds(sums.reshape(-1, 2 * n), n0[:, None], size[:, None], limited)
    low_sum[:, n:], high_sum[:, n:] = -high_sum[:, n:], -low_sum[:, n:]
    nodes = Nodes(low_sum.ravel(), high_sum.ravel(), np.repeat(np.arange(len(n0)), 2 * n))
    # Odd entries are rounded up and down in turn, which leaves the flow less to correct.
    wish = (a * n0[block] + (np.arange(len(a)) & 1) * (whole - 1)) // whole
    return minimise_cost(Items(points, slopes, row, col), nodes, wish)


def _count_standing(standing: Entries, wanted: Entries, n: int, cuts: _Cuts) -> tuple[Ints, Ints]:
    """Return the standing circuits of each entry in the first and in the second half of its block."""
    block = np.searchsorted(cuts.start, standing.block, "right") - 1
    key, theirs = wanted.key(n), standing.key(n, block)
    at = np.minimum(np.searchsorted(key, theirs), max(len(key) - 1, 0))
    known = key[at] == theirs if len(key) else np.zeros(len(theirs), bool)
    second = standing.block >= cuts.cut[block]
    first, other = (np.bincount(at[known & half], minlength=len(key)) for half in (~second, second))
    return first.astype(np.int64), other.astype(np.int64)


def _sum_bounds(sums: Ints, n0: Ints, size: Ints, limited: bool) -> tuple[Ints, Ints]:
    """Return the least and the largest sum of each row and column in the first half of its block.

    Args:
        sums: Sums of the whole block: n rows, then n columns. All results have this shape, (blocks, 2 n).
        n0: Number of slots of the first half, (blocks, 1).
        size: Number of slots of the block, (blocks, 1).
        limited: A slot holds at most one circuit of a row or column. Otherwise each half gets its share.
    """
    if limited:
        return np.maximum(sums - (size - n0), 0), np.minimum(sums, n0)
    share, rest = np.divmod(sums * n0, size)
    return share, share + (rest > 0)
