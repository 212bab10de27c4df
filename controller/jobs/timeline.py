# SPDX-License-Identifier: Apache-2.0
"""Exact simulation, event by event, of jobs that compute and send in turns over shared links.

All flows of a job advance together, as fast as its most congested link lets them (Crux, section 3.3). Levels
are served strictly in order; jobs of one level are slowed alike on a link that is too narrow for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from controller.errors import PlanError
from controller.jobs.job import Floats, Job, Schedule, iteration_seconds, link_loads

__all__ = ["JobProfile", "RunTotals", "job_profiles", "simulate", "utilisation"]

# Share of a step that rounding may leave over.
_ROUNDING = 1e-9


@final
@dataclass(frozen=True, slots=True)
class JobProfile:
    """Iteration of a job: `compute` seconds, then sending that alone takes `busy` seconds on each link.

    Sending takes at least `min_sending` seconds. The first iteration begins after `start_delay` seconds.
    """

    compute: float
    busy: Mapping[int, float]
    overlap: float = 0.0
    start_delay: float = 0.0
    min_sending: float = 0.0

    @property
    def sending(self) -> float:
        """Seconds of sending of an iteration alone, t_j."""
        return max(self.min_sending, *self.busy.values(), 0.0)

    @property
    def iteration(self) -> float:
        """Seconds of an iteration alone."""
        return iteration_seconds(self.compute, self.sending, self.overlap)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunTotals:
    """Totals by job over `seconds`.

    `computed` are seconds of computation, `sent` the seconds that the sending would have taken alone,
    `iterations` the iterations completed.
    """

    seconds: float
    computed: Floats
    sent: Floats
    iterations: Floats


class _JobState:
    """Progress of a job in its iteration.

    `wait` and `head` are the seconds until the job begins and until it may send; `tail` and `left` are the
    seconds of computation and of sending left.
    """

    __slots__ = ("computed", "ended", "head", "left", "sent", "shape", "tail", "usage", "wait", "whole")

    def __init__(self, shape: JobProfile) -> None:
        self.shape = shape
        self.whole = shape.sending
        self.usage = [(link, busy / self.whole) for link, busy in shape.busy.items() if busy]
        self.computed = self.sent = 0.0
        self.ended = 0
        self.wait = shape.start_delay
        self.begin()

    def begin(self) -> None:
        """Begin the next iteration."""
        self.head = (1 - self.shape.overlap) * self.shape.compute
        self.tail = self.shape.compute
        self.left = self.whole


def simulate(jobs: Sequence[JobProfile], levels: Sequence[int], seconds: float) -> RunTotals:
    """Run jobs for so many seconds, each from the beginning of an iteration.

    Links have the rate 1: a busy time of one second each second.
    """
    if len(levels) != len(jobs):
        raise PlanError(f"{len(levels)} levels of {len(jobs)} jobs", remedy="give one a job")
    if any(not one.iteration for one in jobs):
        raise PlanError("a job whose iterations take no time", remedy="leave it out: it is never slowed")
    going = [_JobState(shape) for shape in jobs]
    ranks = [
        [one for one, level in zip(going, levels, strict=True) if level == rank]
        for rank in sorted(set(levels))
    ]
    now = 0.0
    while now < seconds * (1 - _ROUNDING):
        speeds = _speeds(ranks)
        step = min(seconds - now, *(_seconds_to_event(one, speeds.get(one, 0.0)) for one in going))
        for one in going:
            _advance(one, step, speeds.get(one, 0.0))
        now += step
    return RunTotals(
        seconds,
        np.array([one.computed for one in going]),
        np.array([one.sent for one in going]),
        np.array([float(one.ended) for one in going]),
    )


def _speeds(ranks: list[list[_JobState]]) -> dict[_JobState, float]:
    """Return the speeds of the sending jobs, each as a share of its speed alone."""
    room: dict[int, float] = {}
    found: dict[_JobState, float] = {}
    for rank in ranks:
        waiting = [one for one in rank if one.wait <= 0 and one.head <= 0 and one.left > 0]
        while waiting:
            wanted: dict[int, float] = {}
            for one in waiting:
                for link, use in one.usage:
                    wanted[link] = wanted.get(link, 0.0) + use
            worst, speed = -1, 1.0
            for link, want in wanted.items():
                share = max(room.get(link, 1.0), 0.0) / want
                if share < speed:
                    worst, speed = link, share
            stay = [one for one in waiting if worst < 0 or any(link == worst for link, _ in one.usage)]
            for one in stay:
                found[one] = speed
                for link, use in one.usage:
                    room[link] = room.get(link, 1.0) - speed * use
            waiting = [one for one in waiting if one not in found]
    return found


def _seconds_to_event(one: _JobState, speed: float) -> float:
    """Return the seconds until the next event of a job."""
    if one.wait > 0:
        return one.wait
    found = one.tail if one.tail > 0 else np.inf
    if one.head > 0:
        return min(found, one.head)
    return min(found, one.left / speed) if one.left > 0 and speed > 0 else found


def _advance(one: _JobState, step: float, speed: float) -> None:
    scale = _ROUNDING * one.shape.iteration
    if one.wait > 0:
        one.wait = _subtract(one.wait, step, scale)
        return
    if one.tail > 0:
        one.computed += min(step, one.tail)
        one.tail = _subtract(one.tail, step, scale)
    if one.head > 0:
        one.head = _subtract(one.head, step, scale)
    elif one.left > 0:
        one.sent += min(speed * step, one.left)
        one.left = _subtract(one.left, speed * step, scale)
    if one.head <= 0 and one.tail <= 0 and one.left <= 0:
        one.ended += 1
        one.begin()


def _subtract(left: float, gone: float, scale: float) -> float:
    return left - gone if left - gone > scale else 0.0


def job_profiles(jobs: Sequence[Job], schedule: Schedule, rates: Floats) -> list[JobProfile]:
    """Return the profiles of jobs on the paths of a schedule, delayed by its shifts."""
    found = []
    for job, choice, late in zip(jobs, schedule.choices, schedule.shifts.tolist(), strict=True):
        busy = link_loads(job, choice, len(rates)) / rates
        used = np.flatnonzero(busy)
        by_link = dict(zip(used.tolist(), busy[used].tolist(), strict=True))
        found.append(JobProfile(job.compute, by_link, job.overlap, late, job.port_seconds))
    return found


def utilisation(jobs: Sequence[Job], schedule: Schedule, rates: Floats, seconds: float) -> float:
    """Return the share of `seconds` for which the accelerators of all jobs compute."""
    ran = simulate(job_profiles(jobs, schedule, rates), schedule.levels.tolist(), seconds)
    gpus = np.array([job.gpus for job in jobs], float)
    return float(gpus @ ran.computed / (gpus.sum() * seconds))
