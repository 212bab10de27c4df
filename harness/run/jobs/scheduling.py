# SPDX-License-Identifier: Apache-2.0
"""Priorities of running jobs, from measurements of each job (Crux, sections 4 and 5).

Jobs are measured one at a time: a new job runs its first iteration at the highest priority, which no other
job has. Computation and communication time give the job's intensity, and the scenario's scheduler assigns
levels to all running jobs. A job changes its level with its next iteration. The links of a job follow from
its routes. The load of a link is the job's demand divided among its paths, scaled so that the slowest link
takes the measured communication time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Final, final

import numpy as np

from controller.jobs import Job as MeasuredJob
from controller.jobs.schedulers import find
from controller.plan.plan import Plan
from emulation.testbed import Testbed
from emulation.traffic.frames.values import SERVICE_LEVELS
from harness.run.jobs.running import Job, Jobs
from harness.run.planning.job_plan import JobPlan

__all__ = ["PRIORITIES", "Scheduling", "link_shares"]

# Service level of the job that is being measured; number of lower levels, which the scheduler assigns.
TOP: Final = SERVICE_LEVELS[-1]
PRIORITIES: Final = len(SERVICE_LEVELS) - 1


def link_shares(plan: Plan, job: JobPlan) -> Mapping[int, float]:
    """Return the bytes that an iteration of a job sends over each direction of each link.

    The key of a direction is 2 n from the first end of link n, and 2 n + 1 from the second end.
    """
    number = {link.name: index for index, link in enumerate(plan.fabric.links)}
    load: dict[int, float] = {}
    for pair, amount in job.demand.items():
        for path, share in plan.shares(*pair).items():
            for node, neighbour in pairwise(path):
                parallel = plan.fabric.links_between(node, neighbour)
                for link in parallel:
                    direction = 2 * number[link.name] + (link.a.node != node)
                    load[direction] = load.get(direction, 0.0) + amount * share / len(parallel)
    return dict(sorted(load.items()))


@final
class Scheduling:
    """Begins due jobs one by one, measures each in its first iteration, and assigns levels to all."""

    def __init__(self, name: str, plan: Plan, jobs: Jobs, testbed: Testbed, seed: int) -> None:
        self._schedule = find(name)
        self._seed = seed
        self._testbed = testbed
        self._jobs = {job.plan.name: job for job in jobs.all}
        self._rates = np.array([link.rate_bps / 8 for link in plan.fabric.links for _ in (0, 1)])
        self._shares = {name: link_shares(plan, job.plan) for name, job in self._jobs.items()}
        self._waiting: list[tuple[str, Callable[[], None]]] = []
        self._measuring: str | None = None
        self._left: set[str] = set()
        self._seen: dict[str, MeasuredJob] = {}

    def enqueue(self, name: str, begin: Callable[[], None]) -> None:
        """Queue the due job `name`; `begin` is called when no other job is being measured."""
        self._waiting.append((name, begin))
        self._next()

    def _next(self) -> None:
        if self._measuring is not None or not self._waiting:
            return
        self._measuring, begin = self._waiting.pop(0)
        job = self._jobs[self._measuring]
        job.level = TOP
        self._left = set(job.holders)
        job.on_iteration = partial(self._ended, job)
        begin()

    def _ended(self, job: Job, node: str, number: int) -> None:
        """Handle the end of iteration `number` at a node of the measured job."""
        if job.plan.name != self._measuring or number:
            return
        self._left.discard(node)
        if not self._left:
            self._measuring = None
            # Call from the event loop: the agent that calls this method is still processing a frame.
            self._testbed.at(self._testbed.now_ps, partial(self._measured, job))

    def _measured(self, job: Job) -> None:
        self._seen[job.plan.name] = self._measured_job(job)
        running = [name for name in self._seen if not self._jobs[name].done]
        chosen = self._schedule([self._seen[name] for name in running], self._rates, PRIORITIES, self._seed)
        for name, level in zip(running, chosen.levels.tolist(), strict=True):
            self._jobs[name].set_level(SERVICE_LEVELS[PRIORITIES - 1 - level])
        self._next()

    def _measured_job(self, job: Job) -> MeasuredJob:
        """Return the measured job with one flow per link, as intensity and contention need no more detail."""
        ways = np.array(list(self._shares[job.plan.name]), np.int64)
        amounts = np.array(list(self._shares[job.plan.name].values()))
        first = [log[0] for log in job.logs]
        seconds = (max(log.sent_ps for log in first) - min(log.send_ps for log in first)) / 10**12
        slowest = (amounts / self._rates[ways]).max() if len(ways) else 1.0
        rhythm = job.plan.rhythm
        assert rhythm is not None
        return MeasuredJob(
            job.plan.name,
            len(first),
            rhythm.compute_ps / 10**12,
            amounts * (seconds / slowest),
            ways[:, None, None],
            overlap=rhythm.overlap_ps / rhythm.compute_ps if rhythm.compute_ps else 0.0,
        )
