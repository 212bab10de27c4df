# SPDX-License-Identifier: Apache-2.0
"""A host that sends given frames and keeps those that arrive, for checks of labs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import final

from emulation.traffic.frames.values import VL_DATA
from emulation.traffic.host.participant import Output

__all__ = ["ScriptedHost"]


@final
class ScriptedHost:
    """A host port: sends `frames` in order at its start, each of `timed`, (time in ps, frame), at its time.

    `arrived` has (virtual time in ps, frame).
    """

    def __init__(self, frames: Sequence[bytes] = (), timed: Iterable[tuple[int, bytes]] = ()) -> None:
        waiting = [*((0, frame) for frame in frames), *timed]
        self._waiting = deque(sorted(waiting, key=itemgetter(0)))
        self.arrived: list[tuple[int, bytes]] = []

    def start(self, now: int) -> Output:
        """Send the frames that are due."""
        return self.on_timer(now)

    def on_frame(self, frame: bytes, now: int) -> Output:
        """Keep a frame."""
        self.arrived.append((now, frame))
        return [], self._next

    def on_timer(self, now: int) -> Output:
        """Send the frames that are due."""
        due: list[tuple[bytes, int]] = []
        while self._waiting and self._waiting[0][0] <= now:
            due.append((self._waiting.popleft()[1], VL_DATA))
        return due, self._next

    @property
    def _next(self) -> int | None:
        return self._waiting[0][0] if self._waiting else None
