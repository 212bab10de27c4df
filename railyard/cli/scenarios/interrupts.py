# SPDX-License-Identifier: Apache-2.0
"""Ending in two steps: after a first signal, begun runs may finish; a second signal ends at once."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Self, final

from railyard.cli.display.screen import tell

__all__ = ["Interrupts"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@final
class Interrupts:
    """Handles Ctrl-C and SIGTERM as a context: the first signal is noted, the second ends the process.

    At the first signal, `words` are printed. `code` is the exit code for the signal, 0 without a signal.
    """

    def __init__(self, words: str) -> None:
        self.code = 0
        self._words = words
        self._before: dict[int, object] = {}

    def stopped(self) -> bool:
        """Return whether a signal has arrived."""
        return self.code != 0

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._take) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if self.code:
            sys.exit(128 + number)
        self.code = 128 + number
        tell(self._words)
