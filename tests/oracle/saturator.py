# SPDX-License-Identifier: Apache-2.0
"""Traffic that keeps a lossless fabric full; emulation.traffic.host.saturate has the same host in C++."""

from collections.abc import Sequence
from random import Random
from typing import final

from emulation.traffic.frames.values import VL_DATA

__all__ = ["Budget", "Saturator"]

_Answer = tuple[list[tuple[bytes, int]], None]


@final
class Budget:
    """Frames that all NPUs together may still send, and frames received."""

    def __init__(self, frames: int) -> None:
        self.left = frames
        self.received = 0


@final
class Saturator:
    """A host that sends a random one of `frames`, first `at_first` times, then for every received frame."""

    def __init__(self, frames: Sequence[bytes], at_first: int, seed: int, budget: Budget) -> None:
        # Outputs are built once, since millions are returned.
        self._answers: tuple[_Answer, ...] = tuple(([(frame, VL_DATA)], None) for frame in frames)
        self._nothing: _Answer = [], None
        self._at_first = at_first
        self._random = Random(seed).random
        self._budget = budget

    def start(self, now: int) -> _Answer:
        """Send the first frames."""
        count = min(self._at_first, self._budget.left)
        self._budget.left -= count
        return [frame for _ in range(count) for frame in self._chosen()[0]], None

    def on_frame(self, frame: bytes, now: int) -> _Answer:
        """Send a frame for a received one, while the budget lasts."""
        budget = self._budget
        budget.received += 1
        if not budget.left:
            return self._nothing
        budget.left -= 1
        return self._chosen()

    def on_timer(self, now: int) -> _Answer:
        """Do nothing."""
        return self._nothing

    def _chosen(self) -> _Answer:
        return self._answers[int(self._random() * len(self._answers))]
