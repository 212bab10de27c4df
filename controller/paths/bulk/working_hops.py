# SPDX-License-Identifier: Apache-2.0
"""Hops of a fabric over working links, as arrays by hop number (topologies.model.columns)."""

from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.channels import Hops, Numbers
from controller.deadlock.turn_rules import RuleSet
from controller.paths.finder import PathFinder
from controller.plan.path_columns import ragged
from topologies.model.columns import columns

__all__ = ["WorkingHops"]


@final
class WorkingHops:
    """Hops of a finder's working links, and the admitted turns between them.

    `alive` is a mask of the working hops. Read it at the first of parallel hops: it is true there if at least
    one of their links works.
    """

    def __init__(self, finder: PathFinder, rules: RuleSet) -> None:
        self.fabric = finder.fabric
        self.table = columns(finder.fabric)
        self._rules = rules
        self.alive = np.ones(len(self.table.tails), np.bool_)
        if finder.failed:
            failed = [link.name in finder.failed for link in finder.fabric.links]
            self.alive[:] = False
            self.alive[self.table.representative[~np.repeat(failed, 2)]] = True

    @cached_property
    def leaving(self) -> Numbers:
        """Working hops by tail, then by port: node n has the hops `leaving[first[n] : first[n + 1]]`."""
        leaving = self.table.leaving
        return leaving[self.alive[leaving]]

    @cached_property
    def first(self) -> Numbers:
        """Position in `leaving` of each node's first hop; the last element is the number of hops."""
        tails = self.table.tails[self.leaving]
        return np.searchsorted(tails, np.arange(len(self.table.names) + 1)).astype(np.int32)

    def hops(self, tails: Numbers, heads: Numbers) -> Numbers:
        """Return the working hop between nodes, element by element; -1 where there is none."""
        hops = self.table.hops(tails, heads)
        return np.where((hops >= 0) & self.alive[hops], hops, np.int32(-1))

    def onward(self, nodes: Numbers) -> tuple[NDArray[np.intp], Numbers]:
        """Return all working hops from `nodes`: the index in `nodes` of each tail, and the hops."""
        rows, positions = ragged(self.first[nodes], self.first[nodes + 1])
        return rows, self.leaving[positions]

    @cached_property
    def _turns(self) -> tuple[Numbers, NDArray[np.int8]]:
        hops = Hops(self.fabric, self._rules)
        return hops.ways, np.array(hops.turns, np.int8)

    def admitted(self, hops: Numbers) -> NDArray[np.bool_]:
        """Return, by path, whether the turn rules admit it from the entry VL of data.

        A path is a row of hop numbers; -1 fills the rows of shorter paths.
        """
        ways, turns = self._turns
        way = np.zeros(len(hops), np.int32)
        vl = np.zeros(len(hops), np.int8)
        for step in hops.T:
            under_way = (step >= 0) & (vl >= 0)
            leaves = ways[step]
            vl = np.where(under_way, turns[way, np.maximum(vl, 0), leaves], vl)
            way = np.where(under_way, leaves, way)
        return vl >= 0
