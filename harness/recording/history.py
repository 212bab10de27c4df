# SPDX-License-Identifier: Apache-2.0
"""Records of a run within bounded memory, for readers that come late, are slow, or sleep for an hour."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable
from typing import final

from harness.recording.records import Kind, Record

__all__ = ["History"]


@final
class History:
    """Records in their order, each with a number; a sink that any thread may fill and read.

    Ticks above `limit_bytes` in all lose every second of the older half, events above `event_limit` the
    oldest: whoever reads late sees less detail, and the writer never waits for a reader. `changed` is called
    after each record, by the thread that puts it.
    """

    def __init__(self, limit_bytes: int = 64 << 20, event_limit: int = 100_000) -> None:
        self.changed: Callable[[], None] = lambda: None
        self._limit_bytes = limit_bytes
        self._event_limit = event_limit
        self._lock = threading.Lock()
        self._numbers: list[int] = []
        self._records: list[Record] = []
        self._next = 0
        self._tick_bytes = 0
        self._events = 0

    def __call__(self, record: Record) -> None:
        with self._lock:
            self._numbers.append(self._next)
            self._records.append(record)
            self._next += 1
            if record.kind is Kind.TICK:
                self._tick_bytes += len(record.payload)
                if self._tick_bytes > self._limit_bytes:
                    self._thin()
            elif record.kind is Kind.EVENT:
                self._events += 1
                if self._events > self._event_limit:
                    self._forget_events()
        self.changed()

    def after(self, number: int, most: int = 256) -> tuple[list[Record], int]:
        """Return up to `most` records that follow a number, and the number to ask with next.

        Begin with -1. The number stays the same when nothing is new.
        """
        with self._lock:
            start = bisect_right(self._numbers, number)
            chosen = self._records[start : start + most]
            return chosen, self._numbers[start + len(chosen) - 1] if chosen else number

    @property
    def last(self) -> int:
        """Number of the last record; -1 if there is none."""
        return self._next - 1

    @property
    def tick_bytes(self) -> int:
        """Bytes of all ticks that are kept."""
        return self._tick_bytes

    def _thin(self) -> None:
        """Drop every second tick of the older half."""
        ticks = [index for index, record in enumerate(self._records) if record.kind is Kind.TICK]
        self._drop(set(ticks[: len(ticks) // 2 : 2]))

    def _forget_events(self) -> None:
        """Drop the oldest quarter of the events."""
        events = [index for index, record in enumerate(self._records) if record.kind is Kind.EVENT]
        self._drop(set(events[: len(events) // 4]))

    def _drop(self, dropped: set[int]) -> None:
        kept = [index for index in range(len(self._records)) if index not in dropped]
        self._numbers = [self._numbers[index] for index in kept]
        self._records = [self._records[index] for index in kept]
        self._tick_bytes = sum(len(r.payload) for r in self._records if r.kind is Kind.TICK)
        self._events = sum(record.kind is Kind.EVENT for record in self._records)
