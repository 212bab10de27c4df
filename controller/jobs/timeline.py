# SPDX-License-Identifier: Apache-2.0
"""Exact event-driven simulation of jobs on shared links; each job computes and sends in every iteration.

All flows of a job advance together, as fast as the job's most congested link allows (Crux, section 3.3). A
link serves priority levels strictly in order. If a link cannot serve in full all jobs of a level that use the
link, these jobs slow down by the same factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from controller.errors import PlanError
from controller.jobs.job import Floats, Job, Schedule, iteration_seconds, link_loads

__all__ = ["JobProfile", "RunTotals", "job_profiles", "simulate", "utilisation"]

# Share of an iteration or of a run; remaining time below this share is a rounding error.
_ROUNDING = 1e-9


@final
@dataclass(frozen=True, slots=True)
class JobProfile:
    """Profile of a job's iteration: computation, then sending.

    Args:
        compute: Seconds of computation.
        busy: By link, the seconds that the sending takes if no other job uses the link.
        overlap: Last share of `compute` during which the job may send, 0 to 1.
        start_delay: Seconds before the first iteration begins.
        min_sending: Least seconds of sending.
    """

    compute: float
    busy: Mapping[int, float]
    overlap: float = 0.0
    start_delay: float = 0.0
    min_sending: float = 0.0

    @property
    def sending(self) -> float:
        """Seconds of an iteration's sending without other jobs, t_j."""
        return max(self.min_sending, *self.busy.values(), 0.0)

    @property
    def iteration(self) -> float:
        """Seconds of an iteration without other jobs."""
        return iteration_seconds(self.compute, self.sending, self.overlap)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunTotals:
    """Totals of each job over a run.

    Args:
        seconds: Length of the run.
        computed: Seconds of computation, (jobs,).
        sent: Seconds that the job's sent traffic takes without other jobs, (jobs,).
        iterations: Number of completed iterations, (jobs,).
    """

    seconds: float
    computed: Floats
    sent: Floats
    iterations: Floats


class _JobState:
    """Progress of a job in its iteration.

    wait   seconds until the job's first iteration begins
    head   remaining seconds of computation before the job may send
    tail   remaining seconds of computation
    left   remaining seconds of sending, as if without other jobs
    whole  `left` at the beginning of an iteration
    usage  links of the job, each with the share of its capacity that the job uses at full speed
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
    """Run jobs for `seconds`, each from the beginning of an iteration, and return their totals.

    A link serves 1 second of `busy` time each second, and jobs with the lowest of `levels` first.
    """
    if len(levels) != len(jobs):
        raise PlanError(
            f"{len(levels)} levels were given for {len(jobs)} jobs", remedy="give one level for each job"
        )
    for number, job in enumerate(jobs):
        if not job.iteration:
            raise PlanError(
                f"iterations of job {number} take 0 s; expected more than 0 s", remedy="leave the job out"
            )
    going = [_JobState(shape) for shape in jobs]
    ranks = [
        [state for state, level in zip(going, levels, strict=True) if level == rank]
        for rank in sorted(set(levels))
    ]
    now = 0.0
    while now < seconds * (1 - _ROUNDING):
        speeds = _speeds(ranks)
        step = min(seconds - now, *(_seconds_to_event(state, speeds.get(state, 0.0)) for state in going))
        for state in going:
            _advance(state, step, speeds.get(state, 0.0))
        now += step
    return RunTotals(
        seconds,
        np.array([state.computed for state in going]),
        np.array([state.sent for state in going]),
        np.array([float(state.ended) for state in going]),
    )


def _speeds(ranks: list[list[_JobState]]) -> dict[_JobState, float]:
    """Return the speed of each sending job, as a share of its speed without other jobs.

    `ranks` lists the jobs of each level, in the order in which links serve the levels.
    """
    room: dict[int, float] = {}
    speeds: dict[_JobState, float] = {}
    for rank in ranks:
        waiting = [state for state in rank if state.wait <= 0 and state.head <= 0 and state.left > 0]
        while waiting:
            wanted: dict[int, float] = {}
            for state in waiting:
                for link, use in state.usage:
                    wanted[link] = wanted.get(link, 0.0) + use
            worst, speed = -1, 1.0
            for link, want in wanted.items():
                share = max(room.get(link, 1.0), 0.0) / want
                if share < speed:
                    worst, speed = link, share
            stay = [state for state in waiting if worst < 0 or any(link == worst for link, _ in state.usage)]
            for state in stay:
                speeds[state] = speed
                for link, use in state.usage:
                    room[link] = room.get(link, 1.0) - speed * use
            waiting = [state for state in waiting if state not in speeds]
    return speeds


def _seconds_to_event(state: _JobState, speed: float) -> float:
    """Return the seconds until the next event of a job sending at `speed`."""
    if state.wait > 0:
        return state.wait
    seconds = state.tail if state.tail > 0 else np.inf
    if state.head > 0:
        return min(seconds, state.head)
    return min(seconds, state.left / speed) if state.left > 0 and speed > 0 else seconds


def _advance(state: _JobState, step: float, speed: float) -> None:
    """Advance a job by `step` seconds, at sending speed `speed`."""
    scale = _ROUNDING * state.shape.iteration
    if state.wait > 0:
        state.wait = _subtract(state.wait, step, scale)
        return
    if state.tail > 0:
        state.computed += min(step, state.tail)
        state.tail = _subtract(state.tail, step, scale)
    if state.head > 0:
        state.head = _subtract(state.head, step, scale)
    elif state.left > 0:
        state.sent += min(speed * step, state.left)
        state.left = _subtract(state.left, speed * step, scale)
    if state.head <= 0 and state.tail <= 0 and state.left <= 0:
        state.ended += 1
        state.begin()


def _subtract(left: float, amount: float, scale: float) -> float:
    """Return `left` - `amount`, or 0 if the difference is at most `scale`."""
    return left - amount if left - amount > scale else 0.0


def job_profiles(jobs: Sequence[Job], schedule: Schedule, rates: Floats) -> list[JobProfile]:
    """Return each job's profile on the paths of a schedule; its start is delayed by its start shift."""
    profiles = []
    for job, choice, late in zip(jobs, schedule.choices, schedule.shifts.tolist(), strict=True):
        busy = link_loads(job, choice, len(rates)) / rates
        used = np.flatnonzero(busy)
        by_link = dict(zip(used.tolist(), busy[used].tolist(), strict=True))
        profiles.append(JobProfile(job.compute, by_link, job.overlap, late, job.port_seconds))
    return profiles


def utilisation(jobs: Sequence[Job], schedule: Schedule, rates: Floats, seconds: float) -> float:
    """Return the share of `seconds` spent computing, averaged over all accelerators."""
    ran = simulate(job_profiles(jobs, schedule, rates), schedule.levels.tolist(), seconds)
    gpus = np.array([job.gpus for job in jobs], float)
    return float(gpus @ ran.computed / (gpus.sum() * seconds))
