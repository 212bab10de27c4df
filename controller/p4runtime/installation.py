# SPDX-License-Identifier: Apache-2.0
"""Serialised updates of all nodes whose tables are filled at once."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from typing import final

import numpy as np

from controller.errors import InstallError
from controller.p4runtime.kept_updates import Batches, KeptUpdates, batches_of
from controller.p4runtime.p4info import P4Info
from controller.p4runtime.row_encoding import SerialisedUpdates
from controller.plan.entry import Entry
from controller.plan.rows import NodeEntries, Rows, blocks_of

__all__ = ["Installation"]

# Entries that are encoded at once. Columns of one node are too short for NumPy to be fast.
_ENTRIES_AT_ONCE = 1 << 16


@final
class Installation:
    """Serialised updates that install entries by node.

    Entries of consecutive nodes with the same program are encoded together, when the first of the nodes asks
    for its updates. `kept` has the updates of earlier installations, and gets those of this one.
    """

    def __init__(
        self,
        entries: Mapping[str, Sequence[Entry]],
        infos: Mapping[str, P4Info | None],
        kept: KeptUpdates | None = None,
    ) -> None:
        self._entries = entries
        self._infos = infos
        self._kept = kept
        self._nodes = list(entries)
        self._positions = {node: position for position, node in enumerate(self._nodes)}
        self._ready: dict[str, Batches] = {}  # encoded for a node that has not asked yet

    def batches(self, node: str, info: P4Info) -> Batches:
        """Return the entries of each WriteRequest that installs a node's entries, and its updates.

        Raises:
            InstallError: An entry of the node does not fit in a message; the error does not name the node.
        """
        entries = self._entries[node]
        known = None if self._kept is None else self._kept.find(node, info, entries)
        if known is not None:
            return known
        batches = self._ready.pop(node, None)
        if batches is None or info is not self._infos[node]:
            batches = self._encode(node, info, entries)
        if self._kept is not None:
            self._kept.keep(node, info, entries, batches)
        return batches

    def _encode(self, node: str, info: P4Info, entries: Sequence[Entry]) -> Batches:
        if not isinstance(entries, NodeEntries | Rows):
            return [(batch, info.encode_installing(batch)) for batch in batches_of(entries)]
        nodes = {node: entries, **dict(self._following(node, info, len(entries)))}
        try:
            encoded = info.encode_nodes([blocks_of(own) for own in nodes.values()])
        except InstallError:  # of any of these nodes
            nodes = {node: entries}
            encoded = info.encode_nodes([blocks_of(entries)])
        ready = dict(zip(nodes, map(_batches, nodes.values(), encoded), strict=True))
        batches = ready.pop(node)
        self._ready.update(ready)
        return batches

    def _following(self, node: str, info: P4Info, count: int) -> Iterator[tuple[str, Sequence[Entry]]]:
        """Yield nodes after `node` with the same program, and their entries, up to the limit."""
        for other in islice(self._nodes, self._positions[node] + 1, None):
            entries = self._entries[other]
            count += len(entries)
            if count > _ENTRIES_AT_ONCE or self._infos[other] is not info:
                return
            if isinstance(entries, NodeEntries | Rows) and other not in self._ready:
                yield other, entries


def _batches(entries: Sequence[Entry], parts: Sequence[SerialisedUpdates]) -> Batches:
    """Return serialised updates in batches."""
    data = b"".join(part.data for part in parts)
    batches = list(batches_of(entries))
    if len(batches) < 2:
        return [(batch, data) for batch in batches]
    before = accumulate((len(part.data) for part in parts), initial=0)
    ends = np.concatenate([part.ends + start for part, start in zip(parts, before, strict=False)])
    bounds = [0, *ends[np.cumsum([len(batch) for batch in batches]) - 1].tolist()]
    return [(batch, data[begin:end]) for batch, (begin, end) in zip(batches, pairwise(bounds), strict=True)]
