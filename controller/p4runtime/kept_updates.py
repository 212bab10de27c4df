# SPDX-License-Identifier: Apache-2.0
"""Serialised updates that install entries, kept for the next run with the same plan."""

from collections.abc import Iterator, Sequence
from typing import TypeVar, final

from controller.p4runtime.p4info import P4Info
from controller.plan.diff import Update
from controller.plan.entry import Entry

__all__ = ["KeptUpdates", "batches_of", "installing"]

_BATCH = 1 << 14
"""Largest number of updates in a WriteRequest: about a megabyte, all entries of most switches."""

T = TypeVar("T")


def batches_of(updates: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the parts that go into a WriteRequest each."""
    for start in range(0, len(updates), _BATCH):
        yield updates[start : start + _BATCH]


def installing(entry: Entry) -> Update:
    """Return the update that brings an entry into an empty table."""
    return Update("modify" if entry.default else "insert", entry)


@final
class KeptUpdates:
    """Serialised updates by node. It keeps the entries and the p4info as well, whose identity it compares."""

    def __init__(self) -> None:
        self._by_node: dict[str, tuple[P4Info, Sequence[Entry], list[tuple[Sequence[Entry], bytes]]]] = {}

    def batches(
        self, node: str, info: P4Info, entries: Sequence[Entry]
    ) -> list[tuple[Sequence[Entry], bytes]]:
        """Return the entries of each WriteRequest that installs a node's entries, and its updates.

        A sequence of entries that was given before must not have changed.
        """
        kept = self._by_node.get(node)
        if kept is None or kept[0] is not info or kept[1] is not entries:
            batches = [(batch, info.encode_installing(batch)) for batch in batches_of(entries)]
            kept = self._by_node[node] = (info, entries, batches)
        return kept[2]
