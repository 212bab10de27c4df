# SPDX-License-Identifier: Apache-2.0
"""A ring of members for blocks that no tree can carry any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from emulation.traffic.collectives.declaration import Request
from emulation.traffic.collectives.registry import find
from emulation.traffic.frames.values import Combining
from emulation.traffic.host.iterations import IterationReport
from emulation.traffic.host.stats import AgentStats, Failure, LostBlock, Outcome
from emulation.traffic.schedule.data import Array
from emulation.traffic.schedule.schedule import Sliced, slice_schedule
from emulation.traffic.tree.work import Block, Work

__all__ = ["AroundRing", "RingRest", "can_go_around", "ring_rest"]


@final
@dataclass(frozen=True, slots=True)
class RingRest:
    """An AllReduce of the elements of `blocks`, one after the other; a rank that is no source sends zeros."""

    blocks: tuple[Block, ...]
    sliced: Sliced
    inputs: tuple[Array, ...]

    def complete(self, rank: int, array: Array, summed: Array) -> Array:
        """Return a rank's array with the results of the ring in the blocks that the rank gets."""
        result = array.copy()
        at = 0
        for block in self.blocks:
            length = block.stop - block.start
            if block.owner is None or block.owner == rank:
                result[block.start : block.stop] = summed[at : at + length]
            at += length
        return result


@final
class AroundRing:
    """Outcome of a member with a lost tree: `array` has the results of trees, `outcome` is the ring's."""

    times: Sequence[tuple[int, int]] = ()
    log: Sequence[IterationReport] = ()

    def __init__(self, ring: RingRest, rank: int, array: Array, outcome: Outcome) -> None:
        self._ring, self._rank, self._array, self._outcome = ring, rank, array, outcome

    @property
    def result(self) -> Array:
        """Array with the results of trees and, once the ring's are known, of the ring."""
        if self._outcome.finished_ps is None or not self._outcome.result.size:
            return self._array
        return self._ring.complete(self._rank, self._array, self._outcome.result)

    @property
    def stats(self) -> AgentStats:
        """Counts of the agents of trees and ring."""
        return self._outcome.stats

    @property
    def finished_ps(self) -> int | None:
        """Time at which the ring brought the last result; None before."""
        return self._outcome.finished_ps

    @property
    def failed(self) -> Failure | LostBlock | None:
        """Failure of the agent of the ring, if any."""
        return self._outcome.failed


def can_go_around(work: Work, inputs: Sequence[Array]) -> bool:
    """Return whether a ring can carry blocks of a work: its agents lack maxima, minima and int64."""
    return work.operation is Combining.SUM and inputs[0].dtype != np.int64


def ring_rest(blocks: Sequence[Block], inputs: Sequence[Array], slice_elements: int) -> RingRest:
    """Return the ring for blocks of a work for which can_go_around() holds; there is at least one block."""
    count = len(inputs)
    arrays = []
    for rank, data in enumerate(inputs):
        parts = [
            data[block.start : block.stop]
            if block.source is None or block.source == rank
            else np.zeros(block.stop - block.start, data.dtype)
            for block in blocks
        ]
        packed = np.concatenate(parts)
        arrays.append(np.concatenate((packed, np.zeros(max(0, count - packed.size), data.dtype))))
    schedule = find("allreduce").algorithm("ring").build(Request((count,), arrays[0].size))
    return RingRest(tuple(blocks), slice_schedule(schedule, slice_elements), tuple(arrays))
