# SPDX-License-Identifier: Apache-2.0
"""Steps that do not overlap: a rank's sends wait for the arrivals of all earlier steps."""

from collections import Counter, defaultdict
from typing import Generic, TypeVar, final

__all__ = ["StepBarrier"]

T = TypeVar("T")


@final
class StepBarrier(Generic[T]):
    """Holds items of a step until everything that arrives in earlier steps has arrived.

    `due` counts the expected arrivals by step. A send waits for earlier steps only, so ranks cannot block
    each other.
    """

    def __init__(self, due: Counter[int]) -> None:
        self._due = due
        self._held: dict[int, list[T]] = defaultdict(list)
        self._first = min(due, default=0)

    def hold(self, step: int, item: T) -> bool:
        """Keep an item that has to wait, and return whether it has to."""
        if not self._due or step <= self._first:
            return False
        self._held[step].append(item)
        return True

    def arrived(self, step: int) -> list[T]:
        """Count an arrival of a step, and return the items that it frees, in the order of steps."""
        self._due[step] -= 1
        if self._due[step]:
            return []
        del self._due[step]
        if self._due:
            self._first = min(self._due)
        free = sorted(held for held in self._held if not self._due or held <= self._first)
        return [item for held in free for item in self._held.pop(held)]
