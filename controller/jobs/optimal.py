# SPDX-License-Identifier: Apache-2.0
"""Exhaustive search for the best schedule of few jobs, as a reference for the steps of Crux.

The paper (Crux, section 4.4) compares each step with the best choice in this step, while the other steps are
optimal. `best_paths`, `best_levels` and `best_schedule` find the best choices. The objective is ours:
utilisation, the share of a stated time for which accelerators compute in `timeline`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations, product
from math import prod

import numpy as np

from controller.errors import PlanError
from controller.jobs.job import Floats, Ints, Job, Schedule, iteration_seconds
from controller.jobs.timeline import utilisation

__all__ = [
    "MAX_SCHEDULES",
    "best_levels",
    "best_of",
    "best_paths",
    "best_schedule",
    "every_choice",
    "every_order",
    "horizon",
]

# Largest number of schedules to try.
MAX_SCHEDULES = 50_000

Objective = Callable[[Schedule], float]


def horizon(jobs: Sequence[Job], rates: Floats, iterations: int = 20) -> float:
    """Return the seconds that the longest job takes for a number of iterations without other jobs.

    The flows of the job send one after another, at the highest link rate. PlanError without jobs.
    """
    if not jobs:
        raise PlanError("there is no job to schedule", remedy="give one or more jobs")
    return iterations * max(
        iteration_seconds(job.compute, float((job.amounts / rates.max()).sum()), job.overlap) for job in jobs
    )


def every_choice(jobs: Sequence[Job]) -> Iterator[tuple[Ints, ...]]:
    """Yield every combination of candidate paths: for each job, the index of each flow's path."""
    flows = [np.flatnonzero(usable) for job in jobs for usable in job.candidates]
    ends = np.cumsum([len(job.amounts) for job in jobs])[:-1]
    for taken in product(*(flow.tolist() for flow in flows)):
        yield tuple(np.split(np.array(taken, np.int64), ends))


def every_order(number: int) -> Iterator[Ints]:
    """Yield the levels of jobs for every order of `number` jobs; each job has its own level."""
    for order in permutations(range(number)):
        levels = np.empty(number, np.int64)
        levels[list(order)] = np.arange(number)
        yield levels


def best_of(schedules: Iterable[Schedule], objective: Objective) -> tuple[Schedule, float]:
    """Return the first schedule of highest value, and its value; PlanError without schedules."""
    best: Schedule | None = None
    most = -np.inf
    for schedule in schedules:
        value = objective(schedule)
        if value > most:
            best, most = schedule, value
    if best is None:
        raise PlanError("there is no schedule to choose from", remedy="give one or more schedules")
    return best, float(most)


def best_paths(jobs: Sequence[Job], levels: Ints, objective: Objective) -> tuple[Schedule, float]:
    """Return the best schedule over all paths for given levels, and its value.

    Raises:
        PlanError: There are more than MAX_SCHEDULES combinations of paths.
    """
    _check(prod(int(usable.sum()) for job in jobs for usable in job.candidates))
    return best_of((Schedule.of(choice, levels) for choice in every_choice(jobs)), objective)


def best_levels(
    choices: Sequence[Ints], every: Iterable[Ints], objective: Objective
) -> tuple[Schedule, float]:
    """Return the best schedule for given paths, and its value; `every` yields the levels to try."""
    return best_of((Schedule.of(choices, levels) for levels in every), objective)


def best_schedule(jobs: Sequence[Job], rates: Floats, levels: int = 8, seed: int = 0) -> Schedule:
    """Return the schedule of highest utilisation over all paths and levels.

    Raises:
        PlanError: There is no job, or there are more than MAX_SCHEDULES schedules.
    """
    paths = prod(int(usable.sum()) for job in jobs for usable in job.candidates)
    few = min(levels, len(jobs))
    seconds = horizon(jobs, rates)
    _check(paths * few ** len(jobs))
    return best_of(
        (
            Schedule.of(choice, np.array(taken, np.int64))
            for choice in every_choice(jobs)
            for taken in product(range(few), repeat=len(jobs))
        ),
        lambda schedule: utilisation(jobs, schedule, rates, seconds),
    )[0]


def _check(number: int) -> None:
    if number > MAX_SCHEDULES:
        raise PlanError(
            f"there are {number:,} schedules to try; expected at most {MAX_SCHEDULES:,}",
            remedy="use fewer jobs, paths or levels",
        )
