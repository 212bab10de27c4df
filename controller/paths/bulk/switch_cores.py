# SPDX-License-Identifier: Apache-2.0
"""Paths through switches alone between sets of switches, searched for many pairs of sets at the same time.

The core of a path between two endpoints is the path without the endpoints. Endpoints with links to the same
switches have the same cores, so cores are searched once for each pair of sets of switches.

All cores of one length grow together. Each step replaces a path by its extensions over the hops that leave
its last switch, in port order. So the paths stay in the order in which a search by ports finds them.
"""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.channels import Numbers
from controller.paths.bulk.working_hops import WorkingHops
from controller.plan.path_columns import ragged

__all__ = ["SwitchCores"]

# Distances to the last switches are searched up to this many hops; any greater distance counts as one more.
_RADIUS = 3
# Limits of a search that bound its memory: pairs of sets, and distances (a distance for each set and node).
_KEYS_AT_ONCE = 1 << 12
_CELLS_AT_ONCE = 1 << 24
# The distances of all sets are kept if there are at most this many (a distance for each set and node).
_KEPT_CELLS = 1 << 27


@final
class SwitchCores:
    """Search for paths from one set of switches to another; every node after the first must be usable.

    Args:
        hops: Hops that work.
        usable: Mask of the usable nodes.
        sets: Sets of switches, by node number.
    """

    def __init__(self, hops: WorkingHops, usable: NDArray[np.bool_], sets: Sequence[tuple[int, ...]]) -> None:
        table = hops.table
        inside = usable[table.heads[hops.leaving]]
        self._heads = table.heads[hops.leaving[inside]]
        nodes = np.arange(len(table.names) + 1)
        self._first = np.searchsorted(table.tails[hops.leaving[inside]], nodes).astype(np.int32)
        self._nodes = len(usable)
        self._members = np.array([switch for each in sets for switch in each], np.int32)
        self._begin = np.append(0, np.cumsum([len(each) for each in sets])).astype(np.int64)
        self._all: NDArray[np.int8] | None = None

    def cores(
        self, firsts: NDArray[np.int64], lasts: NDArray[np.int64], count: int
    ) -> tuple[NDArray[np.int64], Numbers]:
        """Return, for every k, the simple paths of `count` switches from set `firsts[k]` to set `lasts[k]`.

        Returns:
            The number k of each path, ascending, and the paths: a row of node numbers for each.
        """
        order = np.argsort(lasts, kind="stable")
        numbers: list[NDArray[np.int64]] = []
        rows: list[Numbers] = []
        for chosen in self._chunks(lasts, order):
            at, paths = self._search(firsts[chosen], lasts[chosen], count)
            numbers.append(chosen[at])
            rows.append(paths)
        if not numbers:
            return np.zeros(0, np.int64), np.zeros((0, count), np.int32)
        number, path = np.concatenate(numbers), np.concatenate(rows)
        back = np.argsort(number, kind="stable")
        return number[back], path[back]

    def _chunks(self, lasts: NDArray[np.int64], order: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        most = max(1, min(_KEYS_AT_ONCE, _CELLS_AT_ONCE // max(1, self._nodes)))
        return [order[begin : begin + most] for begin in range(0, len(order), most)]

    def _search(
        self, firsts: NDArray[np.int64], lasts: NDArray[np.int64], count: int
    ) -> tuple[NDArray[np.intp], Numbers]:
        distance, end = self._distances_to(lasts)
        keys, positions = ragged(self._begin[firsts], self._begin[firsts + 1])
        last = self._members[positions]
        close = distance[end[keys], last] < count
        keys, paths = keys[close], last[close][:, None]
        for left in range(count - 1, 0, -1):
            # Paths with the same last switch and target set have the same next hops, which are chosen once.
            at, step = np.unique(end[keys] * self._nodes + paths[:, -1], return_inverse=True)
            ends, nodes = np.divmod(at, self._nodes)
            rows, hops = ragged(self._first[nodes], self._first[nodes + 1])
            heads = self._heads[hops]
            onward = distance[ends[rows], heads] < left
            heads = heads[onward]
            begin = np.append(0, np.cumsum(np.bincount(rows[onward], minlength=len(at))))
            rows, positions = ragged(begin[step], begin[step + 1])
            heads = heads[positions]
            simple = (paths[rows] != heads[:, None]).all(axis=1)
            rows, heads = rows[simple], heads[simple]
            keys, paths = keys[rows], np.concatenate([paths[rows], heads[:, None]], axis=1)
        return keys, paths

    def _distances_to(self, lasts: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Return distances to sets (see `_distances`), and the row of the distances for each of `lasts`."""
        if self._all is not None:
            return self._all, lasts
        sets = len(self._begin) - 1
        if sets * self._nodes <= _KEPT_CELLS:  # searches with other numbers of switches use them again
            self._all = self._distances(np.arange(sets))
            return self._all, lasts
        ends, end = np.unique(lasts, return_inverse=True)
        return self._distances(ends), end

    def _distances(self, sets: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the hops from each node to the nearest switch of each set, at most _RADIUS + 1."""
        distance = np.full((len(sets), self._nodes), _RADIUS + 1, np.int8)
        rows, positions = ragged(self._begin[sets], self._begin[sets + 1])
        nodes = self._members[positions]
        distance[rows, nodes] = 0
        cells, finder = distance.reshape(-1), np.zeros(distance.size, np.int32)
        for hops in range(1, _RADIUS + 1):
            step, at = ragged(self._first[nodes], self._first[nodes + 1])
            cell = rows[step] * self._nodes + self._heads[at]
            cell = cell[cells[cell] > hops]
            # Several hops may lead to a cell of `distance`: only the hop written last keeps the cell.
            number = np.arange(len(cell), dtype=np.int32)
            finder[cell] = number
            cell = cell[finder[cell] == number]
            cells[cell] = hops
            rows, nodes = np.divmod(cell, self._nodes)
        return distance
