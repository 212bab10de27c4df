# SPDX-License-Identifier: Apache-2.0
"""Start shifts in a common circle of time, so that jobs that share links send in turns (CASSINI's idea).

Ours: jobs that share a link and whose iterations alone are 1, 2 or 4 times as long as one another's, give or
take TOLERANCE, form groups; a group's circle is its longest iteration, which a shorter job goes round several
times. Jobs are taken from the one that sends for the largest share of time to the least, each at that of
STEPS shifts at which it meets least of what is placed on its links. CASSINI takes the least common multiple
of all iterations and solves for all shifts of a link together; it agrees with this where iterations are
equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from controller.jobs.job import Floats, Ints, Job, bottleneck_seconds, iteration_seconds, link_loads

__all__ = ["STEPS", "TOLERANCE", "TURNS", "interleaving_shifts"]

STEPS = 16
TOLERANCE = 0.02
TURNS = (1, 2, 4)


def interleaving_shifts(
    jobs: Sequence[Job], choices: Sequence[Ints], rates: Floats
) -> tuple[Ints, Ints, Floats]:
    """Return group, turns and shift of each job; -1, 1 and 0 for a job that fits no group."""
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
    # Longest first, so that the first of a group gives the circle.
    for first in np.argsort(-length, kind="stable").tolist():
        if groups[first] >= 0 or not sending[first]:
            continue
        members = _members(first, length, groups, sharing & (sending[:, None] > 0))
        if len(members) < 2:
            continue
        for member in members:
            groups[member], turns[member] = first, _turns(float(length[first]), float(length[member]))
        _place(members, jobs, busy, sending, float(length[first]), turns, shifts)
    return groups, turns, shifts


def _turns(circle: float, length: float) -> int:
    """Return how often a job goes round the circle, or 0 if that is none of TURNS."""
    ratio = circle / length
    return next((turns for turns in TURNS if abs(ratio / turns - 1) <= TOLERANCE), 0)


def _members(first: int, length: Floats, groups: Ints, sharing: np.ndarray) -> list[int]:
    """Return the ungrouped jobs that fit the circle of a job and are reached from it over shared links."""
    members, open_ = [first], [first]
    while open_:
        for other in np.flatnonzero(sharing[open_.pop()]).tolist():
            if other not in members and groups[other] < 0 and _turns(length[first], length[other]):
                members.append(other)
                open_.append(other)
    return members


def _place(
    members: list[int],
    jobs: Sequence[Job],
    busy: Floats,
    sending: Floats,
    circle: float,
    turns: Ints,
    shifts: Floats,
) -> None:
    moments = (np.arange(4 * STEPS) + 0.5) / (4 * STEPS) * circle
    placed = np.zeros((busy.shape[1], len(moments)))
    for member in sorted(members, key=lambda n: (-sending[n] * turns[n], n)):
        job, length = jobs[member], circle / turns[member]
        links = np.flatnonzero(busy[member])
        use = busy[member, links] / sending[member]
        best, least, chosen = 0.0, np.inf, np.zeros(len(moments))
        for step in range(STEPS):
            late = step / STEPS * length
            at = (moments - late) % length
            # It sends from when it may to when it is done, or over into the next iteration.
            active = ((at - (1 - job.overlap) * job.compute) % length < sending[member]).astype(float)
            met = float((use @ np.minimum(placed[links], 1.0)) @ active)
            if met < least - 1e-9:
                best, least, chosen = late, met, active
        shifts[member] = best
        placed[links] += use[:, None] * chosen
