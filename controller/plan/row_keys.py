# SPDX-License-Identifier: Apache-2.0
"""The difference of two blocks of rows by their keys, in columns."""

from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from controller.errors import PlanError
from controller.plan.rows import Rows

__all__ = ["RowDifference", "difference"]

_WIDEST = 1 << 62
"""Bound of the codes of keys, so that a code fits in an int64."""


@final
class RowDifference(NamedTuple):
    """Positions of the rows in which two blocks differ, ascending.

    `changed`: rows of the new block whose key is in the old block, with other contents.
    `added`: rows of the new block whose key is not in the old block.
    `removed`: rows of the old block whose key is not in the new block.
    """

    changed: NDArray[np.intp]
    added: NDArray[np.intp]
    removed: NDArray[np.intp]


def difference(old: Rows, new: Rows) -> RowDifference | None:
    """Return how two blocks of rows differ; None unless they have the same table, fields and action.

    Raises:
        PlanError: Two rows of one block have the same key.
    """
    if not old.has_columns_of(new):
        return None
    nothing = np.zeros(0, np.intp)
    if old.has_keys_of(new):
        return RowDifference(new.changed_rows(old), nothing, nothing)
    before, after = _codes(old, new)
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
    return RowDifference(kept[changed], np.flatnonzero(~known), np.flatnonzero(~stays))


def _codes(old: Rows, new: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for each key of both blocks; equal keys have equal numbers."""
    codes, span = np.zeros(len(old) + len(new), np.int64), 1
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


def _check_unique(rows: Rows, ordered: NDArray[np.int64], order: NDArray[np.intp]) -> None:
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(same):
        entry = rows[int(order[same[0] + 1])]
        raise PlanError(
            f"table {entry.table} has two entries for {dict(entry.match)}", remedy="keep one of them"
        )
