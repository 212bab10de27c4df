# SPDX-License-Identifier: Apache-2.0
"""A host that sends given frames and keeps those that arrive, for checks of labs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from emulation.testbed import Output
from emulation.traffic.frames.values import VL_DATA

__all__ = ["Station"]


@final
class Station:
    """A host port: sends `frames` in order at its start; `arrived` has (virtual time in ps, frame)."""

    def __init__(self, frames: Sequence[bytes] = ()) -> None:
        self._waiting = [(frame, VL_DATA) for frame in frames]
        self.arrived: list[tuple[int, bytes]] = []

    def start(self, now: int) -> Output:
        """Send all frames."""
        frames, self._waiting = self._waiting, []
        return frames, None

    def on_frame(self, frame: bytes, now: int) -> Output:
        """Keep a frame."""
        self.arrived.append((now, frame))
        return [], None

    def on_timer(self, now: int) -> Output:
        """Do nothing."""
        return [], None
