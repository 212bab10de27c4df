# SPDX-License-Identifier: Apache-2.0
"""Lengths of shortest paths, counted in links."""

from collections.abc import Collection

import numpy as np

from topologies.errors import TopologyError
from topologies.model.fabric import Fabric

__all__ = ["longest_way"]

# Sources of one search: each takes a bit a node, so that a SuperPod needs some ten megabytes.
_SOURCES = 4096


def longest_way(fabric: Fabric, ends: Collection[str] | None = None) -> int:
    """Return the number of links of the longest shortest path between `ends`, all nodes by default.

    TopologyError when no path joins two of the ends. The search runs from up to `_SOURCES` sources at once,
    with a bit for each: searches from one source after the other would take minutes in a Pod.
    """
    index = {node.name: number for number, node in enumerate(fabric.nodes)}
    wanted = np.array([index[fabric.node(name).name] for name in (index if ends is None else ends)], np.int64)
    a_ends = np.array([index[link.a.node] for link in fabric.links], dtype=np.int64)
    b_ends = np.array([index[link.b.node] for link in fabric.links], dtype=np.int64)
    heads, tails = np.concatenate([a_ends, b_ends]), np.concatenate([b_ends, a_ends])
    order = np.argsort(heads, kind="stable")
    heads, tails = heads[order], tails[order]
    starts = np.flatnonzero(np.diff(heads, prepend=-1))
    longest = 0
    for first in range(0, len(wanted), _SOURCES):
        sources = wanted[first : first + _SOURCES]
        reached = np.zeros((len(index), -(-len(sources) // 64)), dtype=np.uint64)
        bits = np.arange(len(sources))
        np.bitwise_or.at(reached, (sources, bits // 64), np.uint64(1) << (bits % 64).astype(np.uint64))
        everyone = np.bitwise_or.reduce(reached, axis=0)
        steps = 0
        while not (reached[wanted] == everyone).all():
            grown = reached.copy()
            if len(starts):
                grown[heads[starts]] |= np.bitwise_or.reduceat(reached[tails], starts, axis=0)
            if (grown == reached).all():
                raise TopologyError(
                    f"fabric {fabric.name}: some of the {len(wanted)} nodes cannot reach each other",
                    remedy="add links between them",
                )
            reached = grown
            steps += 1
        longest = max(longest, steps)
    return longest
