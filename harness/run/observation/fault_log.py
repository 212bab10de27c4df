# SPDX-License-Identifier: Apache-2.0
"""Log of a run around its faults: what controllers did and when, and when ranks received nothing.

Looking changes nothing: the log hears of table writes and notices as they happen, and asks agents for their
counts between two slices of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from emulation.control.loop import ControlLoop
from harness.run.jobs.running import Job, Jobs
from harness.run.memory_pool.running import PoolRun
from harness.run.prepare import Prepared
from topologies import Fabric
from topologies.model.circuits import circuit_link, circuit_of

__all__ = ["Activity", "FaultLog", "FaultTrace", "RankTrace"]

# Activities that are kept; a run with a longer history of faults keeps the first.
_MOST = 1_000_000


@final
@dataclass(frozen=True, slots=True)
class Activity:
    """A reaction of a node's controller: `count` table entries rewritten, or notices sent, at `at_ps`."""

    kind: Literal["rewrite", "notice"]
    node: str
    at_ps: int
    count: int


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
    """Reactions and ranks of a run with faults; times of detection and of processing in ps.

    `ends` are the nodes at the ends of each link that a fault is about. Detection takes `exact`ly its time
    where carriers alone show a failure, in virtual time.
    """

    detect_ps: int
    processing_ps: int
    exact: bool
    ends: Mapping[str, tuple[str, str]]
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
        self._detect_ps = round(ready.variant.link.detect_us * 10**6)
        self._processing_ps = round(ready.variant.control.processing_us * 10**6)
        self._control = control
        settings = ready.variant.control
        self._exact = virtual and settings.hello_us is None and settings.lacp_us is None
        self._activities: list[Activity] = []
        self._arrivals: dict[str, _Arrivals] = {}  # by job
        self._looked_ps = 0
        control.on_activity = self.note

    def note(self, activity: str, node: str, count: int) -> None:
        """Note a reaction of a controller that happens now."""
        if len(self._activities) < _MOST:
            kind: Literal["rewrite", "notice"] = "notice" if activity == "notice" else "rewrite"
            self._activities.append(Activity(kind, node, self._control.now_ps, count))

    def look(self, now_ps: int) -> None:
        """Note which ranks have received data since the last look."""
        for job in self._jobs:
            if isinstance(job.begun_ps, int):
                self._look_at(job, job.begun_ps, now_ps)
        self._looked_ps = now_ps

    def trace(self, fabric: Fabric, links: Iterable[str]) -> FaultTrace:
        """Return the trace of the run, whose faults are about these links."""
        ends: dict[str, tuple[str, str]] = {}
        for name in links:
            circuit = circuit_of(fabric, name)
            link = fabric.link(name) if circuit is None else circuit_link(fabric, *circuit)
            ends[name] = link.a.node, link.b.node
        ranks: list[RankTrace] = []
        for job in self._jobs:
            seen = self._arrivals.get(job.plan.name, _arrivals(job, 0))
            for rank, (node, end) in enumerate(zip(job.holders, job.ends, strict=True)):
                silences = [*seen.silences.get(rank, ())]
                grew_ps = int(seen.grew_ps[rank])
                if end.finished_ps is None and self._looked_ps > grew_ps:
                    silences.append((grew_ps, self._looked_ps))
                ranks.append(RankTrace(job.plan.name, rank, node, end.finished_ps, tuple(silences)))
        return FaultTrace(
            self._detect_ps, self._processing_ps, self._exact, ends, tuple(self._activities), tuple(ranks)
        )

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
