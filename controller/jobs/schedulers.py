# SPDX-License-Identifier: Apache-2.0
"""Schedulers, Crux and its baselines: functions that choose paths and levels of jobs.

Sources of the baselines:

    topology_aware    TACCL*, the adaptation by the authors of Crux (section 4.4, footnote 3): least congested
                      paths, and higher priority for longer paths
    shortest_first    Sincronia, which Crux only names: `bottleneck_order` is its algorithm BSSI, with the
                      traffic of an iteration as a coflow
    interleave        CASSINI, which Crux only names: circles of controller.jobs.shifts

papers.crux.baselines compares the last two with examples.

An installed package adds a scheduler by an entry point of the group `railyard.schedulers`; a scenario may
also name a function in a Python file as FILE.py:NAME.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from controller.errors import PlanError
from controller.jobs.compress import compress, contention
from controller.jobs.job import Floats, Ints, Job, Schedule, check_rates, intensity, link_loads
from controller.jobs.paths import hash_paths, largest_flow_seconds, least_congested, mean_hops
from controller.jobs.priority import corrections, ranking
from controller.jobs.shifts import interleaving_shifts
from topologies.plugins.entry_points import Registry
from topologies.plugins.python_file import guarded

__all__ = [
    "GROUP",
    "SCHEDULERS",
    "Scheduler",
    "bottleneck_order",
    "crux",
    "fair",
    "find",
    "hash_only",
    "interleave",
    "levels_by_rank",
    "link_usage",
    "names",
    "priorities",
    "shortest_first",
    "topology_aware",
]

GROUP = "railyard.schedulers"
"""Entry point group of schedulers in installed packages."""

# Function: jobs in order of arrival, rates of links, number of levels, seed -> schedule.
Scheduler = Callable[[Sequence[Job], Floats, int, int], Schedule]


def link_usage(jobs: Sequence[Job], choices: Sequence[Ints], links: int) -> NDArray[np.bool_]:
    """Return whether each job sends over each link, (jobs, links)."""
    usage = np.zeros((len(jobs), links), bool)
    for row, job, choice in zip(usage, jobs, choices, strict=True):
        row[:] = link_loads(job, choice, links) > 0
    return usage


def levels_by_rank(order: Ints, levels: int) -> Ints:
    """Return the level of each job: its position in `order`, or the last level if the levels do not suffice.

    Sincronia assigns levels in this way (Crux, figure 13).
    """
    assigned = np.empty(len(order), np.int64)
    assigned[order] = np.minimum(np.arange(len(order)), levels - 1)
    return assigned


def _hashes(jobs: Sequence[Job], seed: int) -> tuple[Ints, ...]:
    return tuple(hash_paths(job, seed) for job in jobs)


def hash_only(jobs: Sequence[Job], rates: Floats, levels: int = 8, seed: int = 0) -> Schedule:
    """Choose paths by hash, and one level for all jobs: a network without a scheduler."""
    return Schedule.of(_hashes(jobs, seed))


def fair(jobs: Sequence[Job], rates: Floats, levels: int = 8, seed: int = 0) -> Schedule:
    """Choose least congested paths in order of arrival, and one level for all jobs."""
    return Schedule.of(least_congested(jobs, range(len(jobs)), rates))


def shortest_first(jobs: Sequence[Job], rates: Floats, levels: int = 8, seed: int = 0) -> Schedule:
    """Choose paths by hash, and levels by `bottleneck_order`, like Sincronia."""
    choices = _hashes(jobs, seed)
    return Schedule.of(choices, levels_by_rank(bottleneck_order(jobs, choices, rates), levels))


def bottleneck_order(jobs: Sequence[Job], choices: Sequence[Ints], rates: Floats) -> Ints:
    """Return the order of jobs by Sincronia's algorithm BSSI; links serve the first job first.

    Each job is a coflow, the traffic of an iteration, and begins with weight 1. The order is built from its
    end:

    1. Find the link on which the remaining jobs send longest.
    2. Put the job with the largest ratio of sending time on this link to weight in front of the jobs that
       are already ordered.
    3. Reduce the weight of each remaining job in proportion to its sending time on this link; repeat.

    Remaining jobs that send nothing come first.
    """
    busy = np.array(
        [link_loads(job, choice, len(rates)) / rates for job, choice in zip(jobs, choices, strict=True)]
    )
    weight = np.ones(len(jobs))
    left = list(range(len(jobs)))
    last: list[int] = []
    while left:
        there = busy[left]
        sums = there.sum(axis=0)
        link = int(np.argmax(sums)) if sums.size else -1
        if link < 0 or not sums[link]:
            return np.array([*left, *last[::-1]], np.int64)
        sending = there[:, link] > 0
        ratio = np.where(sending, weight[left] / np.where(sending, there[:, link], 1.0), np.inf)
        number = int(np.argmin(ratio))
        weight[left] -= np.where(sending, ratio[number] * there[:, link], 0.0)
        last.append(left.pop(number))
    return np.array(last[::-1], np.int64)


def topology_aware(jobs: Sequence[Job], rates: Floats, levels: int = 8, seed: int = 0) -> Schedule:
    """Choose least congested paths in order of arrival, and serve jobs with longer paths first (TACCL*)."""
    choices = least_congested(jobs, range(len(jobs)), rates)
    hops = np.array([mean_hops(job, choice) for job, choice in zip(jobs, choices, strict=True)])
    kinds = np.unique(hops.round(6))[::-1]
    return Schedule.of(
        choices, np.minimum(np.searchsorted(-kinds, -hops.round(6)), levels - 1).astype(np.int64)
    )


def interleave(jobs: Sequence[Job], rates: Floats, levels: int = 8, seed: int = 0) -> Schedule:
    """Choose paths by hash, one level, and start shifts (CASSINI): jobs that share links send in turns."""
    choices = _hashes(jobs, seed)
    groups, turns, shifts = interleaving_shifts(jobs, choices, rates)
    return replace(Schedule.of(choices), groups=groups, turns=turns, shifts=shifts)


def crux(
    jobs: Sequence[Job],
    rates: Floats,
    levels: int = 8,
    seed: int = 0,
    *,
    paths: bool = True,
    compressed: bool = True,
) -> Schedule:
    """Choose paths and levels by Crux.

    Args:
        jobs: Jobs in order of arrival.
        rates: Rate of each link, (links,).
        levels: Number of priority levels.
        seed: Seed of the paths by hash and of the compression.
        paths: Whether Crux chooses the paths; else a hash chooses them.
        compressed: Whether jobs share `levels` levels; else each job has its own level.
    """
    check_rates(rates)
    if not jobs:
        return Schedule.of(())
    choices = _hashes(jobs, seed)
    if paths:
        # Intensity depends on paths; before they are chosen, assume that flows of a job share no links.
        alone = np.array(
            [
                job.iteration_work / largest_flow_seconds(job, rates) if len(job.amounts) else np.inf
                for job in jobs
            ]
        )
        choices = least_congested(jobs, ranking(alone).tolist(), rates)
    value, intensities = priorities(jobs, choices, rates)
    order = ranking(value)
    if not compressed:
        return Schedule.of(choices, levels_by_rank(order, len(jobs)))
    # A job that sends nothing has infinite intensity, but no edges: any finite weight will do.
    finite = np.where(np.isfinite(intensities), intensities, 0.0)
    graph = contention(link_usage(jobs, choices, len(rates)), order, finite)
    return Schedule.of(choices, compress(graph, levels, seed=seed))


def priorities(jobs: Sequence[Job], choices: Sequence[Ints], rates: Floats) -> tuple[Floats, Floats]:
    """Return the priority P_j and the intensity I_j of every job."""
    intensities = np.array([intensity(job, choice, rates) for job, choice in zip(jobs, choices, strict=True)])
    return corrections(jobs, choices, rates) * intensities, intensities


SCHEDULERS: Mapping[str, Scheduler] = {
    "none": hash_only,
    "fair": fair,
    "shortest-first": shortest_first,
    "topology-aware": topology_aware,
    "interleave": interleave,
    "crux-pa": lambda jobs, rates, levels=8, seed=0: crux(
        jobs, rates, levels, seed, paths=False, compressed=False
    ),
    "crux-ps-pa": lambda jobs, rates, levels=8, seed=0: crux(jobs, rates, levels, seed, compressed=False),
    "crux": crux,
}


def _checked(name: str, origin: str, chosen: object) -> Scheduler:
    """Return a scheduler that calls a user's function and checks the schedule that the function returns."""
    if not callable(chosen):
        raise PlanError(f"scheduler {name} is {chosen!r}, which is not a function", remedy="name a function")
    function = cast(Scheduler, chosen)

    def schedule(jobs: Sequence[Job], rates: Floats, levels: int, seed: int) -> Schedule:
        result = guarded(origin, lambda: function(jobs, rates, levels, seed))
        given = result.levels.tolist() if isinstance(result, Schedule) else []
        if len(given) != len(jobs) or not all(0 <= level < levels for level in given):
            raise PlanError(
                f"scheduler {name} returned levels {given} for {len(jobs)} jobs",
                remedy=f"return a Schedule with a level from 0 to {levels - 1} for each job",
            )
        return result

    return schedule


_REGISTRY: Registry[Scheduler] = Registry("scheduler", GROUP, SCHEDULERS, _checked, PlanError)


def names() -> tuple[str, ...]:
    """Return the names of all schedulers; schedulers of installed packages come last."""
    return _REGISTRY.names()


def find(name: str) -> Scheduler:
    """Return a scheduler by its name, or the function NAME of a file for FILE.py:NAME.

    Raises:
        PlanError: No scheduler has the name; the remedy lists close matches, or all names.
    """
    return _REGISTRY.find(name)
