# SPDX-License-Identifier: Apache-2.0
"""Differences of blocks of rows by their keys, in columns."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from controller.errors import PlanError
from controller.plan.rows import Rows, joined_rows

__all__ = ["RowDifference", "differences"]

_WIDEST = 1 << 62
"""Bound of the codes of keys, so that a code fits in an int64."""

Positions = NDArray[np.intp]


@final
class RowDifference(NamedTuple):
    """Rows in which two blocks differ, in the order of their block.

    `changed`: rows of the new block whose key is in the old block, with other contents.
    `added`: rows of the new block whose key is not in the old block.
    `removed`: rows of the old block whose key is not in the new block.
    """

    changed: Rows
    added: Rows
    removed: Rows


def differences(pairs: Sequence[tuple[Rows, Rows]]) -> list[RowDifference | None]:
    """Return how the blocks of each pair (old, new) differ; None unless they have equal columns.

    Columns are equal if both blocks have the same table, match fields, action and parameters. Pairs of equal
    layout are compared together, because the arrays of one node are too short for fast NumPy.

    Raises:
        PlanError: Two rows of one block have the same key.
    """
    alike: dict[Hashable, list[int]] = {}
    for number, (old, new) in enumerate(pairs):
        alike.setdefault((old.layout, new.layout), []).append(number)
    results: list[RowDifference | None] = [None] * len(pairs)
    for numbers in alike.values():
        old, new = pairs[numbers[0]]
        if old.has_columns_of(new):
            before, after = zip(*(pairs[number] for number in numbers), strict=True)
            for number, difference in zip(numbers, _compared(before, after), strict=True):
                results[number] = difference
    return results


def _compared(before: Sequence[Rows], after: Sequence[Rows]) -> Iterator[RowDifference]:
    """Yield how block i of `before` differs from block i of `after`, for every i.

    All blocks of `before` have one layout, and so have all blocks of `after`.
    """
    old, new = joined_rows(before), joined_rows(after)
    old_ends, new_ends = (np.cumsum(list(map(len, blocks))) for blocks in (before, after))
    changed, added, removed = _positions(old, new, old_ends, new_ends)
    parts = (
        _split(new, changed, new_ends),
        _split(new, added, new_ends),
        _split(old, removed, old_ends),
    )
    return map(RowDifference, *parts)


def _split(rows: Rows, positions: Positions, ends: Positions) -> Iterator[Rows]:
    """Yield the rows at ascending positions, block by block; block i ends before position `ends[i]`."""
    chosen = rows.taken(positions)
    nothing = chosen[:0]
    for begin, end in pairwise([0, *np.searchsorted(positions, ends).tolist()]):
        yield chosen[begin:end] if begin < end else nothing


def _positions(
    old: Rows, new: Rows, old_ends: Positions, new_ends: Positions
) -> tuple[Positions, Positions, Positions]:
    """Return the ascending positions of changed and added rows in `new`, and of removed rows in `old`."""
    if np.array_equal(old_ends, new_ends) and old.has_keys_of(new):
        nothing = np.zeros(0, np.intp)
        return new.changed_rows(old), nothing, nothing
    before, after = _codes(old, new, old_ends, new_ends)
    order = np.argsort(before, kind="stable")
    _check_unique(old, before[order], order)
    new_order = np.argsort(after, kind="stable")
    _check_unique(new, after[new_order], new_order)
    at = np.searchsorted(before[order], after)
    position = order[np.minimum(at, len(order) - 1)] if len(order) else np.zeros(len(after), np.intp)
    known = before[position] == after if len(order) else np.zeros(len(after), np.bool_)
    kept = np.flatnonzero(known)
    changed = new.taken(kept).changed_rows(old.taken(position[kept]))
    stays = np.zeros(len(old), np.bool_)
    stays[position[kept]] = True
    return kept[changed], np.flatnonzero(~known), np.flatnonzero(~stays)


def _codes(
    old: Rows, new: Rows, old_ends: Positions, new_ends: Positions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for each row: equal for equal keys of equally numbered blocks."""
    blocks = [np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)) for ends in (old_ends, new_ends)]
    codes, span = np.concatenate(blocks), len(old_ends)
    for own, its in zip(old.key_columns(), new.key_columns(), strict=True):
        values = np.concatenate((own.astype(np.uint64), its.astype(np.uint64)))
        lowest = values.min(initial=values[0])
        width = int(values.max(initial=lowest) - lowest) + 1
        if span * width > _WIDEST:
            values, lowest = _ranks(values), np.uint64(0)
            width = int(values.max()) + 1
        if span * width > _WIDEST:
            codes = _ranks(codes).astype(np.int64)
            span = int(codes.max()) + 1
        codes = codes * width + (values - lowest).astype(np.int64)
        span *= width
    return codes[: len(old)], codes[len(old) :]


def _ranks(values: NDArray[Any]) -> NDArray[np.uint64]:
    return np.unique(values, return_inverse=True)[1].astype(np.uint64)


def _check_unique(rows: Rows, ordered: NDArray[np.int64], order: Positions) -> None:
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(same):
        entry = rows[int(order[same[0] + 1])]
        raise PlanError(
            f"table {entry.table} has two entries for {dict(entry.match)}", remedy="keep one of them"
        )
