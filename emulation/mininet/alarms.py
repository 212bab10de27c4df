# SPDX-License-Identifier: Apache-2.0
"""Callbacks at scenario times, as the machine's clock runs."""

import heapq
import itertools
import time
from collections.abc import Callable
from typing import final

from emulation.mininet.agents.driver import Clock

__all__ = ["Alarms"]


@final
class Alarms:
    """Scheduled callbacks. Scenario time is 0 until `begin`. For one thread."""

    def __init__(self, dilation: int) -> None:
        self._dilation = dilation
        self._clock: Clock | None = None
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def begin(self, start_ns: int) -> None:
        """Start scenario time: it is 0 at `start_ns` of the machine's monotonic clock."""
        self._clock = Clock(start_ns, self._dilation)

    @property
    def begun(self) -> bool:
        """True after `begin`."""
        return self._clock is not None

    @property
    def now_ps(self) -> int:
        """Scenario time in picoseconds."""
        return max(0, self.ps(time.monotonic_ns()))

    def ps(self, now_ns: int) -> int:
        """Return the scenario time at a time of the machine's monotonic clock; 0 before `begin`."""
        return 0 if self._clock is None else self._clock.ps(now_ns)

    @property
    def real_seconds(self) -> float:
        """Real seconds since `start_ns`; 0 before `begin`."""
        return 0.0 if self._clock is None else (time.monotonic_ns() - self._clock.start_ns) / 1e9

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Schedule a callback at a scenario time; callbacks of equal times run in the order of scheduling."""
        heapq.heappush(self._waiting, (time_ps, next(self._order), callback))

    def ring(self) -> None:
        """Run all due callbacks, including due callbacks scheduled by other callbacks."""
        while self._waiting and self._waiting[0][0] <= self.now_ps:
            heapq.heappop(self._waiting)[2]()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def seconds_left(self, until_ps: int | None) -> float | None:
        """Return the real seconds until the next callback or `until_ps`; None if there is neither."""
        times = [self._waiting[0][0]] if self._waiting else []
        times += [] if until_ps is None else [until_ps]
        if not times or self._clock is None:
            return None
        return max(0.0, (self._clock.ns(min(times)) - time.monotonic_ns()) / 1e9)
