# SPDX-License-Identifier: Apache-2.0
"""Compute the updates from one set of table entries to another."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from controller.errors import PlanError
from controller.plan.entry import Entry
from controller.plan.row_keys import RowDifference, differences
from controller.plan.rows import Block, NodeEntries, Rows
from controller.plan.updates import BlockChange, Kind, Part, Update, Updates, tables_of

__all__ = ["apply_in_turn", "apply_updates", "diff", "diff_nodes"]


def diff(old: Iterable[Entry], new: Iterable[Entry]) -> Sequence[Update]:
    """Return the updates from `old` to `new`: changes and additions, then removals.

    Removals come last so that a frame always finds either the old entry or the new one. A block of entries
    that is the same object in both sets is skipped, and blocks of rows are compared as columns. Within a
    block of rows, changes come before additions; otherwise both come in the order of `new`.

    Raises:
        PlanError: Two entries of one set have the same key.
    """
    (updates,) = _diffs([(old, new)])
    return updates


def diff_nodes(
    old: Mapping[str, Iterable[Entry]], new: Mapping[str, Iterable[Entry]]
) -> dict[str, Sequence[Update]]:
    """Return `diff` of the entries of each node of `new`, by node; all nodes are compared together."""
    return dict(zip(new, _diffs([(old[name], entries) for name, entries in new.items()]), strict=True))


def _diffs(sets: Sequence[tuple[Iterable[Entry], Iterable[Entry]]]) -> Iterator[Sequence[Update]]:
    """Yield `diff` of each pair of sets; the rows of all pairs are compared at once."""
    blocks = [_changed_blocks(old, new) for old, new in sets]
    rows = [
        (before, after)
        for pairs in blocks
        for before, after in pairs or ()
        if isinstance(before, Rows) and isinstance(after, Rows)
    ]
    of_rows = iter(differences(rows))
    for (old, new), pairs in zip(sets, blocks, strict=True):
        if pairs is None:
            yield _of_entries(tuple(old), tuple(new))
        elif old is new:
            yield ()
        else:
            yield Updates.of_changes([_of_blocks(*pair, of_rows) for pair in pairs])


def _changed_blocks(old: Iterable[Entry], new: Iterable[Entry]) -> list[tuple[Block, Block]] | None:
    """Return the pairs of blocks that differ; None unless blocks can be compared pair by pair.

    They can if both sets have equally many blocks, and no two changed blocks share a table.
    """
    if old is new:
        return []
    if not (isinstance(old, NodeEntries) and isinstance(new, NodeEntries)):
        return None
    if len(old.blocks) != len(new.blocks):
        return None
    pairs = [pair for pair in zip(old.blocks, new.blocks, strict=True) if pair[0] is not pair[1]]
    tables = [tables_of(before) | tables_of(after) for before, after in pairs]
    return pairs if sum(map(len, tables)) == len(frozenset().union(*tables)) else None


def _of_blocks(old: Block, new: Block, of_rows: Iterator[RowDifference | None]) -> BlockChange:
    """Return the change of a block; `of_rows` yields the difference next if both blocks are rows."""
    rows = next(of_rows) if isinstance(old, Rows) and isinstance(new, Rows) else None
    if rows is not None:
        writes: tuple[Part, ...] = ("modify", rows.changed), ("insert", rows.added)
        return BlockChange(old, new, writes, (("delete", rows.removed),))
    updates = _of_entries(tuple(old), tuple(new))
    written = [update for update in updates if update.kind != "delete"]
    return BlockChange(old, new, _parts(written), _parts(updates[len(written) :]))


def _parts(updates: Iterable[Update]) -> tuple[Part, ...]:
    runs = groupby(updates, key=_kind)
    return tuple((kind, tuple(update.entry for update in run)) for kind, run in runs)


def _kind(update: Update) -> Kind:
    return update.kind


def _of_entries(old: Sequence[Entry], new: Sequence[Entry]) -> tuple[Update, ...]:
    if len(old) == len(new):  # the usual case: the same keys in the same order, many equal entries
        others = [(known, entry) for known, entry in zip(old, new, strict=True) if known is not entry]
        if all(known.key == entry.key for known, entry in others):
            return tuple(Update("modify", entry) for known, entry in others if known != entry)
    elif old:  # objects in both sets are left out first, because keys take time
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


def apply_updates(entries: Iterable[Entry], updates: Sequence[Update]) -> Sequence[Entry]:
    """Apply updates to table entries in order, and return the resulting entries."""
    if isinstance(entries, NodeEntries) and isinstance(updates, Updates) and updates.changes:
        later = {id(change.old): change.new for change in updates.changes}
        if later.keys() <= set(map(id, entries.blocks)):
            return NodeEntries([later.get(id(block), block) for block in entries.blocks])
    return _applied(tuple(entries), updates)


def apply_in_turn(entries: Sequence[Entry], written: Iterable[Sequence[Update]]) -> Sequence[Entry]:
    """Apply several writes to table entries in order, and return the resulting entries."""
    for in_blocks, some in groupby(written, key=lambda updates: isinstance(updates, Updates)):
        if in_blocks:
            for updates in some:
                entries = apply_updates(entries, updates)
        else:
            entries = apply_updates(entries, [update for updates in some for update in updates])
    return entries


def _applied(entries: tuple[Entry, ...], updates: Sequence[Update]) -> tuple[Entry, ...]:
    if all(update.kind == "insert" for update in updates):  # a switch refuses to insert an entry that it has
        return (*entries, *(update.entry for update in updates))
    removed = {id(update.entry) for update in updates if update.kind == "delete"}
    if len(removed) == len(updates):  # removals alone, usually of the same objects as in the tables
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
                f"table {entry.table} has two entries for {dict(entry.match)}",
                remedy="keep one of them",
            )
        by_key[key] = entry
    return by_key
