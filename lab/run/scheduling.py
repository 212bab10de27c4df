# SPDX-License-Identifier: Apache-2.0
"""Priorities of running jobs by what each of them was seen to do (Crux, sections 4 and 5).

A job that comes runs its first iteration at a priority of its own, above that of all others; one at a time.
What it computed and how long it sent make its intensity, and the scheduler of the scenario gives levels to
all jobs that are there. A job takes its new one with its next iteration. Which links a job sends over is
known from its routes; how much each takes is the demand dealt over them, scaled so that the slowest takes the
time that was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Final, final

import numpy as np

from controller.jobs import SCHEDULERS
from controller.jobs import Job as Seen
from controller.plan import Plan
from emulation.testbed import Testbed
from emulation.traffic.frames.layers import SERVICE_LEVELS
from emulation.traffic.host.iterations import Iterated
from lab.run.job import Job, Jobs
from lab.run.prepare import JobPlan

__all__ = ["PRIORITIES", "Scheduling", "link_shares"]

# The first is that of a job that is being measured; the scheduler has the others.
TOP: Final = SERVICE_LEVELS[-1]
PRIORITIES: Final = len(SERVICE_LEVELS) - 1


def link_shares(plan: Plan, job: JobPlan) -> Mapping[int, float]:
    """Bytes of an iteration on each direction of a link: 2 x the link's number, + 1 from its second end."""
    number = {link.name: index for index, link in enumerate(plan.fabric.links)}
    found: dict[int, float] = {}
    for pair, amount in job.demand.items():
        paths = plan.routes[pair]
        for path in paths:
            for near, far in pairwise(path):
                among = plan.fabric.links_between(near, far)
                for link in among:
                    way = 2 * number[link.name] + (link.a.node != near)
                    found[way] = found.get(way, 0.0) + amount / len(paths) / len(among)
    return dict(sorted(found.items()))


@final
class Scheduling:
    """Begins jobs one after the other, measures each, and gives all of them their levels."""

    def __init__(self, name: str, plan: Plan, jobs: Jobs, testbed: Testbed, seed: int) -> None:
        self._schedule = SCHEDULERS[name]
        self._seed = seed
        self._testbed = testbed
        self._jobs = {job.plan.name: job for job in jobs.all}
        self._rates = np.array([link.rate_bps / 8 for link in plan.fabric.links for _ in (0, 1)])
        self._shares = {name: link_shares(plan, job.plan) for name, job in self._jobs.items()}
        self._waiting: list[tuple[str, Callable[[], None]]] = []
        self._measuring: str | None = None
        self._left: set[str] = set()
        self._seen: dict[str, Seen] = {}

    def come(self, name: str, begin: Callable[[], None]) -> None:
        """A job has come; `begin` begins it."""
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
        """One member of the job that is measured is through with an iteration."""
        if job.plan.name != self._measuring or number:
            return
        self._left.discard(node)
        if not self._left:
            self._measuring = None
            # Not now: an agent is in the middle of a frame.
            self._testbed.at(self._testbed.now_ps, partial(self._measured, job))

    def _measured(self, job: Job) -> None:
        self._seen[job.plan.name] = self._as_seen(job)
        there = [name for name in self._seen if not self._jobs[name].done]
        chosen = self._schedule([self._seen[name] for name in there], self._rates, PRIORITIES, self._seed)
        for name, level in zip(there, chosen.levels.tolist(), strict=True):
            self._jobs[name].set_level(SERVICE_LEVELS[PRIORITIES - 1 - level])
        self._next()

    def _as_seen(self, job: Job) -> Seen:
        """With one flow a link, which is all that intensity and contention ask for."""
        ways = np.array(list(self._shares[job.plan.name]), np.int64)
        amounts = np.array(list(self._shares[job.plan.name].values()))
        first = [end.log[0] for end in job.ends if isinstance(end, Iterated)]
        seconds = (max(one.sent_ps for one in first) - min(one.send_ps for one in first)) / 10**12
        slowest = (amounts / self._rates[ways]).max() if len(ways) else 1.0
        rhythm = job.plan.rhythm
        assert rhythm is not None
        return Seen(
            job.plan.name,
            len(first),
            rhythm.compute_ps / 10**12,
            amounts * (seconds / slowest),
            ways[:, None, None],
            overlap=rhythm.overlap_ps / rhythm.compute_ps if rhythm.compute_ps else 0.0,
        )
