# SPDX-License-Identifier: Apache-2.0
"""Tasks of a rank: sends, arrivals and computations, each of which waits for whole other tasks.

A collective's schedule has no tasks: a slice waits for other slices only. In a traffic graph
(emulation.traffic.graph) every send of a slice and every phase of a cell belongs to a task.
"""

from dataclasses import dataclass
from typing import final

__all__ = ["Task"]


@final
@dataclass(frozen=True, slots=True)
class Task:
    """A task of a rank: a computation, or the sends or arrivals of some slices. Times are picoseconds.

    Attributes:
        needs: Number of other tasks that have to end before this task opens.
        at_ps: Earliest time at which the task opens, counted from the agent's start.
        delay_ps: Time from the end of the last needed task until the task opens.
        duration_ps: Duration of a computation; negative for sends or arrivals.
        unit: Unit that carries out the computation; a unit carries out one computation at a time.
        slices: Number of slices to send or to apply before the task ends; unused for a computation.
        free: True if the task is open from the beginning.
        followers: Indices of the tasks that wait for this task.
    """

    needs: int
    at_ps: int
    delay_ps: int
    duration_ps: int
    unit: int
    slices: int
    free: bool
    followers: tuple[int, ...]
