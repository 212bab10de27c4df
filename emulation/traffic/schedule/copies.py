# SPDX-License-Identifier: Apache-2.0
"""Copies of blocks between arrays of different lengths, all at once, cut for the wire."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from emulation.traffic.frames.values import Combine
from emulation.traffic.schedule.dag import Schedule, Transfer
from emulation.traffic.schedule.slicing import CellPlan, Phase, Send, SliceTable
from emulation.traffic.schedule.tasks import Task

__all__ = ["Block", "SlicedCopies"]

_ITEM_BYTES = 4


@final
@dataclass(frozen=True, slots=True)
class Block:
    """A copy of `length` elements: from `offset` of rank `source` to `target_offset` of rank `target`."""

    source: int
    target: int
    offset: int
    target_offset: int
    length: int


@final
class SlicedCopies:
    """Copies of blocks between ranks in one step, in the form for agents (`SlicedTraffic`).

    Every rank has an array of its own length, unlike in a collective's schedule. Each block is a cell
    of both ranks' arrays, cut into slices from its beginning: its frames do not depend on other blocks.
    Blocks of a rank must not overlap; blocks without elements or from a rank to itself are left out.
    """

    def __init__(
        self, name: str, lengths: Sequence[int], blocks: Sequence[Block], slice_elements: int = 1024
    ) -> None:
        self._lengths = tuple(lengths)
        self._blocks = tuple(block for block in blocks if block.length and block.source != block.target)
        transfers = (
            Transfer(0, b.source, b.target, b.offset, b.length, Combine.COPY, b.target_offset - b.offset)
            for b in self._blocks
        )
        self.schedule = Schedule(name, len(self._lengths), max(1, *self._lengths), tuple(transfers))
        self.slice_elements = slice_elements
        self.overlap = True

    def elements_of(self, rank: int) -> int:
        """Return the number of elements of a rank's array."""
        return self._lengths[rank]

    def table_of(self, rank: int) -> SliceTable:
        """Return the slices of a rank's array."""
        each = self.slice_elements
        slices = [
            (low + start, min(each, length - start), cell)
            for cell, (low, length, _) in enumerate(self._cells(rank))
            for start in range(0, length, each)
        ]
        return SliceTable(slices, len(self._cells(rank)), _ITEM_BYTES)

    def plans_of(self, rank: int) -> tuple[CellPlan, ...]:
        """Return a rank's plans, one for each cell."""
        return tuple(plan for _, _, plan in self._cells(rank))

    def tasks_of(self, rank: int) -> tuple[Task, ...]:
        """Return no tasks: only traffic graphs have tasks."""
        return ()

    def _cells(self, rank: int) -> list[tuple[int, int, CellPlan]]:
        """Return offset, length and plan of each block sent or received by the rank."""
        cells = []
        for block in self._blocks:
            if block.source == rank:
                send = Send(0, block.target, Combine.COPY, block.target_offset - block.offset)
                cells.append((block.offset, block.length, CellPlan((), ((send,),))))
            elif block.target == rank:
                phase = Phase(0, Combine.COPY, (block.source,))
                cells.append((block.target_offset, block.length, CellPlan((phase,), ((), ()))))
        return cells
