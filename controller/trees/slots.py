# SPDX-License-Identifier: Apache-2.0
"""Allocation of the switches' aggregator cells: a tree gets a range of cells for the time of its job.

A cell is the memory of one block of values in a switch. A slot has two cells, for successive blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from controller.errors import PlanError
from controller.trees.tree import SwitchTree

__all__ = ["CELLS", "MAX_BLOCK", "TREES", "Allotment", "SlotPool"]

CELLS = 4096
"""Cells of a switch: REDUCE_CELLS of p4/include/reduction.p4."""

TREES = 256
"""Trees of a switch: REDUCE_TREES of p4/include/reduction.p4."""

MAX_BLOCK = (1 << 32) - 1
"""Largest block number in a frame."""


# A multicast group has the number of its tree plus 1, in 16 bits.
_NUMBERS = (1 << 16) - 1


@final
@dataclass(frozen=True, slots=True)
class Allotment:
    """Cells of a tree at each of its switches: `window` slots of two cells, from cell `bases[switch]` on.

    Blocks are numbered from `first_block`, which is above all block numbers that the cells have held before.
    """

    number: int
    tree: SwitchTree
    window: int
    first_block: int
    bases: Mapping[str, int]

    @property
    def cells(self) -> int:
        """Number of cells that the tree uses at each of its switches."""
        return 2 * self.window


@final
class SlotPool:
    """Gives each tree cells of its switches, and block numbers not used before at these switches."""

    def __init__(self, cells: int = CELLS) -> None:
        self._cells = cells
        self._given: dict[int, Allotment] = {}
        self._last: dict[str, int] = {}
        self._next = 0

    @property
    def given(self) -> Mapping[int, Allotment]:
        """Allotments by number of the tree."""
        return dict(self._given)

    def give(self, tree: SwitchTree, window: int) -> Allotment:
        """Give a tree `window` slots, a power of two, at each of its switches.

        Raises:
            PlanError: The window is no power of two, or a switch has too few cells or trees left.
        """
        if window < 1 or window & (window - 1):
            raise PlanError(
                f"a window of {window} slots is not a power of two", remedy="give a power of two, such as 16"
            )
        bases = {switch: self._first_fit(switch, 2 * window) for switch in tree.children}
        number = self._number()
        first = 1 + max(self._last.get(switch, 0) for switch in tree.children)
        allotment = Allotment(number, tree, window, first, bases)
        self._given[number] = allotment
        return allotment

    def _number(self) -> int:
        """Return the least recently used free tree number: late frames must not meet another tree."""
        while self._next in self._given:
            self._next = (self._next + 1) % _NUMBERS
        number, self._next = self._next, (self._next + 1) % _NUMBERS
        return number

    def take_back(self, number: int, blocks: int) -> None:
        """Free the cells of tree `number` after `blocks` blocks, whose numbers are not used again.

        Raises:
            PlanError: The tree has no cells, or its last block's number is above MAX_BLOCK.
        """
        allotment = self._given.pop(number, None)
        if allotment is None:
            raise PlanError(f"tree {number} has no slots", remedy="give the tree slots first")
        last = allotment.first_block + blocks - 1
        if last > MAX_BLOCK:
            raise PlanError(
                f"tree {number}: number {last} of its last block is above the largest, {MAX_BLOCK}",
                remedy="restart the switches of the tree, which makes block numbers begin anew",
            )
        for switch in allotment.tree.children:
            self._last[switch] = max(last, self._last.get(switch, 0))

    def _first_fit(self, switch: str, cells: int) -> int:
        taken = sorted(
            (each.bases[switch], each.bases[switch] + each.cells)
            for each in self._given.values()
            if switch in each.bases
        )
        base = 0
        for first, end in taken:
            if first - base >= cells:
                break
            base = end
        if base + cells > self._cells or len(taken) >= TREES:
            free = self._cells - sum(end - first for first, end in taken)
            raise PlanError(
                f"{switch} has no {cells} adjacent free cells for another tree: {free} of "
                f"{self._cells} are free, "
                f"{len(taken)} of {TREES} trees in use",
                remedy="give a smaller window, or wait until a job has ended",
            )
        return base
