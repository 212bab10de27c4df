# SPDX-License-Identifier: Apache-2.0
"""Log of a run around its faults: what controllers did and when, and when ranks received nothing.

Looking changes nothing: the log hears of table writes and notices as they happen, and asks agents for their
counts between two slices of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from emulation.control.activity import Activity
from emulation.control.loop import ControlLoop
from harness.run.jobs.running import Job, Jobs
from harness.run.memory_pool.running import PoolRun
from harness.run.prepare import Prepared

__all__ = ["FaultLog", "FaultTrace", "RankTrace"]

# Activities that are kept; a run with a longer history of faults keeps the first.
_MOST = 1_000_000


@final
@dataclass(frozen=True, slots=True)
class RankTrace:
    """A rank of a job: its node at the end, its end, and the times in which it received nothing.

    `silences` are (begin, end) in ps, as far as whole slices of the run show them.
    """

    job: str
    rank: int
    node: str
    finished_ps: int | None
    silences: tuple[tuple[int, int], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class FaultTrace:
    """Reactions and ranks of a run with faults.

    A node knows of a change of a link `detect_ps` after it at the earliest: the time of detection where
    carriers alone show a failure, in virtual time; else 0.
    """

    detect_ps: int
    activities: tuple[Activity, ...] = ()
    ranks: tuple[RankTrace, ...] = ()


@final
@dataclass(slots=True)
class _Arrivals:
    """Arrivals at the ranks of a job.

    `counts` are by rank, and `grew_ps` the times at which they grew last; `silences` are those of some ranks.
    """

    counts: NDArray[np.int64]
    grew_ps: NDArray[np.int64]
    silences: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


@final
class FaultLog:
    """Collects the trace of a run, in virtual time or not; `look` is called after each slice of the run."""

    def __init__(self, ready: Prepared, jobs: Jobs | PoolRun, control: ControlLoop, *, virtual: bool) -> None:
        self._jobs = tuple(jobs.all) if ready.pool is None else ()
        settings = ready.variant.control
        exact = virtual and settings.hello_us is None and settings.lacp_us is None
        self._detect_ps = round(ready.variant.link.detect_us * 10**6) if exact else 0
        self._activities: list[Activity] = []
        self._arrivals: dict[str, _Arrivals] = {}  # by job
        self._looked_ps = 0
        control.on_activity = self.note

    def note(self, activity: Activity) -> None:
        """Note a reaction of a controller."""
        if len(self._activities) < _MOST:
            self._activities.append(activity)

    def look(self, now_ps: int) -> None:
        """Note which ranks have received data since the last look."""
        for job in self._jobs:
            if isinstance(job.begun_ps, int):
                self._look_at(job, job.begun_ps, now_ps)
        self._looked_ps = now_ps

    def trace(self) -> FaultTrace:
        """Return the trace of the run."""
        ranks: list[RankTrace] = []
        for job in self._jobs:
            seen = self._arrivals.get(job.plan.name, _arrivals(job, 0))
            for rank, (node, end) in enumerate(zip(job.holders, job.ends, strict=True)):
                silences = [*seen.silences.get(rank, ())]
                grew_ps = int(seen.grew_ps[rank])
                if end.finished_ps is None and self._looked_ps > grew_ps:
                    silences.append((grew_ps, self._looked_ps))
                ranks.append(RankTrace(job.plan.name, rank, node, end.finished_ps, tuple(silences)))
        return FaultTrace(self._detect_ps, tuple(self._activities), tuple(ranks))

    def _look_at(self, job: Job, begun_ps: int, now_ps: int) -> None:
        seen = self._arrivals.setdefault(job.plan.name, _arrivals(job, begun_ps))
        counts = np.fromiter(job.received, np.int64)
        grown = counts != seen.counts
        # Nothing came from the slice in which the count grew last until the slice that ends now.
        for rank in np.flatnonzero(grown & (seen.grew_ps < self._looked_ps)).tolist():
            seen.silences.setdefault(rank, []).append((int(seen.grew_ps[rank]), self._looked_ps))
        seen.counts = counts
        seen.grew_ps[grown] = now_ps


def _arrivals(job: Job, begun_ps: int) -> _Arrivals:
    """Return the arrivals at the ranks of a job that has just begun."""
    ranks = len(job.holders)
    return _Arrivals(np.zeros(ranks, np.int64), np.full(ranks, begun_ps))
