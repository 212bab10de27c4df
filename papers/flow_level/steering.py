# SPDX-License-Identifier: Apache-2.0
"""Steering of a running cluster: a scheduler of controller.jobs sets paths, levels and shifts of jobs.

Whenever a job arrives, has been measured or ends, all jobs get new paths, levels and shifts (Crux, section
5). A new job first runs for `window` seconds at a priority level of its own, which links serve before the
levels of all measured jobs. The scheduler gets the job's computation and overlap as measured in this window:
from its iterations, seconds of computation and seconds of sending. The job's stated values are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from controller.jobs.job import Job as Known
from controller.jobs.job import bottleneck_seconds, iteration_seconds
from controller.jobs.paths import busy_shares, least_congested
from controller.jobs.schedulers import Scheduler
from papers.flow_level.networks.pinned import Pinned
from papers.flow_level.pace import Counted, Order, Pace
from papers.flow_level.workload.jobs import Job

__all__ = ["WINDOW", "Steered", "Steering", "measured"]

# Default length of a measurement, in seconds (Crux, section 5: "e.g., 30s").
WINDOW = 30.0


class Steering(Protocol):
    """Interface of a steering: the simulator reports jobs that enter or leave, and asks for orders."""

    def enter(self, key: int, job: Job, now: float, pace: Pace) -> None: ...

    def leave(self, key: int) -> None: ...

    def due(self) -> float:
        """Return the time of the steering's next action; infinity if it waits for jobs to come or go."""
        ...

    def orders(self, now: float, pace: Pace) -> Mapping[int, Order]: ...


@final
@dataclass(frozen=True, slots=True)
class _Measuring:
    job: Job
    until: float
    began: Counted


@final
class Steered:
    """Steering by a scheduler that measures new jobs.

    Args:
        fabric: fabric on which paths are set.
        scheduler: chooses paths, levels and shifts of all measured jobs.
        levels: number of priority levels that links serve.
        window: seconds of a measurement; if 0, the scheduler gets the job's own values at its arrival.
        spread: give jobs under measurement the paths that measured jobs congest least; else they keep the
            paths that a hash picked.
        seed: seed of the scheduler.
    """

    def __init__(
        self,
        fabric: Pinned,
        scheduler: Scheduler,
        levels: int = 8,
        window: float = WINDOW,
        spread: bool = True,
        seed: int = 0,
    ) -> None:
        self._fabric, self._scheduler, self._spread = fabric, scheduler, spread
        self._levels, self._window, self._seed = levels, window, seed
        self._measuring: dict[int, _Measuring] = {}
        self._known: dict[int, Known] = {}

    def enter(self, key: int, job: Job, now: float, pace: Pace) -> None:
        if not len(self._fabric.flows(key).amounts):
            return
        if self._window:
            self._measuring[key] = _Measuring(job, now + self._window, pace.counted(key))
        else:
            self._known[key] = self._profile(key, job, job.compute, job.overlap)

    def leave(self, key: int) -> None:
        self._measuring.pop(key, None)
        self._known.pop(key, None)

    def due(self) -> float:
        return min((item.until for item in self._measuring.values()), default=np.inf)

    def orders(self, now: float, pace: Pace) -> Mapping[int, Order]:
        for key, item in list(self._measuring.items()):
            if item.until <= now:
                self._read(key, item, now, pace)
        result = {
            key: Order(level=index - len(self._measuring))
            for index, key in enumerate(reversed(self._measuring))
        }
        keys = sorted(self._known)
        jobs = [self._known[key] for key in keys]
        rates = self._fabric.capacities
        schedule = self._scheduler(jobs, rates, self._levels, self._seed)
        for index, (key, job, choice) in enumerate(zip(keys, jobs, schedule.choices, strict=True)):
            self._fabric.pin(key, choice)
            late = 0.0
            group = int(schedule.groups[index])
            if group >= 0:
                length = iteration_seconds(job.compute, bottleneck_seconds(job, choice, rates), job.overlap)
                late = float(schedule.shifts[index]) / length
            result[key] = Order(
                int(schedule.levels[index]),
                keys[group] if group >= 0 else None,
                int(schedule.turns[index]),
                late,
            )
        if self._spread and self._measuring:
            # Computation and overlap of these jobs are not known yet: assume that they only send.
            new = [self._profile(key, item.job, 0.0, 0.0) for key, item in self._measuring.items()]
            busy = busy_shares(jobs, schedule.choices, rates)
            choices = least_congested(new, range(len(new)), rates, busy)
            for key, choice in zip(self._measuring, choices, strict=True):
                self._fabric.pin(key, choice)
        return result

    def _read(self, key: int, item: _Measuring, now: float, pace: Pace) -> None:
        ended = pace.counted(key)
        if ended.iterations <= item.began.iterations:
            # No iteration has ended in the window: measure for another window.
            self._measuring[key] = _Measuring(item.job, now + self._window, item.began)
            return
        del self._measuring[key]
        self._known[key] = self._profile(key, item.job, *measured(item.began, ended))

    def _profile(self, key: int, job: Job, compute: float, overlap: float) -> Known:
        flows, port = self._fabric.flows(key), self._fabric.port
        return Known(job.name, job.npus, compute, flows.amounts, flows.paths, overlap, port=port)


def measured(began: Counted, ended: Counted) -> tuple[float, float]:
    """Return the seconds of computation of an iteration, and the share of them that overlaps with sending.

    The overlap follows from the readings: computation plus sending less the duration of an iteration.
    """
    number = ended.iterations - began.iterations
    whole, compute, sending = (
        (getattr(ended, name) - getattr(began, name)) / number for name in ("seconds", "computed", "sending")
    )
    hidden = compute + sending - whole
    return compute, float(np.clip(hidden / compute, 0.0, 1.0)) if compute else 0.0
