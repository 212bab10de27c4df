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
from papers.flow_level.fluid import Fluid
from papers.flow_level.networks.clos import Fabric
from papers.flow_level.pace import Pace
from papers.flow_level.rates import Ints
from papers.flow_level.steering import Steering
from papers.flow_level.workload.jobs import Job
from papers.flow_level.workload.placement import Placement

__all__ = ["Outcome", "Record", "simulate"]


@final
@dataclass(frozen=True, slots=True)
class Record:
    """An ended job: the times at which it got its NPUs and left, in seconds, and its iterations done."""

    job: Job
    start: float
    end: float
    iterations: float

    @property
    def completion(self) -> float:
        """Duration from arrival to end."""
        return self.end - self.job.arrival

    @property
    def slowdown(self) -> float:
        """Duration from start to end, divided by that if every flow had the rate 1; 1 if that is 0."""
        alone = self.job.alone
        if self.iterations != self.job.iterations:
            alone = alone / self.job.iterations * self.iterations
        return (self.end - self.start) / alone if alone else 1.0


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """Records of all jobs, in order of arrival."""

    jobs: tuple[Record, ...]

    def mean(self, quantity: Literal["completion", "slowdown"]) -> float:
        """Return the mean of a property of records over all jobs."""
        return float(np.mean([getattr(record, quantity) for record in self.jobs]))

    @property
    def utilisation(self) -> float:
        """NPU-seconds of computation, as a share of the NPU-seconds for which jobs hold NPUs."""
        held = sum(record.job.npus * (record.end - record.start) for record in self.jobs)
        computed = sum(record.job.npus * (record.iterations * record.job.compute) for record in self.jobs)
        return computed / held if held else 0.0


def simulate(
    jobs: Sequence[Job],
    fabric: Fabric,
    policy: str = "packed",
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
    steering: Steering | None = None,
    pace: Pace | None = None,
) -> Outcome:
    """Run all jobs to their ends; equal arguments give an equal outcome.

    Args:
        jobs: the jobs, in any order.
        fabric: network that carries the flows.
        policy: placement policy, a key of `POLICIES`.
        seed: seed of the placement and of `Fluid`.
        advance: called at the end of each job.
        steering: sets paths, classes and shifts, which replace the jobs' own priorities.
        pace: progress of running jobs; `Fluid` if None.

    Raises:
        ModelError: A job does not fit on the empty cluster, or jobs get no rate and no other event follows.
    """
    placement = Placement(fabric.cluster, policy, seed)
    return _Run(jobs, fabric, placement, pace or Fluid(fabric, seed), steering).run(advance)


@final
class _Run:
    def __init__(
        self, jobs: Sequence[Job], fabric: Fabric, placement: Placement, pace: Pace, steering: Steering | None
    ) -> None:
        self._coming = deque(enumerate(sorted(jobs, key=lambda job: job.arrival)))
        self._fabric, self._placement, self._pace, self._steering = fabric, placement, pace, steering
        self._waiting: deque[tuple[int, Job]] = deque()
        # Job, NPUs and start of each running job.
        self._running: dict[int, tuple[Job, Ints, float]] = {}
        self._leaving: dict[int, float] = {}
        self._ended: dict[int, Record] = {}
        self._now = 0.0
        self._lit = np.inf

    def run(self, advance: Callable[[], None]) -> Outcome:
        while self._coming or self._waiting or self._running:
            arrival = self._coming[0][1].arrival if self._coming else np.inf
            step = self._pace.next_in()
            due = self._steering.due() if self._steering else np.inf
            removed = min(self._leaving.values(), default=np.inf)
            then = min(arrival, self._lit, due, removed, self._now + step)
            if then == np.inf:
                stuck, _, _ = self._running[min(self._running)]
                raise ModelError(
                    f"{len(self._running)} jobs make no progress, among them {stuck.name}",
                    remedy="give the links that they need a capacity above 0",
                )
            done = set(self._pace.advance(step if then == self._now + step else then - self._now))
            done.update(key for key, at in self._leaving.items() if at <= then)
            self._now = then
            for key in sorted(done):
                self._leave(key)
                advance()
            if then >= self._lit:
                self._lit = np.inf
                self._fabric.settle()
                self._pace.changed()
            while self._coming and self._coming[0][1].arrival <= then:
                self._waiting.append(self._coming.popleft())
            if (self._admit() or done or due <= then) and self._steering:
                self._steer(self._steering)
        return Outcome(tuple(record for _, record in sorted(self._ended.items())))

    def _admit(self) -> bool:
        """Start jobs in the order of the queue; return whether any has started."""
        before = self._fabric.version, self._lit
        running = len(self._running)
        while self._waiting:
            key, job = self._waiting[0]
            npus = self._placement.take(job.npus, job.unit)
            if npus is None:
                if not self._running:
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
            self._running[key] = job, npus, self._now
            if job.held is not None:
                self._leaving[key] = self._now + job.held
            if self._steering:
                self._steering.enter(key, job, self._now, self._pace)
        if (self._fabric.version, self._lit) != before:
            self._pace.changed()
        return len(self._running) > running

    def _steer(self, steering: Steering) -> None:
        before = self._fabric.version
        for key, order in steering.orders(self._now, self._pace).items():
            self._pace.order(key, order)
        if self._fabric.version != before:
            self._pace.changed()

    def _leave(self, key: int) -> None:
        job, npus, start = self._running.pop(key)
        held = self._leaving.pop(key, None) is not None
        iterations = self._pace.counted(key).iterations if held else job.iterations
        self._ended[key] = Record(job, start, self._now, iterations)
        if self._steering:
            self._steering.leave(key)
        self._pace.remove(key)
        self._fabric.release(key)
        self._placement.give_back(npus)
