# SPDX-License-Identifier: Apache-2.0
"""Cache the serialised updates to install a plan, for further runs with the same plan."""

from collections.abc import Iterator, Sequence
from typing import TypeVar, final

from controller.p4runtime.p4info import P4Info
from controller.plan.updates import Written

__all__ = ["Batches", "UpdateCache", "batches_of"]

_BATCH = 1 << 14
"""Largest number of updates in a WriteRequest: about a megabyte, all entries of most switches."""

Batches = list[tuple[Written, bytes]]
"""For each WriteRequest of a node: its entries or updates, and their bytes."""

T = TypeVar("T")


def batches_of(updates: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield consecutive parts of updates, one for each WriteRequest."""
    for start in range(0, len(updates), _BATCH):
        yield updates[start : start + _BATCH]


@final
class UpdateCache:
    """Cache of serialised updates by node.

    Updates are found again only for the same objects: the entries and the p4info of the call of `keep`. The
    entries must not change after this call.
    """

    def __init__(self) -> None:
        self._by_node: dict[str, tuple[P4Info, Written, Batches]] = {}

    def find(self, node: str, info: P4Info, entries: Written) -> Batches | None:
        """Return the kept batches for installing these entries in a node, or None."""
        kept = self._by_node.get(node)
        return kept[2] if kept is not None and kept[0] is info and kept[1] is entries else None

    def keep(self, node: str, info: P4Info, entries: Written, batches: Batches) -> None:
        """Keep the batches of a node, and drop the node's earlier batches."""
        self._by_node[node] = info, entries, batches
