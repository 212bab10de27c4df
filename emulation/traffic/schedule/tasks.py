# SPDX-License-Identifier: Apache-2.0
"""Tasks of a rank: sends, arrivals and computations that wait for each other as wholes.

A schedule of a collective has no tasks: slices alone wait for slices. In a traffic graph
(emulation.traffic.graph) every send of a slice and every phase of a cell belongs to a task.
"""

from dataclasses import dataclass
from typing import final

__all__ = ["Task"]


@final
@dataclass(frozen=True, slots=True)
class Task:
    """A task of a rank. Times are picoseconds.

    It opens when `needs` other tasks have ended and `delay_ps` more have passed, but not before `at_ps` after
    the start of the agent. A task with `duration_ps` >= 0 is a computation, one at a time on each `unit`. Any
    other task ends when its `slices` have left, or have been applied; one that is `free` is open from the
    beginning. `followers` are the tasks that need it.
    """

    needs: int
    at_ps: int
    delay_ps: int
    duration_ps: int
    unit: int
    slices: int
    free: bool
    followers: tuple[int, ...]
