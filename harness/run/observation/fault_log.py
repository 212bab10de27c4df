# SPDX-License-Identifier: Apache-2.0
"""Log of a run with faults: reactions of controllers, and times in which ranks received nothing.

The log never changes a run: controllers report table writes and notices as they happen, and the log reads the
counts of agents between two slices of the run.
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

# Largest number of logged activities; later activities of a run are left out.
_MOST = 1_000_000


@final
@dataclass(frozen=True, slots=True)
class RankTrace:
    """Silences of a rank of a job: times in which it received nothing.

    `node` is the rank's node at the end of the run. `silences` are (begin, end) in ps, with the resolution of
    a slice of the run.
    """

    job: str
    rank: int
    node: str
    finished_ps: int | None
    silences: tuple[tuple[int, int], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class FaultTrace:
    """Reactions of controllers, and silences of ranks, in a run with faults.

    `detect_ps` is the shortest time from a change of a link until a node can know it. It is the time of
    detection in virtual time without hellos and LACPDUs, where only carriers show a failure, and 0 otherwise.
    """

    detect_ps: int
    activities: tuple[Activity, ...] = ()
    ranks: tuple[RankTrace, ...] = ()


@final
@dataclass(slots=True)
class _Arrivals:
    """Arrivals at the ranks of a job.

    `counts` are the data frames received by each rank, and `grew_ps` the times at which the counts last grew.
    `silences` has the ended silences by rank.
    """

    counts: NDArray[np.int64]
    grew_ps: NDArray[np.int64]
    silences: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


@final
class FaultLog:
    """Collects the trace of a run with faults; the runner calls `look` after each slice of the run.

    `virtual` is true for a run in virtual time.
    """

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
        """Log a reaction of a controller."""
        if len(self._activities) < _MOST:
            self._activities.append(activity)

    def look(self, now_ps: int) -> None:
        """Log the ranks that have received data since the last call."""
        for job in self._jobs:
            if isinstance(job.begun_ps, int):
                self._look_at(job, job.begun_ps, now_ps)
        self._looked_ps = now_ps

    def trace(self) -> FaultTrace:
        """Return the trace of the run, from all calls of `note` and `look`."""
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
        # These ranks received data in this slice, and none since the slice in which their count grew last.
        for rank in np.flatnonzero(grown & (seen.grew_ps < self._looked_ps)).tolist():
            seen.silences.setdefault(rank, []).append((int(seen.grew_ps[rank]), self._looked_ps))
        seen.counts = counts
        seen.grew_ps[grown] = now_ps


def _arrivals(job: Job, begun_ps: int) -> _Arrivals:
    """Return empty arrivals for the ranks of a job that began at `begun_ps`."""
    ranks = len(job.holders)
    return _Arrivals(np.zeros(ranks, np.int64), np.full(ranks, begun_ps))
