# SPDX-License-Identifier: Apache-2.0
"""Serialise the updates of several nodes at once, to fill or change their tables."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from typing import final

import numpy as np

from controller.errors import InstallError
from controller.p4runtime.p4info import P4Info
from controller.p4runtime.row_encoding import SerialisedUpdates
from controller.p4runtime.update_cache import Batches, UpdateCache, batches_of
from controller.plan.updates import Part, Update, Written, parts_of

__all__ = ["NodeWrites"]

# Largest number of entries that are encoded together. They are of several nodes, as arrays of a single node
# are too short for fast NumPy.
_ENTRIES_AT_ONCE = 1 << 16


@final
class NodeWrites:
    """Serialises the updates of several nodes for WriteRequests.

    Consecutive nodes with the same program are encoded together, when the first of them is requested.

    Args:
        written: Entries to install, or updates, by node.
        infos: P4info by node; None if it is not known yet.
        cache: Cache of serialised updates, for further installations.
    """

    def __init__(
        self,
        written: Mapping[str, Written],
        infos: Mapping[str, P4Info | None],
        cache: UpdateCache | None = None,
    ) -> None:
        self._written = written
        self._infos = infos
        self._cache = cache
        self._nodes = list(written)
        self._positions = {node: position for position, node in enumerate(self._nodes)}
        self._ready: dict[str, Batches] = {}  # encoded, but not requested yet

    def batches(self, node: str, info: P4Info) -> Batches:
        """Return, for each WriteRequest of a node, its entries or updates and their bytes.

        Raises:
            InstallError: An entry of the node does not fit in a message; the error does not name the node.
        """
        entries = self._written[node]
        known = None if self._cache is None else self._cache.find(node, info, entries)
        if known is not None:
            return known
        batches = self._ready.pop(node, None)
        if batches is None or info is not self._infos[node]:
            batches = self._encode(node, info, entries)
        if self._cache is not None:
            self._cache.keep(node, info, entries, batches)
        return batches

    def _encode(self, node: str, info: P4Info, written: Written) -> Batches:
        parts = parts_of(written)
        if parts is None:
            return [(batch, _encode_batch(info, batch)) for batch in batches_of(written)]
        nodes = {node: parts, **dict(self._following(node, info, len(written)))}
        try:
            encoded = info.encode_nodes(list(nodes.values()))
        except InstallError:  # an entry of another node may be the cause
            nodes = {node: parts}
            encoded = info.encode_nodes([parts])
        ready = {name: _batches(self._written[name], own) for name, own in zip(nodes, encoded, strict=True)}
        batches = ready.pop(node)
        self._ready.update(ready)
        return batches

    def _following(self, node: str, info: P4Info, count: int) -> Iterator[tuple[str, tuple[Part, ...]]]:
        """Yield next nodes with the program of `node`, and their parts; at most _ENTRIES_AT_ONCE entries."""
        for other in islice(self._nodes, self._positions[node] + 1, None):
            written = self._written[other]
            count += len(written)
            if count > _ENTRIES_AT_ONCE or self._infos[other] is not info:
                return
            parts = parts_of(written)
            if parts is not None and other not in self._ready:
                yield other, parts


def _encode_batch(info: P4Info, batch: Written) -> bytes:
    updates = [item for item in batch if isinstance(item, Update)]
    if updates:
        return info.encode_updates(updates)
    return info.encode_installing([item for item in batch if not isinstance(item, Update)])


def _batches(written: Written, parts: Sequence[SerialisedUpdates]) -> Batches:
    """Divide a node's serialised updates into batches."""
    data = b"".join(part.data for part in parts)
    batches = list(batches_of(written))
    if len(batches) < 2:
        return [(batch, data) for batch in batches]
    before = accumulate((len(part.data) for part in parts), initial=0)
    ends = np.concatenate([part.ends + start for part, start in zip(parts, before, strict=False)])
    bounds = [0, *ends[np.cumsum([len(batch) for batch in batches]) - 1].tolist()]
    return [(batch, data[begin:end]) for batch, (begin, end) in zip(batches, pairwise(bounds), strict=True)]
