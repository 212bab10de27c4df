# SPDX-License-Identifier: Apache-2.0
"""Serialised updates that install entries, kept for the next run with the same plan."""

from collections.abc import Sequence
from typing import final

from controller.diff import Update
from controller.p4runtime.p4info import P4Info
from controller.plan import Entry

__all__ = ["BATCH", "KeptUpdates", "installing"]

BATCH = 1_000
"""Largest number of updates in a WriteRequest."""


def installing(entry: Entry) -> Update:
    """Return the update that brings an entry into an empty table."""
    return Update("modify" if entry.default else "insert", entry)


@final
class KeptUpdates:
    """Serialised updates by node. It keeps the entries and the p4info as well, whose identity it compares."""

    def __init__(self) -> None:
        self._by_node: dict[str, tuple[P4Info, Sequence[Entry], list[bytes]]] = {}

    def batches(self, node: str, info: P4Info, entries: Sequence[Entry]) -> list[bytes]:
        """Return the updates that install a node's entries, at most BATCH of them in each item.

        A sequence of entries that was given before must not have changed.
        """
        kept = self._by_node.get(node)
        if kept is None or kept[0] is not info or kept[1] is not entries:
            encode = info.encode_update
            serialised = [encode("modify" if entry.default else "insert", entry) for entry in entries]
            batches = [
                b"".join(serialised[start : start + BATCH]) for start in range(0, len(serialised), BATCH)
            ]
            kept = self._by_node[node] = (info, entries, batches)
        return kept[2]
