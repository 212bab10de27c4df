# SPDX-License-Identifier: Apache-2.0
"""Priority P_j = k_j I_j: intensity, corrected for the length of iterations and for overlapped sending.

Published (Crux, section 4.2): the reference job r is the job with the most network traffic, and k_r = 1. For
any other job j, both orders of j and r are tried on one link. If the link serves j first, j gains a seconds
of sending; if the link serves r first, r gains b seconds. Then k_j = a / b. In the paper's example, a is 3 s
and b is 2 s, so k_j is 1.5. Thus P_j > P_r exactly if serving j first gives the larger sum of intensity times
seconds of sending.

Ours: each order runs for HORIZON iterations of the longer job, and both jobs begin to compute at time 0. If
neither job gains, k is 1. As b may be almost 0, k is limited to LIMITS.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from controller.jobs.job import Floats, Ints, Job, bottleneck_seconds, link_loads
from controller.jobs.timeline import JobProfile, simulate

__all__ = ["HORIZON", "LIMITS", "correction", "corrections", "priority_gains", "ranking", "reference_job"]

# Iterations of the longer job for which each order runs.
HORIZON = 24
# Limits of k, Crux's correction of a job's intensity.
LIMITS = (0.01, 100.0)

# Number of the only link on which two jobs are simulated.
_LINK = 0
# A gain below this share of a job's sending in a run counts as 0: the run may end within an iteration.
_NEGLIGIBLE = 0.5 / HORIZON


def reference_job(jobs: Sequence[Job], choices: Sequence[Ints], rates: Floats) -> int:
    """Return the job with the most network traffic.

    The traffic of a job is the load of an iteration, summed over all links, divided by the seconds of an
    iteration without other jobs.
    """
    traffic = []
    for job, choice in zip(jobs, choices, strict=True):
        whole = JobProfile(
            job.compute, {_LINK: bottleneck_seconds(job, choice, rates)}, job.overlap
        ).iteration
        traffic.append(link_loads(job, choice, len(rates)).sum() / whole if whole else 0.0)
    return int(np.argmax(traffic))


def priority_gains(job: JobProfile, other: JobProfile, seconds: float) -> tuple[float, float]:
    """Return the seconds of sending that each job gains if links serve it first, in a run of `seconds`."""
    first = simulate((job, other), (0, 1), seconds).sent
    second = simulate((job, other), (1, 0), seconds).sent
    return float(first[0] - second[0]), float(second[1] - first[1])


def correction(job: JobProfile, other: JobProfile, horizon: int = HORIZON) -> float:
    """Return k_j, the correction of a job's intensity, given the reference job `other`.

    The correction is 1 if either job sends nothing.

    Each order runs for `horizon` iterations of the longer job.
    """
    own, others = (profile.sending for profile in (job, other))
    if not own or not others:
        return 1.0
    values = (job.compute, own, job.overlap, other.compute, others, other.overlap)
    # Three digits suffice for measured values, and similar pairs of jobs share an element of the cache.
    return _correction(*(float(f"{value:.3g}") for value in values), horizon)


@lru_cache(maxsize=65536)
def _correction(
    compute: float, sending: float, overlap: float, other: float, others: float, hidden: float, horizon: int
) -> float:
    """Return `correction` of a job, given the compute time, sending time and overlap of both jobs.

    The reference job has compute time `other`, sending time `others` and overlap `hidden`.
    """
    job = JobProfile(compute, {_LINK: sending}, overlap)
    reference = JobProfile(other, {_LINK: others}, hidden)
    seconds = horizon * max(job.iteration, reference.iteration)
    mine, its = priority_gains(job, reference, seconds)
    mine = mine if mine > _NEGLIGIBLE * sending * seconds / job.iteration else 0.0
    its = its if its > _NEGLIGIBLE * others * seconds / reference.iteration else 0.0
    if not mine and not its:
        return 1.0
    low, high = LIMITS
    return min(max(mine / its, low), high) if its else high


def corrections(jobs: Sequence[Job], choices: Sequence[Ints], rates: Floats) -> Floats:
    """Return k of every job, the correction of its intensity; k of the reference job is 1."""
    if not jobs:
        return np.zeros(0)
    chosen = reference_job(jobs, choices, rates)
    profiles = [
        JobProfile(job.compute, {_LINK: bottleneck_seconds(job, choice, rates)}, job.overlap)
        for job, choice in zip(jobs, choices, strict=True)
    ]
    return np.array(
        [1.0 if n == chosen else correction(profile, profiles[chosen]) for n, profile in enumerate(profiles)]
    )


def ranking(values: Floats) -> Ints:
    """Return the indices of jobs from the highest value to the lowest; equal values keep their order."""
    return np.argsort(-np.asarray(values), kind="stable").astype(np.int64)
