# SPDX-License-Identifier: Apache-2.0
"""Nodes to notify when a link fails: the sources with a path over it."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.plan.path_columns import PathColumns
from topologies.errors import TopologyError
from topologies.model.columns import columns

__all__ = ["Subscribers"]


@final
class Subscribers(Mapping[str, tuple[str, ...]]):
    """Sources with a path over each link, or over a link parallel to it, in the order of the fabric's nodes.

    `paths` are candidates, and standby paths beside them. Candidates and not only routes count: a source that
    has moved to another candidate must learn when that path fails too.
    """

    def __init__(self, paths: PathColumns) -> None:
        self._paths = paths
        self._fabric = paths.fabric

    def __getitem__(self, link: str) -> tuple[str, ...]:
        names = columns(self._fabric).names
        return tuple([names[source] for source in np.unique(np.concatenate(self._parts(link))).tolist()])

    def include(self, link: str, node: str) -> bool:
        """Return whether a node has a path over a link; KeyError if the fabric has no such link."""
        source = self._fabric.node(node).index
        at = ((part, int(np.searchsorted(part, source))) for part in self._parts(link))
        return any(index < len(part) and part[index] == source for part, index in at)

    def _parts(self, link: str) -> list[NDArray[np.int64]]:
        """Return the sources of paths over a link by direction, ascending."""
        try:
            ends = self._fabric.link(link)
        except TopologyError:
            raise KeyError(link) from None
        a, b = self._fabric.node(ends.a.node).index, self._fabric.node(ends.b.node).index
        table, (hops, sources) = columns(self._fabric), self._sources_by_hop
        both = table.hops(np.array([a, b], np.int32), np.array([b, a], np.int32))
        return [sources[slice(*np.searchsorted(hops, [hop, hop + 1]).tolist())] for hop in both.tolist()]

    def __iter__(self) -> Iterator[str]:
        return (link.name for link in self._fabric.links)

    def __len__(self) -> int:
        return len(self._fabric.links)

    @cached_property
    def _sources_by_hop(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Hops, ascending, and the source of a path over each; each pair of them once."""
        hops, count = self._paths.hops, len(self._fabric.nodes)
        sources = self._paths.pairs.sources[self._paths.pair_of].astype(np.int64)
        taken = hops >= 0
        keys = np.unique((hops * np.int64(count) + sources[:, None])[taken])
        return keys // count, keys % count
