# SPDX-License-Identifier: Apache-2.0
"""Spraying: the path of each frame of a connection, and the health of paths (All-Path-Routing at the source).

A source knows a path by its buckets only. A path that loses several frames in a row, with no acknowledgement
of the path between them, is avoided; data try the path again after a time that doubles.
"""

from collections.abc import Container, Iterable, Sequence
from heapq import heapify, heapreplace
from typing import Final, final

from emulation.traffic.host.path_choice import BUCKETS, PathShares
from tests.oracle.paths.entropies import Entropies

__all__ = ["PathHealth", "RoundTrips", "Spray"]

# Losses in a row, with no acknowledgement between them, after which a path is avoided.
_SUSPECT: Final = 3
# First time for which a path is avoided, in ps, and the largest.
_AVOID_PS: Final = 50_000_000
_MAX_AVOID_PS: Final = 1_600_000_000


@final
class RoundTrips:
    """Round trips that an agent has measured, over all its connections, in ps; 0 before the first.

    `peak` is the largest of late: it decays by a thousandth a sample. `paths` and `total` are the number and
    the sum of the smoothed round trips of all paths that tests.oracle.paths.delay measures.
    """

    __slots__ = ("paths", "peak", "total")

    def __init__(self) -> None:
        self.paths = self.peak = self.total = 0

    @property
    def typical(self) -> int:
        """Mean of the smoothed round trips of all measured paths."""
        return self.total // max(self.paths, 1)

    def add(self, rtt: int) -> None:
        """Take a sample."""
        self.peak = max(rtt, self.peak - self.peak // 1024)


@final
class PathHealth:
    """Health of the paths from this rank to a peer; data and acknowledgements share it.

    `paths` gives the path of each bucket. `avoided` counts how often a path was taken out of use.
    """

    __slots__ = ("_avoid_ps", "_losses", "_until", "avoided", "paths")

    def __init__(self, paths: Sequence[int]) -> None:
        self.paths = tuple(paths)
        self._losses = [0] * (max(paths) + 1)
        self._avoid_ps = [_AVOID_PS] * (max(paths) + 1)
        self._until: dict[int, int] = {}  # by avoided path: time of the next trial
        self.avoided = 0

    @property
    def whole(self) -> bool:
        """True if no path is avoided."""
        return not self._until

    @property
    def suspects(self) -> frozenset[int]:
        """Buckets whose paths have lost several frames in a row, avoided or not."""
        return frozenset(bucket for bucket, path in enumerate(self.paths) if self._losses[path] >= _SUSPECT)

    def works(self, path: int) -> bool:
        """Return whether a path is in use."""
        return path not in self._until

    def may_try(self, path: int, now: int) -> bool:
        """Return whether a frame may take a path now: it is in use, or its next trial is due and begins."""
        trial = self._until.get(path)
        if trial is None:
            return True
        if trial > now:
            return False
        self._until[path] = now + self._avoid_ps[path]
        return True

    def split(self, buckets: Iterable[int]) -> None:
        """Give each of these buckets, whose routes have changed, a path of its own: they share no order."""
        paths = list(self.paths)
        for bucket in sorted(buckets):
            paths[bucket] = len(self._losses)
            self._losses.append(0)
            self._avoid_ps.append(_AVOID_PS)
        self.paths = tuple(paths)

    def acknowledged(self, path: int) -> None:
        """Note that a frame of a path has arrived."""
        self._losses[path] = 0
        if path in self._until:
            del self._until[path]
            self._avoid_ps[path] = _AVOID_PS

    def lost(self, path: int, now: int, count: int = 1) -> None:
        """Note losses on a path; the last path that works stays in use."""
        self._losses[path] += count
        if self._losses[path] < _SUSPECT or path in self._until:
            return
        if any(other != path and other not in self._until for other in self.paths):
            self.avoided += 1
            self._until[path] = now + self._avoid_ps[path]
            self._avoid_ps[path] = min(2 * self._avoid_ps[path], _MAX_AVOID_PS)

    def suspect(self, path: int, now: int) -> None:
        """Avoid a path at once."""
        self.lost(path, now, _SUSPECT)


@final
class Spray:
    """Chooses the bucket of each frame, by the weights of the paths that work; `lb` is the first value."""

    __slots__ = ("_heap", "_next", "_order", "_standby", "health")

    def __init__(self, shares: PathShares, lb: int, health: PathHealth) -> None:
        self.health = health
        self._next = lb & 0xFF
        weights = shares.weights
        # Fair queueing: the bucket whose share is due first goes next. First turns begin at different places
        # of a period, from `lb` on, so that messages of a few frames follow the shares over many pairs.
        self._heap = [
            (((bucket - lb) % BUCKETS + 0.5) / BUCKETS / weight, bucket, 1 / weight)
            for bucket, weight in enumerate(weights or ())
            if weight > 0
        ]
        heapify(self._heap)
        self._standby = frozenset(bucket for bucket, weight in enumerate(weights or ()) if weight <= 0)
        self._order = sorted(range(BUCKETS), key=lambda bucket: weights is not None and not weights[bucket])

    def path_of(self, lb: int) -> int:
        """Return the path of a load-balance value."""
        return self.health.paths[lb % BUCKETS]

    def next_lb(self, now: int) -> int:
        """Return the load-balance value of the next frame."""
        lb = self._draw()
        if self.health.whole:
            return lb
        for _ in range(BUCKETS):
            if self.health.may_try(self.health.paths[lb % BUCKETS], now):
                return lb
            lb = self._draw()
        return self.other_lb(lb)

    def next_of(self, entropies: Entropies, now: int) -> int:
        """Return the load-balance value that spraying by feedback chooses, of a path that works.

        Buckets stand by until a path is avoided.
        """
        for _ in range(BUCKETS):
            lb = entropies.next()
            stands_by = self.health.whole and lb % BUCKETS in self._standby
            if not stands_by and self.health.may_try(self.path_of(lb), now):
                return lb
        return self.next_lb(now)

    def _draw(self) -> int:
        if not self._heap:
            lb = self._next
            self._next = (lb + 1) & 0xFF
            return lb
        due, bucket, step = self._heap[0]
        heapreplace(self._heap, (due + step, bucket, step))
        return bucket

    def other_lb(self, lb: int, silent: Container[int] = ()) -> int:
        """Return a load-balance value of another path, for a lost frame: one that works, standby paths last.

        Paths in `silent` count as not working. Successive calls take different paths. The same path if there
        is no other.
        """
        path = self.health.paths[lb % BUCKETS]
        first, *rest = self._order
        self._order = [*rest, first]
        others = [bucket for bucket in self._order if self.health.paths[bucket] != path]
        working = (
            bucket
            for bucket in others
            if self.health.paths[bucket] not in silent and self.health.works(self.health.paths[bucket])
        )
        return next(working, others[0] if others else lb)
