# SPDX-License-Identifier: Apache-2.0
"""Writes of table entries: one write as a value, and all writes of a node in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex, final, overload

from controller.plan.entry import Entry
from controller.plan.rows import Block, NodeEntries, Rows, blocks_of

__all__ = ["BlockChange", "Kind", "Part", "Update", "Updates", "Written", "parts_of", "tables_of"]

Kind = Literal["insert", "modify", "delete"]

Part = tuple[Kind, Block]
"""A kind of write, and the entries to write."""


@final
@dataclass(frozen=True, slots=True)
class Update:
    """One write of a table; a delete carries the entry as it was."""

    kind: Kind
    entry: Entry


@final
@dataclass(frozen=True, slots=True, eq=False)
class BlockChange:
    """Table writes that change a node's entries from block `old` to block `new`; removals come last."""

    old: Block
    new: Block
    writes: tuple[Part, ...]
    removals: tuple[Part, ...]


@final
class Updates(Sequence[Update]):
    """Updates of a node as blocks of entries; an `Update` is created only when it is read.

    `parts` are written in order. If all parts come from changes of blocks, `changes` lists these changes;
    otherwise it is empty.
    """

    __slots__ = ("_entries", "changes", "parts")

    def __init__(self, parts: Sequence[Part], changes: Sequence[BlockChange] = ()) -> None:
        self.parts = tuple(part for part in parts if part[1])
        self.changes = tuple(changes)
        self._entries = NodeEntries([block for _, block in self.parts])

    @classmethod
    def of_changes(cls, changes: Sequence[BlockChange]) -> Updates:
        """Return the writes of several changes, then their removals."""
        writes = [part for change in changes for part in change.writes]
        return cls([*writes, *(part for change in changes for part in change.removals)], changes)

    def without(self, tables: Set[str]) -> Sequence[Update]:
        """Return the updates of all tables except `tables`."""
        touched = [tables_of(change.old) | tables_of(change.new) for change in self.changes]
        if self.changes and all(own <= tables or own.isdisjoint(tables) for own in touched):
            pairs = zip(self.changes, touched, strict=True)
            return Updates.of_changes([change for change, own in pairs if own.isdisjoint(tables)])
        return tuple(update for update in self if update.entry.table not in tables)

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Update: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Update]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Update | Sequence[Update]:
        if isinstance(index, slice):
            low, high, step = index.indices(len(self))
            return self._between(low, high) if step == 1 else tuple(self)[index]
        entry, at = self._entries[index], index.__index__() % len(self)
        for kind, block in self.parts:
            if at < len(block):
                return Update(kind, entry)
            at -= len(block)
        raise IndexError(index)

    def _between(self, low: int, high: int) -> Updates:
        parts: list[Part] = []
        for kind, block in self.parts:
            first, last = max(low, 0), min(high, len(block))
            if first < last:
                parts.append((kind, block if last - first == len(block) else block[first:last]))
            low, high = low - len(block), high - len(block)
        return Updates(parts)

    def __iter__(self) -> Iterator[Update]:
        return (Update(kind, entry) for kind, block in self.parts for entry in block)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(own == its for own, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = ", ".join(f"{kind} {len(block)}" for kind, block in self.parts)
        return f"<{len(self)} updates: {parts or 'none'}>"


Written = Sequence[Entry | Update]
"""Entries to insert into the tables of a node, or updates of them."""


def parts_of(written: Written) -> tuple[Part, ...] | None:
    """Return the parts of updates, or of the insertion of entries; None if they are not held in blocks."""
    if isinstance(written, Updates):
        return written.parts
    if isinstance(written, NodeEntries | Rows):
        return tuple(_insertion(block) for block in blocks_of(written))
    return None


def _insertion(block: Block) -> Part:
    return "insert", block


def tables_of(block: Block) -> frozenset[str]:
    """Return the tables whose entries a block holds."""
    return frozenset({block.table} if isinstance(block, Rows) else [entry.table for entry in block])
