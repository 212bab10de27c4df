# SPDX-License-Identifier: Apache-2.0
"""Start shifts on a common circle of time, so that jobs that share links send in turns (CASSINI).

CASSINI (NSDI 2024, recalled) rolls the time of jobs that share a link around a circle whose perimeter is the
least common multiple of their iterations. It rotates the jobs so that their demand exceeds the link's
capacity least, and combines the rotations of all links over a graph of jobs and links without loops.

This module differs in three points. Measured iterations have no common multiple, so a circle is up to CIRCLES
times the longest iteration, and a job fits it if a whole number of its iterations fills it within TOLERANCE;
CASSINI's agents correct such a drift. Jobs that share links, directly or through other jobs, form a group
with one circle. Jobs are placed in order of the share of time that they send, largest first, each at one of
STEPS rotations: the one with the least excess of demand over the capacity of its links. CASSINI solves all
rotations of a link together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from controller.jobs.job import Floats, Ints, Job, bottleneck_seconds, iteration_seconds, link_loads

__all__ = ["CIRCLES", "STEPS", "TOLERANCE", "circle_turns", "interleaving_shifts", "largest_excess"]

STEPS = 24
TOLERANCE = 0.02
CIRCLES = 6
# Sampled moments of a circle for each iteration of its longest job.
_MOMENTS = 48


def interleaving_shifts(
    jobs: Sequence[Job], choices: Sequence[Ints], rates: Floats
) -> tuple[Ints, Ints, Floats]:
    """Return each job's group, iterations a circle and shift in seconds; -1, 1 and 0 without a group."""
    number = len(jobs)
    busy = np.array(
        [link_loads(job, choice, len(rates)) / rates for job, choice in zip(jobs, choices, strict=True)]
    )
    busy = busy.reshape(number, len(rates))
    sending = np.array(
        [bottleneck_seconds(job, choice, rates) for job, choice in zip(jobs, choices, strict=True)]
    )
    length = np.array(
        [
            iteration_seconds(job.compute, own, job.overlap)
            for job, own in zip(jobs, sending.tolist(), strict=True)
        ]
    )
    groups, turns = np.full(number, -1), np.ones(number, np.int64)
    shifts = np.zeros(number)
    sharing = (busy > 0).astype(np.float32)
    sharing = (sharing @ sharing.T) > 0
    # Longest first: the first job of a group gives the circle.
    for first in np.argsort(-length, kind="stable").tolist():
        if groups[first] >= 0 or not sending[first]:
            continue
        free = sharing & (sending[:, None] > 0) & (groups < 0)
        rounds = _rounds(first, length, np.flatnonzero(free[first]))
        circle = rounds * float(length[first])
        members = _members(first, length, circle, free)
        if len(members) < 2:
            continue
        for member in members:
            groups[member], turns[member] = first, circle_turns(circle, float(length[member]))
        _place(members, jobs, busy, sending, circle, _MOMENTS * rounds, turns, shifts)
    return groups, turns, shifts


def circle_turns(circle: float, length: float) -> int:
    """Return the number of iterations that fill a circle; 0 if it is not whole within TOLERANCE."""
    turns = round(circle / length)
    return turns if turns and abs(circle / length / turns - 1) <= TOLERANCE else 0


def _rounds(first: int, length: Floats, others: Ints) -> int:
    """Return the fewest iterations of job `first` in a circle that fits the most of the jobs `others`."""
    own, theirs = float(length[first]), length[others].tolist()
    fitting = [
        sum(circle_turns(rounds * own, other) > 0 for other in theirs) for rounds in range(1, CIRCLES + 1)
    ]
    return 1 + int(np.argmax(fitting))


def _members(first: int, length: Floats, circle: float, sharing: np.ndarray) -> list[int]:
    """Return the jobs that fit a circle and that job `first` reaches over shared links."""
    members, open_ = [first], [first]
    while open_:
        for other in np.flatnonzero(sharing[open_.pop()]).tolist():
            if other not in members and circle_turns(circle, length[other]):
                members.append(other)
                open_.append(other)
    return members


def _active(job: Job, length: float, sending: float, late: float, moments: Floats) -> Floats:
    """Return 1 for each moment at which a job with delay `late` sends, else 0; all times in seconds."""
    return (((moments - late) % length - (1 - job.overlap) * job.compute) % length < sending).astype(float)


def _place(
    members: list[int],
    jobs: Sequence[Job],
    busy: Floats,
    sending: Floats,
    circle: float,
    number: int,
    turns: Ints,
    shifts: Floats,
) -> None:
    moments = (np.arange(number) + 0.5) / number * circle
    placed = np.zeros((busy.shape[1], len(moments)))
    for member in sorted(members, key=lambda n: (-sending[n] * turns[n], n)):
        job, length = jobs[member], circle / turns[member]
        links = np.flatnonzero(busy[member])
        use = busy[member, links] / sending[member]
        best, least, chosen = 0.0, np.inf, np.zeros(len(moments))
        for step in range(STEPS):
            late = step / STEPS * length
            active = _active(job, length, float(sending[member]), late, moments)
            demand = placed[links] + use[:, None] * active
            excess = float(np.maximum(demand - 1.0, 0.0).sum())
            if excess < least - 1e-9:
                best, least, chosen = late, excess, active
        shifts[member] = best
        placed[links] += use[:, None] * chosen


def largest_excess(
    jobs: Sequence[Job], choices: Sequence[Ints], rates: Floats, shifts: Floats, circle: float
) -> float:
    """Return the largest excess of a link's demand over its capacity: a mean over the circle, as a share."""
    moments = (np.arange(960) + 0.5) / 960 * circle
    demand = np.zeros((len(rates), len(moments)))
    for job, choice, late in zip(jobs, choices, shifts.tolist(), strict=True):
        busy = link_loads(job, choice, len(rates)) / rates
        sending = bottleneck_seconds(job, choice, rates)
        length = iteration_seconds(job.compute, sending, job.overlap)
        demand += busy[:, None] / sending * _active(job, length, sending, late, moments)
    return float(np.maximum(demand - 1.0, 0.0).mean(axis=1).max(initial=0.0))
