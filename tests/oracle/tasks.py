# SPDX-License-Identifier: Apache-2.0
"""Progress of a rank's tasks, sans-IO: which are open, which have ended, and when the next opens or ends."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import final

from emulation.traffic.host.transport import NEVER
from emulation.traffic.schedule.tasks import Task

__all__ = ["Progress"]


@final
class Progress:
    """Tasks of a rank at work.

    `open` says of each task whether it is open, `held` has the slices that wait for it. `times` are the time
    at which each opened and at which it ended, in ps, -1 before; a task that is free opens at its first
    slice. `computing` counts the computations that have not ended.
    """

    __slots__ = ("_busy", "_events", "_left", "_needs", "_number", "_start", "_tasks", "computing", "held",
                 "open", "times")  # fmt: skip

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._needs = [task.needs for task in tasks]
        self._left = [task.slices for task in tasks]
        self._start = NEVER
        self._busy: dict[int, int] = {}  # by unit, the end of its last computation
        self._events: list[tuple[int, int, int, bool]] = []  # time, number, task, whether it ends
        self._number = 0
        self.open = [task.free for task in tasks]
        self.held: list[list[int]] = [[] for _ in tasks]
        self.times = [[-1, -1] for _ in tasks]
        self.computing = sum(task.duration_ps >= 0 for task in tasks)

    def start(self, now: int) -> None:
        """Begin with the tasks that need nothing."""
        self._start = now
        for number, task in enumerate(self._tasks):
            if not self._needs[number] and not task.free:
                self._wait(number, now)

    def due(self, now: int) -> Iterator[int]:
        """Yield the tasks that open now; computations begin and end as they are due."""
        while self._events and self._events[0][0] <= now:
            _, _, number, ends = heappop(self._events)
            task = self._tasks[number]
            if ends:
                self.computing -= 1
                self._end(number, now)
            elif task.duration_ps >= 0:
                begin = max(now, self._busy.get(task.unit, 0))
                self._busy[task.unit] = begin + task.duration_ps
                self.times[number][0] = begin
                self._push(begin + task.duration_ps, number, True)
            else:
                self.open[number] = True
                self.times[number][0] = now
                yield number

    def slice_done(self, number: int, now: int) -> None:
        """Note that a slice of a task has left or has been applied."""
        times = self.times[number]
        if times[0] < 0:
            times[0] = now
        self._left[number] -= 1
        if not self._left[number]:
            self._end(number, now)

    @property
    def deadline(self) -> int:
        """Time of the next event."""
        return self._events[0][0] if self._events else NEVER

    def _end(self, number: int, now: int) -> None:
        self.times[number][1] = now
        for follower in self._tasks[number].followers:
            self._needs[follower] -= 1
            if not self._needs[follower] and self._start != NEVER:
                self._wait(follower, now)

    def _wait(self, number: int, now: int) -> None:
        task = self._tasks[number]
        self._push(max(now + task.delay_ps, self._start + task.at_ps), number, False)

    def _push(self, time: int, number: int, ends: bool) -> None:
        heappush(self._events, (time, self._number, number, ends))
        self._number += 1
