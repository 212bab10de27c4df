# SPDX-License-Identifier: Apache-2.0
"""Hops of a fabric over links that have not failed, as arrays by hop number (topologies.model.columns)."""

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
    """Hops of a finder's working links, and the turns that the rules admit between them.

    `alive` holds for the first of parallel hops, which stands for all: whether one of their links works.
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
        """Working hops by tail, then by port: those of node n are `leaving[first[n] : first[n + 1]]`."""
        leaving = self.table.leaving
        return leaving[self.alive[leaving]]

    @cached_property
    def first(self) -> Numbers:
        """Positions in `leaving` by node."""
        tails = self.table.tails[self.leaving]
        return np.searchsorted(tails, np.arange(len(self.table.names) + 1)).astype(np.int32)

    def hops(self, tails: Numbers, heads: Numbers) -> Numbers:
        """Return the working hop between nodes, element by element; -1 where there is none."""
        hops = self.table.hops(tails, heads)
        return np.where((hops >= 0) & self.alive[hops], hops, np.int32(-1))

    def onward(self, nodes: Numbers) -> tuple[NDArray[np.intp], Numbers]:
        """Return the working hops that leave nodes: which element of `nodes` each leaves, and the hops."""
        rows, places = ragged(self.first[nodes], self.first[nodes + 1])
        return rows, self.leaving[places]

    @cached_property
    def _turns(self) -> tuple[Numbers, NDArray[np.int8]]:
        hops = Hops(self.fabric, self._rules)
        return hops.ways, np.array(hops.turns, np.int8)

    def admitted(self, hops: Numbers) -> NDArray[np.bool_]:
        """Return whether the turn rules admit each path, a row of hop numbers, on the entry VL of data."""
        ways, turns = self._turns
        way = np.zeros(len(hops), np.int32)
        vl = np.zeros(len(hops), np.int8)
        for step in hops.T:
            under_way = (step >= 0) & (vl >= 0)
            leaves = ways[step]
            vl = np.where(under_way, turns[way, np.maximum(vl, 0), leaves], vl)
            way = np.where(under_way, leaves, way)
        return vl >= 0
