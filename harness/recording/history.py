# SPDX-License-Identifier: Apache-2.0
"""Keep the records of a run in bounded memory, for late and slow readers."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable
from typing import final

from harness.recording.records import Kind, Record

__all__ = ["History"]


@final
class History:
    """Thread-safe sink that keeps records in order, each with a number.

    When ticks take more than `limit_bytes`, every second tick of the older half is dropped. When there are
    more than `event_limit` events, the oldest quarter is dropped. So a late reader sees less detail, and the
    writer never waits for a reader. `changed` is called after each record, in the thread that added the
    record.
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

    @property
    def records(self) -> list[Record]:
        """All kept records, in order."""
        with self._lock:
            return [*self._records]

    def after(self, number: int, most: int = 256) -> tuple[list[Record], int]:
        """Return up to `most` records after the record `number`, and the number of the last returned record.

        Begin with -1, and pass the returned number in the next call. Without new records the number
        stays `number`.
        """
        with self._lock:
            start = bisect_right(self._numbers, number)
            chosen = self._records[start : start + most]
            return chosen, self._numbers[start + len(chosen) - 1] if chosen else number

    @property
    def last(self) -> int:
        """Number of the last record; -1 without records."""
        return self._next - 1

    def _thin(self) -> None:
        """Drop every second tick of the older half of the ticks."""
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
