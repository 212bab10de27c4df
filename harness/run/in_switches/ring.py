# SPDX-License-Identifier: Apache-2.0
"""AllReduce around a ring of members, for blocks that no tree of switches can carry any more."""

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
    """A ring AllReduce over the concatenated elements of `blocks`, for blocks that no tree carries any more.

    `inputs` has the array of each rank, with zeros in blocks of which the rank is not a source.
    """

    blocks: tuple[Block, ...]
    sliced: Sliced
    inputs: tuple[Array, ...]

    def complete(self, rank: int, array: Array, summed: Array) -> Array:
        """Return a copy of a rank's `array` with the ring's results in the blocks that the rank receives.

        `summed` is the result of the ring.
        """
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
    """Outcome of a member after the loss of a tree.

    `array` has the results of trees; `outcome` is the outcome of the member's agent of the ring.
    """

    times: Sequence[tuple[int, int]] = ()
    log: Sequence[IterationReport] = ()

    def __init__(self, ring: RingRest, rank: int, array: Array, outcome: Outcome) -> None:
        self._ring, self._rank, self._array, self._outcome = ring, rank, array, outcome

    @property
    def result(self) -> Array:
        """Results of trees and ring; until the ring has results, only the results of trees."""
        if self._outcome.finished_ps is None or not self._outcome.result.size:
            return self._array
        return self._ring.complete(self._rank, self._array, self._outcome.result)

    @property
    def stats(self) -> AgentStats:
        """Counts of the member's agents of trees and ring together."""
        return self._outcome.stats

    @property
    def finished_ps(self) -> int | None:
        """Time in ps at which the ring delivered the last result; None before."""
        return self._outcome.finished_ps

    @property
    def failed(self) -> Failure | LostBlock | None:
        """Failure of the ring's agent, or None."""
        return self._outcome.failed


def can_go_around(work: Work, inputs: Sequence[Array]) -> bool:
    """Return whether agents of a ring support the operation and the type: sums that are not int64."""
    return work.operation is Combining.SUM and inputs[0].dtype != np.int64


def ring_rest(blocks: Sequence[Block], inputs: Sequence[Array], slice_elements: int) -> RingRest:
    """Return the ring AllReduce for one or more blocks; `can_go_around` must hold for their inputs."""
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
