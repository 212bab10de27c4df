# SPDX-License-Identifier: Apache-2.0
"""The updates that turn one set of table entries into another."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, final

from controller.errors import PlanError
from controller.plan.entry import Entry
from controller.plan.rows import Block, NodeEntries, Rows

__all__ = ["Update", "apply_updates", "diff"]


@final
@dataclass(frozen=True, slots=True)
class Update:
    """One write of a table; a delete carries the entry as it was."""

    kind: Literal["insert", "modify", "delete"]
    entry: Entry


def diff(old: Iterable[Entry], new: Iterable[Entry]) -> tuple[Update, ...]:
    """Return the updates from `old` to `new`: changes and additions in the order of `new`, then removals.

    Removals come last so that a frame always finds either the old entry or the new one. Blocks of nodes'
    entries that are the same object are not looked at, and rows are compared as columns.
    """
    if old is new:
        return ()
    if isinstance(old, NodeEntries) and isinstance(new, NodeEntries) and _alike(old, new):
        parts = [_of_blocks(*pair) for pair in zip(old.blocks, new.blocks, strict=True)]
        updates = [update for part in parts for update in part]
        removals = [update for update in updates if update.kind == "delete"]
        return (*(update for update in updates if update.kind != "delete"), *removals)
    return _of_entries(tuple(old), tuple(new))


def _alike(old: NodeEntries, new: NodeEntries) -> bool:
    """Return whether blocks at one position hold entries of the same tables, and of no other block's."""
    tables = [
        frozenset().union(*(_tables(block) for block in pair))
        for pair in zip(old.blocks, new.blocks, strict=False)
    ]
    return len(old.blocks) == len(new.blocks) and sum(map(len, tables)) == len(frozenset().union(*tables))


def _tables(block: Block) -> frozenset[str]:
    return frozenset({block.table} if isinstance(block, Rows) else [entry.table for entry in block])


def _of_blocks(old: Block, new: Block) -> Iterable[Update]:
    if old is new:
        return ()
    if not (isinstance(old, Rows) and isinstance(new, Rows)):
        return _of_entries(tuple(old), tuple(new))
    if old.has_keys_of(new):
        return (Update("modify", new[row]) for row in new.changed_rows(old).tolist())
    return _of_entries(tuple(old), tuple(new))


def _of_entries(old: Sequence[Entry], new: Sequence[Entry]) -> tuple[Update, ...]:
    if len(old) == len(new):  # most often entries of the same keys in the same order, many of them equal
        others = [(known, entry) for known, entry in zip(old, new, strict=True) if known is not entry]
        if all(known.key == entry.key for known, entry in others):
            return tuple(Update("modify", entry) for known, entry in others if known != entry)
    elif old:  # keys take time, and objects that are in both sets need none
        before, after = _by_identity(old), _by_identity(new)
        old = [entry for number, entry in before.items() if number not in after]
        new = [entry for number, entry in after.items() if number not in before]
        if not (old and new):
            return (
                *(Update("insert", entry) for entry in new),
                *(Update("delete", entry) for entry in old),
            )
    return _by_keys(old, new)


def _by_identity(entries: Iterable[Entry]) -> dict[int, Entry]:
    return {id(entry): entry for entry in entries}


def _by_keys(old: Iterable[Entry], new: Iterable[Entry]) -> tuple[Update, ...]:
    before = _by_key(old)
    after = _by_key(new)
    updates: list[Update] = []
    for key, entry in after.items():
        known = before.get(key)
        if known is None:
            updates.append(Update("insert", entry))
        elif known is not entry and known != entry:
            updates.append(Update("modify", entry))
    updates += [Update("delete", entry) for key, entry in before.items() if key not in after]
    return tuple(updates)


def apply_updates(entries: Iterable[Entry], updates: Sequence[Update]) -> tuple[Entry, ...]:
    """Return the entries of tables that held `entries`, after the updates in order."""
    entries = tuple(entries)
    if all(update.kind == "insert" for update in updates):  # a switch refuses to insert what it has
        return (*entries, *(update.entry for update in updates))
    removed = {id(update.entry) for update in updates if update.kind == "delete"}
    if len(removed) == len(updates):  # removals alone, most often of the objects that the tables held
        left = tuple(entry for entry in entries if id(entry) not in removed)
        if len(left) + len(removed) == len(entries):
            return left
    by_key = _by_key(entries)
    for update in updates:
        if update.kind == "delete":
            by_key.pop(update.entry.key, None)
        else:
            by_key[update.entry.key] = update.entry
    return tuple(by_key.values())


def _by_key(entries: Iterable[Entry]) -> dict[Hashable, Entry]:
    by_key: dict[Hashable, Entry] = {}
    for entry in entries:
        key = entry.key
        if key in by_key:
            raise PlanError(
                f"table {entry.table}: two entries for {dict(entry.match)}",
                remedy="keep one of them",
            )
        by_key[key] = entry
    return by_key
