# SPDX-License-Identifier: Apache-2.0
"""Nodes to notify when a link fails: the sources with a path over the link."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.plan.path_columns import PathColumns
from topologies.errors import TopologyError
from topologies.model.columns import columns, distinct

__all__ = ["Subscribers"]

# Number of paths whose hops are sorted together.
_ROWS = 1 << 17


@final
class Subscribers(Mapping[str, tuple[str, ...]]):
    """Sources by link: each with a path over the link or a parallel link, in the order of the fabric's nodes.

    `paths` has all candidates, and the standby paths. Candidates that carry no traffic count as well: a
    source that has moved to another candidate must learn when that candidate fails too.
    """

    def __init__(self, paths: PathColumns) -> None:
        self._paths = paths
        self._fabric = paths.fabric
        self._by_source: dict[str, frozenset[int]] = {}
        self._by_link: dict[str, tuple[int, int]] = {}

    def __getitem__(self, link: str) -> tuple[str, ...]:
        names, (hops, sources) = columns(self._fabric).names, self._sources_by_hop
        both = self._hops_of(link)
        parts = [sources[slice(*np.searchsorted(hops, [hop, hop + 1]).tolist())] for hop in both]
        return tuple([names[source] for source in distinct(np.concatenate(parts)).tolist()])

    def include(self, link: str, node: str) -> bool:
        """Return whether a node has a path over a link; KeyError if the fabric has no such link."""
        return not self._hops_from(node).isdisjoint(self._hops_of(link))

    def _hops_from(self, node: str) -> frozenset[int]:
        """Return the numbers of all hops of the paths of a source."""
        if node not in self._by_source:
            paths, pairs = self._paths, self._paths.pairs.of_source(node)
            own = paths.hops[paths.first[pairs.start] : paths.first[pairs.stop]]
            self._by_source[node] = frozenset(distinct(own).tolist())
        return self._by_source[node]

    def _hops_of(self, link: str) -> tuple[int, int]:
        """Return the numbers of the two hops over a link, one for each direction."""
        if link not in self._by_link:
            try:
                ends = self._fabric.link(link)
            except TopologyError:
                raise KeyError(link) from None
            a, b = self._fabric.node(ends.a.node).index, self._fabric.node(ends.b.node).index
            there, back = columns(self._fabric).hops(np.array([a, b], np.int32), np.array([b, a], np.int32))
            self._by_link[link] = int(there), int(back)
        return self._by_link[link]

    def __iter__(self) -> Iterator[str]:
        return (link.name for link in self._fabric.links)

    def __len__(self) -> int:
        return len(self._fabric.links)

    @cached_property
    def _sources_by_hop(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All pairs of a hop and the source of a path over the hop.

        The pairs are an array of hops and an array of sources, sorted by hop, without repeated pairs.
        """
        hops, count = self._paths.hops, len(self._fabric.nodes)
        sources = self._paths.pairs.sources[self._paths.pair_of].astype(np.int64)
        # Most paths of a source have hops in common: sorting parts first removes most of the repeated pairs.
        parts = []
        for begin in range(0, len(hops), _ROWS):
            some = hops[begin : begin + _ROWS]
            keys = some * np.int64(count) + sources[begin : begin + _ROWS, None]
            parts.append(distinct(keys[some >= 0]))
        keys = distinct(np.concatenate(parts)) if parts else np.zeros(0, np.int64)
        return keys // count, keys % count
