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

# Cells of the largest table of sources and hops.
_CELLS = 1 << 24


@final
class Subscribers(Mapping[str, tuple[str, ...]]):
    """Sources with a path over each link, or over a link parallel to it, in the order of the fabric's nodes.

    `paths` are candidates, and standby paths beside them. Candidates and not only routes count: a source that
    has moved to another candidate must learn when that path fails too.
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
        return tuple([names[source] for source in np.unique(np.concatenate(parts)).tolist()])

    def include(self, link: str, node: str) -> bool:
        """Return whether a node has a path over a link; KeyError if the fabric has no such link."""
        return not self._hops_from(node).isdisjoint(self._hops_of(link))

    def _hops_from(self, node: str) -> frozenset[int]:
        """Return the numbers of all hops of the paths of a source."""
        if node not in self._by_source:
            paths, pairs = self._paths, self._paths.pairs.of_source(node)
            own = paths.hops[paths.first[pairs.start] : paths.first[pairs.stop]]
            self._by_source[node] = frozenset(np.unique(own).tolist())
        return self._by_source[node]

    def _hops_of(self, link: str) -> tuple[int, int]:
        """Return the numbers of the hops over a link, one a direction."""
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
        """Hops, ascending, and the source of a path over each; each pair of them once."""
        paths, width = self._paths, len(columns(self._fabric).tails) + 1
        sources, first = np.unique(paths.pairs.sources[paths.pair_of], return_index=True)
        bounds = np.append(first, len(paths.hops))
        # Most paths of a source have hops in common: tables mark each hop of a source once, -1 as the last.
        step = max(1, _CELLS // width)
        parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for begin in range(0, len(sources), step):
            own = bounds[begin : begin + step + 1]
            row_of = np.arange(len(own) - 1).repeat(np.diff(own))
            marked = np.zeros((len(own) - 1, width), np.bool_)
            marked[row_of[:, None], paths.hops[own[0] : own[-1]]] = True
            rows, hops = np.nonzero(marked[:, :-1])
            parts.append((hops, sources[begin + rows]))
        hops, users = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(hops, kind="stable")
        return hops[order], users[order]
