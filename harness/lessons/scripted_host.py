# SPDX-License-Identifier: Apache-2.0
"""Scripted host for checks of labs: it sends given frames and records all arriving frames."""

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
    """A host on the embedded testbed that sends frames at given times.

    The attribute `arrived` lists all arriving frames as (virtual time in ps, frame).

    Args:
        frames: Frames to send at the start, in order.
        timed: Frames to send later, as (virtual time in ps, frame).
    """

    def __init__(self, frames: Sequence[bytes] = (), timed: Iterable[tuple[int, bytes]] = ()) -> None:
        waiting = [*((0, frame) for frame in frames), *timed]
        self._waiting = deque(sorted(waiting, key=itemgetter(0)))
        self.arrived: list[tuple[int, bytes]] = []

    def start(self, now: int) -> Output:
        """Return the frames due at the start, and the time of the next frame."""
        return self.on_timer(now)

    def on_frame(self, frame: bytes, now: int) -> Output:
        """Keep an arriving frame; return no frames, and the time of the next frame."""
        self.arrived.append((now, frame))
        return [], self._next

    def on_timer(self, now: int) -> Output:
        """Return the due frames, and the time of the next frame."""
        due: list[tuple[bytes, int]] = []
        while self._waiting and self._waiting[0][0] <= now:
            due.append((self._waiting.popleft()[1], VL_DATA))
        return due, self._next

    @property
    def _next(self) -> int | None:
        return self._waiting[0][0] if self._waiting else None
