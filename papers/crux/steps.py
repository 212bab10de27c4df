# SPDX-License-Identifier: Apache-2.0
"""Each step of Crux against the optimum by exhaustive search, on small cases.

Published (Crux, section 4.4): 1,500 cases of five jobs and three levels, on two layers with 2 to 4 ToRs and
two aggregation switches. One step is by Crux, the other steps are optimal. Crux reaches 97.69 % of the best
paths, 97.24 % of the best priorities and 97.12 % of the best compression.

Ours: the computation and the amount sent by each job are drawn at random; all flows of a job go from one ToR
to another on one path; the measure is the share of time that accelerators compute.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from controller.jobs import (
    Job,
    Schedule,
    best_cut,
    compress,
    contention,
    cut_weight,
    has_inversion,
    intensity,
    least_congested,
    priorities,
    ranking,
    utilisation,
)
from controller.jobs.optimal import every_choice, every_order
from controller.jobs.schedulers import levels_by_rank, link_usage
from papers.claims import Measured, Progress, Values, over_seeds
from papers.flow_level.rates import Floats

__all__ = ["AGGREGATION", "drawn", "reached", "measure_compression", "measure_paths", "measure_steps"]

AGGREGATION = 2


def drawn(rng: np.random.Generator, number: int = 5) -> tuple[list[Job], Floats]:
    """Draw jobs, each between two of 2 to 4 ToRs, and return them and the rates of links.

    Each ToR has one link up to, and one link down from, each aggregation switch.
    """
    tors = int(rng.integers(2, 5))
    jobs = []
    for index in range(number):
        source, target = rng.choice(tors, 2, replace=False)
        paths = [
            [int(source) * AGGREGATION + switch, (tors + int(target)) * AGGREGATION + switch]
            for switch in range(AGGREGATION)
        ]
        sends = np.array([rng.uniform(0.2, 1.0)])
        gpus = int(2 ** rng.integers(3, 7))
        jobs.append(Job(f"job{index}", gpus, rng.uniform(0.3, 2.0), sends, np.array([paths])))
    return jobs, np.ones(2 * tors * AGGREGATION)


def reached(jobs: Sequence[Job], rates: Floats, levels: int, seconds: float = 15.0) -> dict[str, float]:
    """Return the shares of the optimum; try all paths and orders, and all compressions of the best order.

    Args:
        jobs: jobs with two paths each.
        rates: rates of the links.
        levels: number of levels to which priorities are compressed.
        seconds: simulated time.

    Returns:
        Utilisation if Crux decides one step and all other steps are optimal, as a share of the optimum:
        `paths`, Crux chooses the paths; `priorities`, Crux chooses the priorities; `compression`, Crux
        compresses the priorities to levels; `first`, for comparison with `compression`, the first jobs get a
        level each, and all other jobs the last level.
    """
    number = len(jobs)

    def worth(schedule: Schedule) -> float:
        return utilisation(jobs, schedule, rates, seconds)

    # Aggregation switches are interchangeable, so the first job keeps its first path.
    choices = [choice for choice in every_choice(jobs) if not choice[0].any()]
    orders = list(every_order(number))
    table = np.array([[worth(Schedule.of(choice, rank)) for rank in orders] for choice in choices])
    best = float(table.max())
    at, order = np.unravel_index(np.argmax(table), table.shape)

    alone = np.array([job.iteration_work / job.amounts[0] for job in jobs])
    own = least_congested(jobs, ranking(alone).tolist(), rates)
    paths = max(worth(Schedule.of(own, rank)) for rank in orders) / best

    value, intensities = priorities(jobs, choices[at], rates)
    ranked = levels_by_rank(ranking(value), number)
    by_priority = worth(Schedule.of(choices[at], ranked)) / best

    placed = np.argsort(orders[order])
    graph = contention(link_usage(jobs, choices[at], len(rates)), placed, intensities)
    valid = [
        np.array(taken, np.int64)
        for taken in np.ndindex(*(levels,) * number)
        if not ((graph > 0) & (np.array(taken)[:, None] > np.array(taken))).any()
    ]
    most = max(worth(Schedule.of(choices[at], taken)) for taken in valid)
    packed = worth(Schedule.of(choices[at], compress(graph, levels))) / most
    first = worth(Schedule.of(choices[at], levels_by_rank(placed, levels))) / most
    return {"paths": paths, "priorities": by_priority, "compression": packed, "first": first}


def measure_paths(note: Progress, draws: int = 200, turned: bool = False) -> Values:
    """Count draws in which two of the most intensive jobs share a link.

    A draw has twice as many jobs as disjoint paths; the more intensive half of the jobs counts. A job takes
    the path least loaded by earlier jobs. `turned` gives the least intensive jobs the first choice.
    """
    rng = np.random.default_rng(1)
    met = 0
    for draw in range(draws):
        note("paths", draw / draws)
        ways = int(rng.integers(2, 9))
        paths = np.array([[[spine, ways + spine] for spine in range(ways)]])
        jobs = [
            Job(f"job{n}", int(2 ** rng.integers(3, 9)), rng.uniform(0.2, 2), rng.uniform(0.1, 1, 1), paths)
            for n in range(2 * ways)
        ]
        rates = np.ones(2 * ways)
        value = np.array([intensity(job, np.zeros(1, np.int64), rates) for job in jobs])
        order = ranking(value).tolist()
        choices = least_congested(jobs, order[::-1] if turned else order, rates)
        met += len({int(choices[number][0]) for number in order[:ways]}) < ways
    return {"met": float(met)}


def measure_compression(
    note: Progress, draws: int = 200, turned: bool = False, crude: bool = False
) -> Values:
    """Compress priorities on random contention graphs; measure the cut weight in percent of the best cut.

    Args:
        draws: number of graphs.
        turned: reverse the levels.
        crude: separate only the job of highest priority from the rest.
    """
    rng = np.random.default_rng(1)
    shares, inverted = [], 0
    for draw in range(draws):
        note("graphs", draw / draws)
        number, levels = int(rng.integers(3, 9)), int(rng.integers(2, 5))
        uses = rng.random((number, 6)) < rng.uniform(0.2, 0.5)
        order = rng.permutation(number)
        weights = contention(uses, order, rng.uniform(0.1, 10, number))
        result = compress(weights, levels)
        if turned:
            result = result.max() - result
        if crude:
            result = (np.arange(number) != order[0]).astype(np.int64)
        inverted += has_inversion(weights, result)
        most = cut_weight(weights, best_cut(weights, levels))
        shares.append(cut_weight(weights, result) / most if most else 1.0)
    mean = f"mean {100 * float(np.mean(shares)):.2f} %"
    return {"inverted": float(inverted), "least-cut": Measured(100 * min(shares), detail=mean)}


def measure_steps(note: Progress, jobs: int = 4, levels: int = 2, cases: int = 20) -> Values:
    """Measure the work with one step by Crux and the other steps optimal, as a share of the optimum."""
    rng = np.random.default_rng(1)
    result = []
    for case in range(cases):
        note(f"case {case + 1} of {cases}", case / cases)
        some, rates = drawn(rng, jobs)
        result.append(reached(some, rates, levels))
    values: dict[str, Measured | float] = {}
    for name in result[0]:
        shares = [100 * item[name] for item in result]
        words = f"mean {np.mean(shares):.2f} %, least {min(shares):.2f} %"
        values[name] = over_seeds(shares, words) if cases >= 10 else Measured(float(np.median(shares)))
    return values
