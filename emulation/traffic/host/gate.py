# SPDX-License-Identifier: Apache-2.0
"""Steps that do not overlap: what one rank may send, by what has come to it."""

from collections import Counter, defaultdict
from typing import Generic, TypeVar, final

__all__ = ["StepGate"]

T = TypeVar("T")


@final
class StepGate(Generic[T]):
    """Holds back what is of a step until all that earlier steps bring has come.

    `due` counts, by step, what is to come. A send waits for earlier steps only, so ranks cannot block each
    other.
    """

    def __init__(self, due: Counter[int]) -> None:
        self._due = due
        self._held: dict[int, list[T]] = defaultdict(list)
        self._first = min(due, default=0)

    def holds(self, step: int, what: T) -> bool:
        """Whether this has to wait; it is then kept."""
        if not self._due or step <= self._first:
            return False
        self._held[step].append(what)
        return True

    def came(self, step: int) -> list[T]:
        """One of those of a step has come: what may go on now, step by step."""
        self._due[step] -= 1
        if self._due[step]:
            return []
        del self._due[step]
        if self._due:
            self._first = min(self._due)
        free = sorted(held for held in self._held if not self._due or held <= self._first)
        return [one for held in free for one in self._held.pop(held)]
