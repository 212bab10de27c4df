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
from dataclasses import dataclass
from typing import final

import numpy as np

from controller.jobs import (
    Job,
    Schedule,
    compress,
    contention,
    least_congested,
    priorities,
    ranking,
    utilisation,
)
from controller.jobs.optimal import every_choice, every_order
from controller.jobs.schedulers import levels_by_rank, link_usage
from papers.flow_level.rates import Floats

__all__ = ["AGGREGATION", "Reached", "drawn", "reached"]

AGGREGATION = 2


@final
@dataclass(frozen=True, slots=True)
class Reached:
    """Utilisation if Crux decides one step and all other steps are optimal, as a share of the optimum.

    Attributes:
        paths: Crux chooses the paths.
        priorities: Crux chooses the priorities.
        compression: Crux compresses the priorities to levels.
        first: The first jobs get a level each, and all other jobs the last level; for comparison with
            `compression`.
    """

    paths: float
    priorities: float
    compression: float
    first: float


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


def reached(jobs: Sequence[Job], rates: Floats, levels: int, seconds: float = 15.0) -> Reached:
    """Return the shares of the optimum; try all paths and orders, and all compressions of the best order.

    Args:
        jobs: jobs with two paths each.
        rates: rates of the links.
        levels: number of levels to which priorities are compressed.
        seconds: simulated time.
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
    return Reached(paths, by_priority, packed, first)
