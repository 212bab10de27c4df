# SPDX-License-Identifier: Apache-2.0
"""Simulation of a cluster: jobs arrive, wait for NPUs, run on a fabric and leave.

Jobs start in order of arrival: while the first job in the queue waits for NPUs, all later jobs wait as well.
If jobs end and arrive at the same moment, the ends come first. Jobs that end at the same moment leave in
order of arrival.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from harness.errors import ModelError
from papers.flow_level.networks.clos import Fabric
from papers.flow_level.progress.exact import Exact
from papers.flow_level.progress.fluid import Fluid
from papers.flow_level.progress.pace import Pace
from papers.flow_level.steering import Steering
from papers.flow_level.workload.jobs import Job
from papers.flow_level.workload.placement import Placement

__all__ = ["Mode", "Outcome", "Record", "simulate"]

Mode = Literal["fluid", "exact"]


@final
@dataclass(frozen=True, slots=True)
class Record:
    """Times of an ended job, in seconds.

    Attributes:
        arrival: time of arrival.
        start: time at which the job gets its NPUs.
        end: time at which the job leaves.
        alone: duration from start to end if every flow had the rate 1.
        iterations: number of iterations done.
        computed: duration for which each NPU computes, over all iterations done.
    """

    name: str
    npus: int
    arrival: float
    start: float
    end: float
    alone: float
    iterations: float = 1.0
    computed: float = 0.0

    @property
    def iteration(self) -> float:
        """Mean duration of an iteration; infinite if the job has done none."""
        return (self.end - self.start) / self.iterations if self.iterations else np.inf

    @property
    def completion(self) -> float:
        """Duration from arrival to end."""
        return self.end - self.arrival

    @property
    def queueing(self) -> float:
        return self.start - self.arrival

    @property
    def slowdown(self) -> float:
        """Duration from start to end, divided by `alone`; 1 if `alone` is 0."""
        return (self.end - self.start) / self.alone if self.alone else 1.0


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome on a fabric with `npus` NPUs: the records of all jobs, in order of arrival."""

    fabric: str
    npus: int
    jobs: tuple[Record, ...]

    @property
    def completion(self) -> float:
        """Mean completion time of a job, in seconds."""
        return float(np.mean([job.completion for job in self.jobs]))

    @property
    def queueing(self) -> float:
        """Mean time that a job waits for NPUs, in seconds."""
        return float(np.mean([job.queueing for job in self.jobs]))

    @property
    def slowdown(self) -> float:
        """Mean slowdown of a job."""
        return float(np.mean([job.slowdown for job in self.jobs]))

    @property
    def utilisation(self) -> float:
        """NPU-seconds of computation, as a share of the NPU-seconds for which jobs hold NPUs."""
        held = sum(job.npus * (job.end - job.start) for job in self.jobs)
        return sum(job.npus * job.computed for job in self.jobs) / held if held else 0.0

    @property
    def throughput(self) -> float:
        """NPU-seconds of jobs run alone, as a share of all NPU-seconds from first arrival to last end."""
        if not self.jobs:
            return 0.0
        span = max(job.end for job in self.jobs) - min(job.arrival for job in self.jobs)
        return sum(job.npus * job.alone for job in self.jobs) / (self.npus * span) if span else 0.0


def simulate(
    jobs: Sequence[Job],
    fabric: Fabric,
    policy: str = "packed",
    mode: Mode = "fluid",
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
    steering: Steering | None = None,
) -> Outcome:
    """Run all jobs to their ends; equal arguments give an equal outcome.

    Args:
        jobs: the jobs, in any order.
        fabric: network that carries the flows.
        policy: placement policy, a key of `POLICIES`.
        mode: "fluid" advances jobs by mean throughput, "exact" phase by phase.
        seed: seed of the placement and of the fluid mode.
        advance: called at the end of each job.
        steering: sets paths, classes and shifts, which replace the jobs' own priorities.

    Raises:
        ModelError: A job does not fit on the empty cluster, or jobs get no rate and no other event follows.
    """
    pace = Fluid(fabric, seed) if mode == "fluid" else Exact(fabric)
    return _Run(jobs, fabric, policy, pace, seed, steering).run(advance)


@final
class _Run:
    def __init__(
        self,
        jobs: Sequence[Job],
        fabric: Fabric,
        policy: str,
        pace: Pace,
        seed: int,
        steering: Steering | None = None,
    ) -> None:
        self._jobs = sorted(jobs, key=lambda job: job.arrival)
        self._fabric, self._pace, self._steering = fabric, pace, steering
        self._placement = Placement(fabric.cluster, policy, seed)
        self._waiting: deque[int] = deque()
        self._npus: dict[int, np.ndarray] = {}
        self._start: dict[int, float] = {}
        self._end: dict[int, float] = {}
        self._leaving: dict[int, float] = {}
        self._done: dict[int, float] = {}
        self._now = 0.0
        self._lit = np.inf

    def run(self, advance: Callable[[], None]) -> Outcome:
        coming = 0
        while len(self._end) < len(self._jobs):
            arrival = self._jobs[coming].arrival if coming < len(self._jobs) else np.inf
            step = self._pace.next_in()
            due = self._steering.due() if self._steering else np.inf
            removed = min(self._leaving.values(), default=np.inf)
            then = min(arrival, self._lit, due, removed, self._now + step)
            if then == np.inf:
                raise ModelError(
                    f"{len(self._npus)} jobs make no progress, among them {self._jobs[min(self._npus)].name}",
                    remedy="give the links that they need a capacity above 0",
                )
            done = self._pace.advance(step if then == self._now + step else then - self._now)
            self._now = then
            if removed <= then:
                done = sorted({*done, *(key for key, at in self._leaving.items() if at <= then)})
            for key in done:
                self._leave(key)
                advance()
            if then >= self._lit:
                self._lit = np.inf
                self._fabric.settle()
                self._pace.changed()
            while coming < len(self._jobs) and self._jobs[coming].arrival <= self._now:
                self._waiting.append(coming)
                coming += 1
            before = len(self._npus)
            self._admit()
            if self._steering and (done or len(self._npus) > before or due <= self._now):
                self._steer(self._steering)
        return Outcome(
            self._fabric.name, self._fabric.cluster.size, tuple(map(self._record, range(len(self._jobs))))
        )

    def _admit(self) -> None:
        before = self._fabric.version, self._lit
        while self._waiting:
            key = self._waiting[0]
            job = self._jobs[key]
            npus = self._placement.take(job.npus, job.unit)
            if npus is None:
                if not self._npus:
                    raise ModelError(
                        f"job {job.name}: {job.npus} NPUs in blocks of {job.unit} do not fit on "
                        f"the empty cluster",
                        remedy="take smaller blocks or another placement",
                    )
                break
            self._waiting.popleft()
            dark = self._fabric.admit(key, job, npus)
            if dark:
                self._lit = self._now + dark
            self._pace.add(key, job)
            self._npus[key], self._start[key] = npus, self._now
            if job.held is not None:
                self._leaving[key] = self._now + job.held
            if self._steering:
                self._steering.enter(key, job, self._now, self._pace)
        if (self._fabric.version, self._lit) != before:
            self._pace.changed()

    def _steer(self, steering: Steering) -> None:
        before = self._fabric.version
        for key, order in steering.orders(self._now, self._pace).items():
            self._pace.order(key, order)
        if self._fabric.version != before:
            self._pace.changed()

    def _leave(self, key: int) -> None:
        if self._steering:
            self._steering.leave(key)
        if self._leaving.pop(key, None) is not None:
            self._done[key] = self._pace.counted(key).iterations
        self._pace.remove(key)
        self._fabric.release(key)
        self._placement.give_back(self._npus.pop(key))
        self._end[key] = self._now

    def _record(self, key: int) -> Record:
        job = self._jobs[key]
        done = self._done.get(key, job.iterations)
        return Record(
            job.name,
            job.npus,
            job.arrival,
            self._start[key],
            self._end[key],
            job.alone / job.iterations * done if key in self._done else job.alone,
            done,
            done * job.compute,
        )
