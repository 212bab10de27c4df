# SPDX-License-Identifier: Apache-2.0
"""Table entries in columns: rows of one table in NumPy arrays, and the entries of a node in blocks.

A plan of a large fabric has millions of entries. `Rows` holds them as arrays, and creates an `Entry` only
when the row is read. `NodeEntries` joins rows and tuples of entries to one sequence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, repeat
from typing import Any, SupportsIndex, final, overload

import numpy as np
from numpy.typing import NDArray

from controller.errors import PlanError
from controller.plan.entry import Entry, Lpm, Match, Params, Range, Ternary

__all__ = ["Block", "Column", "MatchColumn", "NodeEntries", "Rows", "blocks_of", "joined_rows"]

Column = NDArray[Any] | int
"""Array of one integer for each row, shape (rows,), any integer dtype; or an int that holds for all rows."""

_REMEDY = "give every column as an array of integers with one number a row, or as one int for all rows"
_PAIRS = (Lpm, Ternary, Range)


@final
@dataclass(frozen=True, slots=True, eq=False)
class MatchColumn:
    """One match field of all rows. `extra`: prefix of `Lpm`, mask of `Ternary`, upper end of `Range`."""

    name: str
    kind: type[Match]
    values: Column
    extra: Column | None = None

    def __post_init__(self) -> None:
        if (self.extra is None) is (self.kind in _PAIRS):
            takes = "two columns" if self.kind in _PAIRS else "one column"
            raise PlanError(
                f"match field {self.name}: expected {takes} of {self.kind.__name__}, "
                f"got {1 if self.extra is None else 2}",
                remedy="give `extra` to fields of kind Lpm, Ternary and Range only",
            )

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the arguments of class `kind`, in order."""
        return (self.values,) if self.extra is None else (self.values, self.extra)

    def chosen(self, part: slice | NDArray[np.intp]) -> MatchColumn:
        """Return the field of some rows; the field of a slice shares the arrays."""
        extra = None if self.extra is None else _chosen(self.extra, part)
        return MatchColumn(self.name, self.kind, _chosen(self.values, part), extra)


@final
class Rows(Sequence[Entry]):
    """Entries of one table with the same action, match fields and parameters, as columns.

    The arrays are shared, not copied; they must not change afterwards. A slice shares the arrays too. At
    least one column must be an array, which gives the number of rows.

    Raises:
        PlanError: A column is no array of integers, the columns differ in length, or none is an array.
    """

    __slots__ = ("_length", "action", "match", "params", "priority", "table")

    def __init__(
        self,
        table: str,
        action: str,
        match: Sequence[MatchColumn],
        params: Sequence[tuple[str, Column]] = (),
        priority: Column = 0,
    ) -> None:
        self.table = table
        self.action = action
        self.match = tuple(match)
        self.params = tuple(params)
        self.priority = priority
        self._length = self._common_length()

    def _common_length(self) -> int:
        columns = (_length(name, column) for name, column in self._named_columns())
        lengths = sorted({length for length in columns if length is not None})
        if len(lengths) != 1:
            got = ", ".join(map(str, lengths)) or "no array"
            raise PlanError(
                f"rows of table {self.table}: expected columns of one length, got {got}", remedy=_REMEDY
            )
        return lengths[0]

    def _named_columns(self) -> Iterator[tuple[str, Column]]:
        for field in self.match:
            yield from ((field.name, column) for column in field.columns)
        yield from self.params
        yield "priority", self.priority

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: SupportsIndex) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Rows: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Entry | Rows:
        if isinstance(index, slice):
            return self._chosen(index, len(range(*index.indices(self._length))))
        at = _position(index, self._length)
        return Entry(
            self.table,
            tuple(
                (field.name, field.kind(*(_number(column, at) for column in field.columns)))
                for field in self.match
            ),
            self.action,
            tuple((name, _number(column, at)) for name, column in self.params),
            _number(self.priority, at),
        )

    def taken(self, positions: NDArray[np.intp]) -> Rows:
        """Return the rows at some positions, in this order."""
        return self._chosen(positions, len(positions))

    def _chosen(self, part: slice | NDArray[np.intp], length: int) -> Rows:
        rows = object.__new__(Rows)
        rows.table, rows.action = self.table, self.action
        rows.match = tuple(field.chosen(part) for field in self.match)
        rows.params = tuple((name, _chosen(column, part)) for name, column in self.params)
        rows.priority = _chosen(self.priority, part)
        rows._length = length
        return rows

    def __iter__(self) -> Iterator[Entry]:
        fields = [
            zip(repeat(field.name), map(field.kind, *map(self._numbers, field.columns)), strict=False)
            for field in self.match
        ]
        keys: Iterator[tuple[tuple[str, Match], ...]] = zip(*fields, strict=False) if fields else repeat(())
        named = [zip(repeat(name), self._numbers(column), strict=False) for name, column in self.params]
        params: Iterator[Params] = zip(*named, strict=False) if named else repeat(())
        rest = zip(range(self._length), keys, params, self._numbers(self.priority), strict=False)
        return (Entry(self.table, key, self.action, values, rank) for _, key, values, rank in rest)

    def _numbers(self, column: Column) -> Iterator[int]:
        return repeat(column) if isinstance(column, int) else iter(column.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Rows) and self._names() == other._names():
            columns = zip(self._named_columns(), other._named_columns(), strict=True)
            return len(self) == len(other) and all(
                np.array_equal(np.broadcast_to(own, len(self)), np.broadcast_to(its, len(self)))
                for (_, own), (_, its) in columns
            )
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def layout(self) -> Hashable:
        """Everything except the arrays: rows of equal layout can be joined column by column."""
        fields = tuple((field.name, field.kind, *map(_kind_of_column, field.columns)) for field in self.match)
        params = tuple((name, _kind_of_column(column)) for name, column in self.params)
        return self.table, self.action, fields, params, _kind_of_column(self.priority)

    def has_columns_of(self, other: Rows) -> bool:
        """Return whether other rows have the same table, match fields, action and parameters."""
        return self._names() == other._names()

    def key_columns(self) -> list[NDArray[Any]]:
        """Return the columns of the key (match fields and priority), each of shape (rows,)."""
        return [
            *map(self._whole, (column for field in self.match for column in field.columns)),
            self._whole(self.priority),
        ]

    def has_keys_of(self, other: Rows) -> bool:
        """Return whether row i of both blocks has the same key, for every i.

        Both blocks have the same columns (`has_columns_of`).
        """
        pairs = zip(self.key_columns(), other.key_columns(), strict=True)
        return len(self) == len(other) and all(np.array_equal(own, its) for own, its in pairs)

    def changed_rows(self, other: Rows) -> NDArray[np.intp]:
        """Return the positions of rows whose parameters differ from `other`, which has the same keys."""
        changed = np.zeros(len(self), np.bool_)
        for (_, own), (_, its) in zip(self.params, other.params, strict=True):
            changed |= self._whole(own) != self._whole(its)
        return np.flatnonzero(changed)

    def _whole(self, column: Column) -> NDArray[Any]:
        return np.broadcast_to(column, len(self))

    def _names(self) -> object:
        names = [name for name, _ in self.params]
        return self.table, self.action, [(field.name, field.kind) for field in self.match], names

    def __repr__(self) -> str:
        fields = ", ".join(f"{field.name}: {field.kind.__name__}" for field in self.match)
        names = ", ".join(name for name, _ in self.params)
        return f"<{len(self)} rows of {self.table}: {fields or '(no match)'} -> {self.action}({names})>"


Block = tuple[Entry, ...] | Rows
"""Part of a node's entries."""


@final
class NodeEntries(Sequence[Entry]):
    """All entries of a node: `blocks` one after the other. Nodes may share blocks."""

    __slots__ = ("_ends", "blocks")

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = tuple(blocks)
        self._ends = list(accumulate(map(len, self.blocks)))

    @classmethod
    def joined(cls, *parts: Sequence[Entry]) -> NodeEntries:
        """Return the entries of several sequences, one after the other; rows stay columns."""
        return cls([block for part in parts for block in blocks_of(part)])

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: SupportsIndex) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            low, high, step = index.indices(len(self))
            return self._between(low, max(low, high)) if step == 1 else tuple(self)[index]
        at = _position(index, len(self))
        number = bisect_right(self._ends, at)
        return self.blocks[number][at - self._ends[number]]  # a negative index, from the end of the block

    def _between(self, low: int, high: int) -> NodeEntries:
        parts: list[Block] = []
        for block, end in zip(self.blocks, self._ends, strict=True):
            start = end - len(block)
            first, last = max(low, start), min(high, end)
            if first < last:
                whole = last - first == len(block)
                parts.append(block if whole else block[first - start : last - start])
        return NodeEntries(parts)

    def __iter__(self) -> Iterator[Entry]:
        return chain.from_iterable(self.blocks)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NodeEntries) and len(self.blocks) == len(other.blocks):
            pairs = zip(self.blocks, other.blocks, strict=True)
            if all(map(_same_length, self.blocks, other.blocks)):
                return all(own is its or own == its for own, its in pairs)
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} entries in {len(self.blocks)} blocks>"


def joined_rows(blocks: Sequence[Rows]) -> Rows:
    """Return the rows of several blocks of equal layout, at least one, in one block."""
    first = blocks[0]
    if len(blocks) == 1:
        return first

    def join(columns: Iterator[Column]) -> Column:
        arrays = list(columns)
        return arrays[0] if isinstance(arrays[0], int) else np.concatenate(arrays)

    match = []
    for number, field in enumerate(first.match):
        fields = [block.match[number] for block in blocks]
        extra = None
        if field.extra is not None:
            extra = join(own.extra for own in fields if own.extra is not None)
        match.append(MatchColumn(field.name, field.kind, join(own.values for own in fields), extra))
    params = [
        (name, join(block.params[number][1] for block in blocks))
        for number, (name, _) in enumerate(first.params)
    ]
    return Rows(first.table, first.action, match, params, join(block.priority for block in blocks))


def blocks_of(entries: Sequence[Entry]) -> tuple[Block, ...]:
    """Return the blocks of any sequence of entries."""
    if isinstance(entries, NodeEntries):
        return entries.blocks
    return (entries if isinstance(entries, Rows) else tuple(entries),)


def _equal(entries: Sequence[Entry], other: object) -> Any:
    if not isinstance(other, Sequence) or isinstance(other, str | bytes):
        return NotImplemented
    return len(entries) == len(other) and all(own == its for own, its in zip(entries, other, strict=True))


def _same_length(own: Block, other: Block) -> bool:
    return len(own) == len(other)


def _length(name: str, column: object) -> int | None:
    """Return the number of rows of a column; None for an int that holds for all rows."""
    if isinstance(column, np.ndarray):
        if column.ndim == 1 and column.dtype.kind in "iu":
            return len(column)
        got = f"shape {column.shape} of {column.dtype}"
    elif isinstance(column, int):
        return None
    else:
        got = type(column).__name__
    raise PlanError(f"column {name}: expected integers of shape (rows,), got {got}", remedy=_REMEDY)


def _kind_of_column(column: Column) -> object:
    """Return a column's constant for all rows, or the dtype of its array."""
    return column if isinstance(column, int) else column.dtype


def _position(index: SupportsIndex, length: int) -> int:
    at = index.__index__()
    if not -length <= at < length:
        raise IndexError(f"index {at} is out of range; number of entries: {length}")
    return at % length


def _number(column: Column, at: int) -> int:
    return column if isinstance(column, int) else int(column[at])


def _chosen(column: Column, part: slice | NDArray[np.intp]) -> Column:
    return column if isinstance(column, int) else column[part]
