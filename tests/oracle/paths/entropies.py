# SPDX-License-Identifier: Apache-2.0
"""Spraying: the load-balance value (entropy) of each frame, by what became of earlier frames.

oblivious    all values once a round; each round turns their order by a random number (exclusive or)
bitmap       the same order without values that have penalty points: 1 for a mark, 4 for a frame trimmed or
             lost, 15 for a timeout, 15 at most. A frame whose turn falls on such a value takes one point off
             it and goes to the next value without points, or to the last of a whole round
reps         recycled entropies: values of acknowledged frames without mark are kept, the last 8, and used
             once more, the oldest first; a random value if none is left. A timeout freezes them: they are
             used again and again, since what arrived of late still works. After 10 ms all are forgotten, and
             16 frames take random values
mixed        a value of an acknowledged frame without mark, each once, else the next one of the bitmap

Sources: T. Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure
Mitigation", 2024 (arXiv:2407.21625); the orders, points and times are those of uet-htsim, the simulator of
the Ultra Ethernet Consortium. Random numbers: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom
number generators", OOPSLA 2014 (SplitMix64).
"""

from collections import deque
from enum import IntEnum
from typing import Final, Protocol, final

__all__ = ["Entropies", "PathNews", "make_entropies"]

_MASK: Final = 2**64 - 1
_MOST: Final = 256
_MOST_POINTS: Final = 15
_KEPT: Final = 8
_EXPLORED: Final = 16
_FROZEN_PS: Final = 10_000_000_000
_MOST_RECYCLED: Final = 64


class PathNews(IntEnum):
    """Fate of a frame on the way that its value of lb selects."""

    GOOD = 0
    MARKED = 1
    LOST = 2
    SILENT = 3


_POINTS: Final = {PathNews.GOOD: 0, PathNews.MARKED: 1, PathNews.LOST: 4, PathNews.SILENT: 15}


class Entropies(Protocol):
    """Chooses the load-balance value of each frame of a connection."""

    def next(self) -> int:
        """Return the value of the next frame."""
        ...

    def note(self, lb: int, news: PathNews, now: int) -> None:
        """Take what became of a frame with this value."""


@final
class _Turns:
    """All values once a round, in an order that a random number turns; the upper bits never change."""

    def __init__(self, count: int, seed: int) -> None:
        self.count = count
        self._state = seed & _MASK
        self._upper = self._draw() & (_MOST - count)
        self._turned = self._draw() & (count - 1)
        self._place = 0

    def _draw(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        bits = self._state
        bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & _MASK
        return (bits ^ bits >> 31) >> 32

    def take(self) -> int:
        value = self._place ^ self._turned
        self._place += 1
        if self._place == self.count:
            self._place = 0
            self._turned = self._draw() & (self.count - 1)
        return value | self._upper

    def random(self) -> int:
        return self._draw() & (self.count - 1) | self._upper


@final
class _Oblivious:
    def __init__(self, turns: _Turns) -> None:
        self.next = turns.take

    def note(self, lb: int, news: PathNews, now: int) -> None:
        """Ignore all news."""


@final
class _Bitmap:
    def __init__(self, turns: _Turns) -> None:
        self._turns = turns
        self._points = [0] * _MOST

    def next(self) -> int:
        lb = self._turns.take()
        if not self._points[lb]:
            return lb
        self._points[lb] -= 1
        for _ in range(self._turns.count):
            lb = self._turns.take()
            if not self._points[lb]:
                break
        return lb

    def note(self, lb: int, news: PathNews, now: int) -> None:
        self._points[lb] = min(self._points[lb] + _POINTS[news], _MOST_POINTS)


@final
class _Reps:
    def __init__(self, turns: _Turns) -> None:
        self._turns = turns
        self._exploring = 0
        self._frozen = False
        self._thaws_at = 0
        self._forget()

    def _forget(self) -> None:
        self._kept: list[int] = []  # at most the last _KEPT, by slot
        self._fresh: deque[int] = deque()  # slots not used again yet, the oldest first
        self._head = self._reuse = 0

    def next(self) -> int:
        if self._exploring:
            self._exploring -= 1
            return self._turns.random()
        if self._frozen and self._kept:
            slot = self._reuse
            self._reuse = (slot + 1) % len(self._kept)
            if slot in self._fresh:
                self._fresh.remove(slot)
            return self._kept[slot]
        if not self._frozen and self._fresh:
            return self._kept[self._fresh.popleft()]
        return self._turns.random()

    def note(self, lb: int, news: PathNews, now: int) -> None:
        if news == PathNews.SILENT and not self._frozen and not self._exploring:
            self._frozen = True
            self._thaws_at = now + _FROZEN_PS
        if self._frozen and now > self._thaws_at:
            self._frozen = False
            self._exploring = _EXPLORED
            self._forget()
        if news != PathNews.GOOD:
            return
        if self._head in self._fresh:
            self._fresh.remove(self._head)
        self._fresh.append(self._head)
        self._kept[self._head : self._head + 1] = [lb]
        self._head = (self._head + 1) % _KEPT


@final
class _Mixed:
    def __init__(self, turns: _Turns) -> None:
        self._bitmap = _Bitmap(turns)
        self._recycled: deque[int] = deque(maxlen=_MOST_RECYCLED)

    def next(self) -> int:
        return self._recycled.popleft() if self._recycled else self._bitmap.next()

    def note(self, lb: int, news: PathNews, now: int) -> None:
        self._bitmap.note(lb, news, now)
        if news == PathNews.GOOD:
            self._recycled.append(lb)


_ALGORITHMS: Final = {"oblivious": _Oblivious, "bitmap": _Bitmap, "reps": _Reps, "mixed": _Mixed}


def make_entropies(name: str, count: int, seed: int) -> Entropies:
    """Return the algorithm of a name over `count` values, a power of two up to 256."""
    return _ALGORITHMS[name](_Turns(count, seed))
