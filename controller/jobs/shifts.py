# SPDX-License-Identifier: Apache-2.0
"""Start shifts on a common circle of time, so that jobs that share links send in turns (CASSINI).

CASSINI (NSDI 2024, recalled) puts the jobs that share a link on a circle of time. The perimeter of the circle
is the least common multiple of the jobs' iteration times. CASSINI rotates the jobs on the circle so that
their demand exceeds the capacity of the link as little as possible. A graph of jobs and links, without loops,
combines the rotations of all links.

This module differs in three points:

    circle    Measured iterations have no common multiple. A circle is 1 to CIRCLES times the longest
              iteration. A job fits the circle if a whole number of its iterations fills the circle within
              TOLERANCE; CASSINI's agents correct the remaining drift.
    group     Jobs that share links, directly or through other jobs, form a group with one circle.
    rotation  Jobs choose one after another, in falling order of the share of time for which they send. A job
              takes the one of STEPS rotations with the least excess of demand over the capacity of its links.
              CASSINI solves all rotations of a link together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from controller.jobs.job import Floats, Ints, Job, bottleneck_seconds, iteration_seconds, link_loads

__all__ = ["CIRCLES", "STEPS", "TOLERANCE", "circle_turns", "interleaving_shifts", "largest_excess"]

# Rotations to try for each job.
STEPS = 24
# Largest relative difference between a circle and a whole number of a job's iterations.
TOLERANCE = 0.02
# Most iterations of a group's longest job in a circle.
CIRCLES = 6
# Sampled moments of a circle for each iteration of the circle's longest job.
_MOMENTS = 48


def interleaving_shifts(
    jobs: Sequence[Job], choices: Sequence[Ints], rates: Floats
) -> tuple[Ints, Ints, Floats]:
    """Return each job's group, its number of iterations in the circle, and its start shift in seconds.

    A group is numbered by its longest job. A job without a group has group -1, 1 iteration and shift 0.
    """
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
    # The longest job comes first: the circle of its group is a whole number of its iterations.
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
    """Return how many whole iterations of `length` seconds fill a circle within TOLERANCE, or 0."""
    turns = round(circle / length)
    return turns if turns and abs(circle / length / turns - 1) <= TOLERANCE else 0


def _rounds(first: int, length: Floats, others: Ints) -> int:
    """Return how many iterations of job `first`, 1 to CIRCLES, make the circle of its group.

    The result is the smallest number for which the largest number of the jobs `others` fit the circle.
    """
    own, theirs = float(length[first]), length[others].tolist()
    fitting = [
        sum(circle_turns(rounds * own, other) > 0 for other in theirs) for rounds in range(1, CIRCLES + 1)
    ]
    return 1 + int(np.argmax(fitting))


def _members(first: int, length: Floats, circle: float, sharing: np.ndarray) -> list[int]:
    """Return the group of job `first`: jobs connected to it by shared links, if they fit the circle.

    A connection may lead through other members.
    """
    members, open_ = [first], [first]
    while open_:
        for other in np.flatnonzero(sharing[open_.pop()]).tolist():
            if other not in members and circle_turns(circle, length[other]):
                members.append(other)
                open_.append(other)
    return members


def _active(job: Job, length: float, sending: float, late: float, moments: Floats) -> Floats:
    """Return 1 for each moment at which a job with start shift `late` sends, else 0; times in seconds."""
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
    """Choose a rotation for each member of a group, and store its seconds in `shifts`.

    The excess of demand over capacity is measured at `number` moments of the circle.
    """
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
    """Return the excess of demand over capacity on the worst link, as a share of the link's capacity.

    The excess of a link is averaged over `circle` seconds, the period in which all jobs' sending repeats.
    """
    moments = (np.arange(960) + 0.5) / 960 * circle
    demand = np.zeros((len(rates), len(moments)))
    for job, choice, late in zip(jobs, choices, shifts.tolist(), strict=True):
        busy = link_loads(job, choice, len(rates)) / rates
        sending = bottleneck_seconds(job, choice, rates)
        length = iteration_seconds(job.compute, sending, job.overlap)
        demand += busy[:, None] / sending * _active(job, length, sending, late, moments)
    return float(np.maximum(demand - 1.0, 0.0).mean(axis=1).max(initial=0.0))
