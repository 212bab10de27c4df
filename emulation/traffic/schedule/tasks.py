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
    """A task of a rank. Times are picoseconds.

    A task opens `delay_ps` after `needs` other tasks have ended, but not before `at_ps` after the agent's
    start. A task with `duration_ps` >= 0 is a computation; each `unit` carries out one at a time. Any other
    task ends when its `slices` have left, or have been applied. A `free` task is open from the beginning.
    `followers` are the indices of the tasks that wait for it.
    """

    needs: int
    at_ps: int
    delay_ps: int
    duration_ps: int
    unit: int
    slices: int
    free: bool
    followers: tuple[int, ...]
