# SPDX-License-Identifier: Apache-2.0
"""A set of numbers for each node of a fabric, such as the switches above it, as arrays."""

from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from controller.plan.path_columns import ragged
from topologies.model.columns import distinct

__all__ = ["NodeSets"]

Integers = NDArray[np.integer]


@final
class NodeSets:
    """A set of numbers for each node: node n has the set `members[first[n] : first[n + 1]]`."""

    def __init__(self, nodes: Integers, members: Integers, count: int) -> None:
        """Make the sets of `count` nodes from pairs (node, member), sorted by node."""
        self.members = np.asarray(members, np.int64)
        self.first = np.searchsorted(nodes, np.arange(count + 1))
        self._span = int(self.members.max(initial=0)) + 1
        self._keys = distinct(np.asarray(nodes, np.int64) * self._span + self.members)

    def of(self, nodes: Integers) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return all members of the sets of `nodes`, as two arrays with an element for each member.

        The first array has the index in `nodes` of the node whose set has the member, the second the member.
        """
        rows, positions = ragged(self.first[nodes], self.first[nodes + 1])
        return rows, self.members[positions]

    def meet(self, nodes: Integers, others: "NodeSets", of: Integers) -> NDArray[np.bool_]:
        """Return, for every i, whether the set of `nodes[i]` and the set of `of[i]` in `others` intersect."""
        rows, members = self.of(nodes)
        inside = members < others._span
        keys = np.asarray(of, np.int64)[rows] * others._span + members
        at = np.minimum(np.searchsorted(others._keys, keys), max(len(others._keys) - 1, 0))
        shared = inside & (others._keys[at] == keys) if len(others._keys) else np.zeros(len(keys), np.bool_)
        met = np.zeros(len(nodes), np.bool_)
        met[rows[shared]] = True
        return met

    def mapped(self, values: Integers) -> Self:
        """Return the sets with each member replaced by `values[member]`; negative values are left out."""
        nodes = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        mapped = values[self.members] if len(self.members) else self.members
        kept = mapped >= 0
        return type(self)(nodes[kept], mapped[kept], len(self.first) - 1)
