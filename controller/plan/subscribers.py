# SPDX-License-Identifier: Apache-2.0
"""Nodes to notify when a link fails: the sources with a path over it."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import final

from controller.garbage import garbage_collection_paused
from controller.plan.entry import Path, hops_of
from topologies import Fabric
from topologies.errors import TopologyError

__all__ = ["Subscribers"]

# Links whose sources are searched for one link at a time, before the sources of all links are.
_SINGLE_LINKS = 8


@final
class Subscribers(Mapping[str, tuple[str, ...]]):
    """Sources with a candidate path over each link, in the order of the fabric's nodes.

    Candidates and not only routes count: a source that has moved to another candidate must learn when that
    path fails too. Routes beside the candidates are standby paths. Computed on first use: most runs ask for
    no link or for a few, which take a tenth of the time of all links of a large fabric.
    """

    def __init__(
        self,
        fabric: Fabric,
        candidates: Mapping[tuple[str, str], list[Path]],
        routes: Mapping[tuple[str, str], tuple[Path, ...]],
    ) -> None:
        self._fabric = fabric
        self._candidates = candidates
        self._routes = routes
        self._single: dict[str, tuple[str, ...]] = {}
        self._by_link: dict[str, tuple[str, ...]] | None = None

    def __getitem__(self, link: str) -> tuple[str, ...]:
        if self._by_link is None:
            if link in self._single:
                return self._single[link]
            if len(self._single) < _SINGLE_LINKS:
                return self._single.setdefault(link, self._sources_over(link))
        return self._all()[link]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._fabric.links)

    def _sources_over(self, name: str) -> tuple[str, ...]:
        """Return the sources with a path over one link, or over a link parallel to it."""
        try:
            link = self._fabric.link(name)
        except TopologyError:
            raise KeyError(name) from None
        a, b = link.a.node, link.b.node
        sources: dict[str, None] = {}
        for pair, candidates in self._candidates.items():
            if pair[0] in sources:
                continue
            for path in chain(candidates, dict.fromkeys(self._routes.get(pair, ()))):
                if a in path and b in path and abs(path.index(a) - path.index(b)) == 1:
                    sources[pair[0]] = None
                    break
        return tuple(sources)

    @garbage_collection_paused()
    def _all(self) -> dict[str, tuple[str, ...]]:
        """Return the sources of all links."""
        if self._by_link is None:
            links = self._fabric.links
            watching: dict[str, dict[str, None]] = {link.name: {} for link in links}
            watched: dict[tuple[str, str], list[dict[str, None]]] = {}
            for link in links:
                for hop in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
                    watched.setdefault(hop, []).append(watching[link.name])
            for pair, candidates in self._candidates.items():
                source = pair[0]
                paths = dict.fromkeys((*candidates, *self._routes.get(pair, ())))
                for hop in dict.fromkeys(hop for path in paths for hop in hops_of(path)):
                    for sources in watched[hop]:
                        sources[source] = None
            self._by_link = {link: tuple(sources) for link, sources in watching.items()}
        return self._by_link
