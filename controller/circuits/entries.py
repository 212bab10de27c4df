# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices of circuits; most entries of demands and slots are zero."""

from dataclasses import dataclass
from typing import Self, final

import numpy as np

from controller.circuits.flow import Ints

__all__ = ["Entries"]


@final
@dataclass(frozen=True, slots=True)
class Entries:
    """Nonzero entries of (n, n) matrices: `count[e]` at `row[e]`, `col[e]` of matrix `block[e]`."""

    block: Ints
    row: Ints
    col: Ints
    count: Ints

    @classmethod
    def of(cls, matrices: Ints) -> Self:
        """Return the nonzero entries of matrices, (blocks, n, n), in order of block, row and column."""
        block, row, col = np.nonzero(matrices)
        return cls(block, row, col, matrices[block, row, col].astype(np.int64))

    @classmethod
    def standing(cls, maps: Ints) -> Self:
        """Return one entry for each circuit of maps, (slots, n); -1 is dark."""
        slot, row = np.nonzero(maps >= 0)
        return cls(slot, row, maps[slot, row].astype(np.int64), np.ones(len(slot), np.int64))

    def select(self, which: np.ndarray) -> Self:
        """Return the entries at the positions `which`."""
        return type(self)(self.block[which], self.row[which], self.col[which], self.count[which])

    def key(self, n: int, block: Ints | None = None) -> Ints:
        """Return a sort key of each entry, by block, row and column; `block` replaces the entries' blocks."""
        return ((self.block if block is None else block) * n + self.row) * n + self.col

    def dense(self, blocks: int, n: int) -> Ints:
        """Return the matrices, (blocks, n, n)."""
        matrices = np.zeros((blocks, n, n), np.int64)
        np.add.at(matrices, (self.block, self.row, self.col), self.count)
        return matrices

    def maps(self, slots: int, n: int) -> Ints:
        """Return maps, (slots, n), of entries with one circuit each; -1 is dark."""
        matrices = np.full((slots, n), -1)
        matrices[self.block, self.row] = self.col
        return matrices
