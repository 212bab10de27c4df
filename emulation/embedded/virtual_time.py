# SPDX-License-Identifier: Apache-2.0
"""Virtual time of the embedded testbed: it passes with the events of the network, and stops for control."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar, final

from emulation._engine import Network, PartitionError
from emulation.embedded.links import Links
from emulation.errors import DeadlockedError, EmulationError, ThreadsError

__all__ = ["ControlEvent", "VirtualTime", "call_engine"]

T = TypeVar("T")

ControlEvent = tuple[str, int, int, int, bool, bytes]
"""Event for the control plane from Network.take_control(): kind, time in ps, switch, value, up, bytes."""

_REACHED_UNTIL, _CONTROL, _DEADLOCK, _PAUSED = 1, 2, 3, 4
_SERVED_EVENTS, _SERVER_TURN_SECONDS = 20_000, 0.001


def call_engine(call: Callable[[], T]) -> T:
    """Return the result of an engine call; its RuntimeErrors become EmulationErrors."""
    try:
        return call()
    except PartitionError as error:
        raise ThreadsError(str(error), remedy="run it in one thread") from error
    except RuntimeError as error:
        raise EmulationError(str(error)) from error


@final
class VirtualTime:
    """Virtual time of a network; `on_event` is called with each control event that is not an alarm."""

    def __init__(self, network: Network, links: Links, lock: threading.RLock) -> None:
        self.on_event: Callable[[ControlEvent], None] | None = None
        self._network = network
        self._links = links
        self._lock = lock
        self._alarms: dict[int, Callable[[], None]] = {}
        self._next_alarm = 0
        self._interrupted = False
        self.was_interrupted = False

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Call `callback` at virtual time `time_ps`, between two events of the network."""
        token, self._next_alarm = self._next_alarm, self._next_alarm + 1
        self._alarms[token] = callback
        with self._lock:
            self._network.alarm(time_ps, token)

    def interrupt(self) -> None:
        """Let `run_to` return at the present time; for callbacks of agents."""
        self._interrupted = True
        self.at(self._network.now, lambda: None)

    def run_to(self, until_ps: int | None) -> bool:
        """Let time pass; return True when no event is left, False at `until_ps` or when interrupted."""
        self.was_interrupted = False
        while (end := self._advance(until_ps)) == _CONTROL:
            if self._interrupted:
                self._interrupted, self.was_interrupted = False, True
                return False
        return end != _REACHED_UNTIL

    def run_out(self, stopped: threading.Event) -> None:
        """Let time pass until no event is left or `stopped` is set; let other threads run now and then."""
        while not stopped.is_set() and (end := self._advance(None, _SERVED_EVENTS)) in (_CONTROL, _PAUSED):
            if end == _PAUSED:
                time.sleep(_SERVER_TURN_SECONDS)

    def settle(self) -> None:
        """Advance to the next picosecond without an event; return at once if no event is left."""
        while True:
            time_ps = self._network.now + 1
            while (end := self._advance(time_ps, 0)) == _CONTROL:
                pass
            if end != _PAUSED:
                return
            self.run_to(time_ps)

    def _advance(self, until_ps: int | None, events: int | None = None) -> int:
        with self._lock:
            run = self._network.run
            end = call_engine(lambda: run(until_ps) if events is None else run(until_ps, events))
            item = self._network.take_control() if end == _CONTROL else None
        if item is not None:
            kind, _, _, token, _, _ = item
            if kind == "alarm":
                self._alarms.pop(token)()
            elif self.on_event is not None:
                self.on_event(item)
        elif end == _DEADLOCK:
            raise DeadlockedError(self._network.now, self._links.deadlocked())
        return end
