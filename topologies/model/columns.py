# SPDX-License-Identifier: Apache-2.0
"""A fabric as columns: arrays over its nodes and over its hops, for vectorised computation.

A hop is one direction of a link: hop 2 i leads from the first end of link i to its second end, hop 2 i + 1
back. The first hop of parallel links represents all of them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from topologies.model.computed_once import computed_once
from topologies.model.fabric import Fabric

__all__ = ["NO_DIMENSION", "FabricColumns", "columns", "distinct"]

Numbers = NDArray[np.int32]

# Dimension of a hop that leads to another tier.
NO_DIMENSION = -1


@final
@dataclass(frozen=True, eq=False)
class FabricColumns:
    """A fabric as arrays, for searches over many paths: nodes by index, hops by number.

    Of nodes: `names`, `tiers`, `levels`, `addresses`, and `coordinates` (a row a node).
    Of hops: `tails` and `heads` are node indices, `ports` the egress port at the tail, `arrivals` the ingress
    port at the head, `dimensions` the dimension (NO_DIMENSION between tiers), `rates` bits per second.
    """

    names: tuple[str, ...]
    tiers: Numbers
    levels: Numbers
    addresses: Numbers
    coordinates: Numbers
    tails: Numbers
    heads: Numbers
    ports: Numbers
    arrivals: Numbers
    dimensions: Numbers
    rates: NDArray[np.int64]

    @cached_property
    def representative(self) -> Numbers:
        """First hop with equal tail and head, for each hop: the hop itself unless links are parallel."""
        _, first, inverse = np.unique(
            self._keys(self.tails, self.heads), return_index=True, return_inverse=True
        )
        return first[inverse].astype(np.int32)

    @cached_property
    def leaving(self) -> Numbers:
        """Representative hops of all ordered pairs of neighbours, sorted by tail, then by port."""
        single = np.flatnonzero(self.representative == np.arange(len(self.tails)))
        order = np.lexsort((self.ports[single], self.tails[single]))
        return single[order].astype(np.int32)

    @cached_property
    def first(self) -> Numbers:
        """Start of each node's hops in `leaving`: node n has `leaving[first[n] : first[n + 1]]`."""
        return np.searchsorted(self.tails[self.leaving], np.arange(len(self.names) + 1)).astype(np.int32)

    @cached_property
    def degrees(self) -> Numbers:
        """Number of neighbours of each node."""
        return np.diff(self.first)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], Numbers]:
        """Sorted keys of the hops in `leaving`, and the hops in the order of their keys."""
        keys = self._keys(self.tails[self.leaving], self.heads[self.leaving])
        order = np.argsort(keys)
        return keys[order], self.leaving[order]

    def _keys(self, tails: Numbers, heads: Numbers) -> NDArray[np.int64]:
        return tails.astype(np.int64) * len(self.names) + heads

    def hops(self, tails: Numbers, heads: Numbers) -> Numbers:
        """Return the first hop from `tails[i]` to `heads[i]` for each i; -1 where no link joins the two."""
        keys, hops = self._sorted
        if not len(keys):
            return np.full(len(tails), -1, np.int32)
        wanted = self._keys(tails, heads)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, hops[at], np.int32(-1))


@computed_once
def columns(fabric: Fabric) -> FabricColumns:
    """Return the columns of a fabric."""
    nodes, links = fabric.nodes, fabric.links
    index = {node.name: number for number, node in enumerate(nodes)}
    ends = [
        (index[link.a.node], index[link.b.node], link.a.port, link.b.port, link.dimension, link.rate_bps)
        for link in links
    ]
    table = np.array(
        [(a, b, port, other, -1 if axis is None else axis, rate) for a, b, port, other, axis, rate in ends],
        np.int64,
    ).reshape(-1, 6)
    both = np.repeat(table, 2, axis=0)
    both[1::2, [0, 1, 2, 3]] = both[1::2, [1, 0, 3, 2]]
    narrow = both[:, :5].astype(np.int32)
    return FabricColumns(
        names=tuple(node.name for node in nodes),
        tiers=np.array([node.tier for node in nodes], np.int32),
        levels=np.array([node.level for node in nodes], np.int32),
        addresses=np.array([node.address for node in nodes], np.int32),
        coordinates=np.array([node.coordinates for node in nodes], np.int32).reshape(len(nodes), -1),
        tails=narrow[:, 0].copy(),
        heads=narrow[:, 1].copy(),
        ports=narrow[:, 2].copy(),
        arrivals=narrow[:, 3].copy(),
        dimensions=narrow[:, 4].copy(),
        rates=both[:, 5].copy(),
    )


def distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct numbers of an array, ascending.

    NumPy's `unique` uses a hash table; for a million numbers it takes twenty times as long as this sort.
    """
    ordered = np.sort(numbers, axis=None)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]
