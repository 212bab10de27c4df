# SPDX-License-Identifier: Apache-2.0
"""Matrices of circuits by what is in them: a demand is mostly zeros, a slot almost nothing else."""

from dataclasses import dataclass
from typing import Self, final

import numpy as np

from controller.circuits.flow import Ints

__all__ = ["Entries"]


@final
@dataclass(frozen=True, slots=True)
class Entries:
    """What is not zero of a row of (n, n) matrices: `count[e]` at `row[e]`, `col[e]` of matrix `block[e]`."""

    block: Ints
    row: Ints
    col: Ints
    count: Ints

    @classmethod
    def of(cls, matrices: Ints) -> Self:
        """Those of (blocks, n, n), in order."""
        block, row, col = np.nonzero(matrices)
        return cls(block, row, col, matrices[block, row, col].astype(np.int64))

    @classmethod
    def standing(cls, maps: Ints) -> Self:
        """The circuits of (slots, n) maps, where -1 is dark."""
        slot, row = np.nonzero(maps >= 0)
        return cls(slot, row, maps[slot, row].astype(np.int64), np.ones(len(slot), np.int64))

    def select(self, which: np.ndarray) -> Self:
        return type(self)(self.block[which], self.row[which], self.col[which], self.count[which])

    def key(self, n: int, block: Ints | None = None) -> Ints:
        """One number for block, row and column, in their order."""
        return ((self.block if block is None else block) * n + self.row) * n + self.col

    def dense(self, blocks: int, n: int) -> Ints:
        found = np.zeros((blocks, n, n), np.int64)
        np.add.at(found, (self.block, self.row, self.col), self.count)
        return found

    def maps(self, slots: int, n: int) -> Ints:
        """(slots, n) of entries of one circuit each, -1 where there is none."""
        found = np.full((slots, n), -1)
        found[self.block, self.row] = self.col
        return found
