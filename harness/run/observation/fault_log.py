# SPDX-License-Identifier: Apache-2.0
"""Log of a run around its faults: what controllers did and when, and when ranks received nothing.

Looking changes nothing: the log hears of table writes and notices as they happen, and asks agents for their
counts between two slices of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

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
    """Arrivals at a rank: its count, the last time at which it grew, and silences up to now."""

    count: int = 0
    grew_ps: int = 0
    silences: list[tuple[int, int]] = field(default_factory=list)


@final
class FaultLog:
    """Collects the trace of a run, in virtual time or not; `look` is called after each slice of the run."""

    def __init__(self, ready: Prepared, jobs: Jobs | PoolRun, control: ControlLoop, *, virtual: bool) -> None:
        self._jobs = tuple(jobs.all) if ready.pool is None else ()
        settings = ready.variant.control
        exact = virtual and settings.hello_us is None and settings.lacp_us is None
        self._detect_ps = round(ready.variant.link.detect_us * 10**6) if exact else 0
        self._activities: list[Activity] = []
        self._arrivals: dict[tuple[str, int], _Arrivals] = {}
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
            for rank, (node, end) in enumerate(zip(job.holders, job.ends, strict=True)):
                seen = self._arrivals.get((job.plan.name, rank), _Arrivals())
                silences = [*seen.silences]
                last_ps = self._looked_ps if end.finished_ps is None else end.finished_ps
                if end.finished_ps is None and last_ps > seen.grew_ps:
                    silences.append((seen.grew_ps, last_ps))
                ranks.append(RankTrace(job.plan.name, rank, node, end.finished_ps, tuple(silences)))
        return FaultTrace(self._detect_ps, tuple(self._activities), tuple(ranks))

    def _look_at(self, job: Job, begun_ps: int, now_ps: int) -> None:
        for rank, count in enumerate(job.received):
            seen = self._arrivals.setdefault((job.plan.name, rank), _Arrivals(grew_ps=begun_ps))
            if count == seen.count:
                continue
            # Nothing came from the slice in which the count grew last until the slice that ends now.
            if self._looked_ps > seen.grew_ps:
                seen.silences.append((seen.grew_ps, self._looked_ps))
            seen.count, seen.grew_ps = count, now_ps
