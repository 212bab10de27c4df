# SPDX-License-Identifier: Apache-2.0
"""Clocks for timeouts and timestamps: the machine's, or a network's virtual time."""

import time
from collections.abc import Callable
from typing import Protocol, final

from controller.p4runtime.event_loop import background_loop
from emulation import _engine

__all__ = ["At", "Clock", "RealTime", "VirtualTime"]

_LAST_PS = (1 << 62) - 1

At = Callable[[int, Callable[[], None]], None]
"""Schedules a callback at a virtual time in picoseconds, between two events of the network."""


class Clock(Protocol):
    """A clock in nanoseconds that can call back."""

    def now_ns(self) -> int:
        """Return a monotonic time in ns."""
        ...

    def timestamp_ns(self) -> int:
        """Return the time since the clock's epoch."""
        ...

    def later(self, delay_ns: int, callback: Callable[[], None]) -> None:
        """Call `callback` after a delay; it may run in any thread."""
        ...


@final
class RealTime:
    """The machine's clock; callbacks run on the event loop in the background."""

    def now_ns(self) -> int:
        """Return the monotonic time of the machine."""
        return time.monotonic_ns()

    def timestamp_ns(self) -> int:
        """Return the time since the Unix epoch."""
        return time.time_ns()

    def later(self, delay_ns: int, callback: Callable[[], None]) -> None:
        """Call `callback` on the event loop after a delay."""
        loop = background_loop()
        loop.call_soon_threadsafe(loop.call_later, delay_ns / 1e9, callback)


@final
class VirtualTime:
    """A network's virtual clock. Its epoch is the network's start, so equal runs give equal timestamps."""

    def __init__(self, network: _engine.SwitchSet, at: At) -> None:
        self._network = network
        self._at = at

    def now_ns(self) -> int:
        """Return the network's virtual time."""
        return self._network.now // 1000

    def timestamp_ns(self) -> int:
        """Return the virtual time since the network's start."""
        return self.now_ns()

    def later(self, delay_ns: int, callback: Callable[[], None]) -> None:
        """Call `callback` after a delay in virtual time; not at all after the largest virtual time."""
        time_ps = self._network.now + delay_ns * 1000
        if time_ps <= _LAST_PS:
            self._at(time_ps, callback)
