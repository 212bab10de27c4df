# SPDX-License-Identifier: Apache-2.0
"""The time in which timeouts run: the machine's, or that of a network in virtual time."""

import time
from collections.abc import Callable
from typing import Protocol, final

from controller.p4runtime.event_loop import background_loop
from emulation import _engine

__all__ = ["At", "Clock", "RealTime", "VirtualTime"]

_LAST_PS = (1 << 62) - 1

At = Callable[[int, Callable[[], None]], None]
"""Calls back at a virtual time in ps, between two events of the network."""


class Clock(Protocol):
    """In nanoseconds."""

    def now_ns(self) -> int:
        """Never goes back."""
        ...

    def timestamp_ns(self) -> int:
        """Since the epoch."""
        ...

    def later(self, delay_ns: int, callback: Callable[[], None]) -> None:
        """Calls back in a thread of its own choice."""
        ...


@final
class RealTime:
    """The machine's."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def timestamp_ns(self) -> int:
        return time.time_ns()

    def later(self, delay_ns: int, callback: Callable[[], None]) -> None:
        loop = background_loop()
        loop.call_soon_threadsafe(loop.call_later, delay_ns / 1e9, callback)


@final
class VirtualTime:
    """A network's; its epoch is the start of the network, so that the same run gives the same timestamps."""

    def __init__(self, network: _engine.SwitchSet, at: At) -> None:
        self._network = network
        self._at = at

    def now_ns(self) -> int:
        return self._network.now // 1000

    def timestamp_ns(self) -> int:
        return self.now_ns()

    def later(self, delay_ns: int, callback: Callable[[], None]) -> None:
        time_ps = self._network.now + delay_ns * 1000
        if time_ps <= _LAST_PS:  # a network's time never comes to more
            self._at(time_ps, callback)
