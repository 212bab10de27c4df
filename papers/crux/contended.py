# SPDX-License-Identifier: Apache-2.0
"""Jobs on links that no path avoids: what an order of jobs by intensity is worth, with paths out of the game.

Two settings. `link`: all jobs share one link, as in the paper's theorem 1. `uplinks`: jobs between two ToRs
over two aggregation switches, with more jobs than paths, so that the least congested paths still meet. What
jobs compute and send is drawn; work is the accelerators' computation done by a fixed time, in shares of all
that accelerators could compute.

Any strict order does more work than an even share here, since jobs that begin together and share evenly
collide in every iteration. What intensity is worth shows against other orders on the same paths:
`random order` draws the levels, `turned` serves the least intensive job first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from controller.jobs import SCHEDULERS, Job, Schedule
from controller.jobs.timeline import utilisation
from papers.flow_level.rates import Floats

__all__ = ["SECONDS", "drawn", "works"]

Setting = Literal["link", "uplinks"]

SECONDS = 120.0
_LEVELS = 8


def drawn(setting: Setting, seed: int, alike: bool = False) -> tuple[list[Job], Floats]:
    """Return jobs with their candidate paths, and the rates of links.

    Args:
        setting: one link, or two paths for six jobs.
        seed: of the draw.
        alike: give all jobs the same accelerators, computation and amount, so that no order matters.
    """
    rng = np.random.default_rng(seed)
    number, paths = (4, [[0]]) if setting == "link" else (6, [[0, 2], [1, 3]])
    jobs = []
    for place in range(number):
        gpus, compute, sends = int(2 ** rng.integers(3, 10)), rng.uniform(0.3, 2.0), rng.uniform(0.2, 1.0)
        if alike:
            gpus, compute, sends = 64, 1.0, 0.6
        jobs.append(Job(f"job{place}", gpus, compute, np.array([sends]), np.array([paths])))
    return jobs, np.ones(1 if setting == "link" else 4)


def works(
    setting: Setting, seeds: Sequence[int], schedulers: Sequence[str], alike: bool = False
) -> Mapping[str, list[float]]:
    """Return, by scheduler, the share of accelerators' time spent computing, one for each seed."""
    result: dict[str, list[float]] = {name: [] for name in schedulers}
    for seed in seeds:
        jobs, rates = drawn(setting, seed, alike)
        ordered = SCHEDULERS["crux-ps-pa"](jobs, rates, _LEVELS, seed)
        orders = {
            "crux": ordered.levels,
            "random order": np.random.default_rng(seed).permutation(len(jobs)),
            "turned": ordered.levels.max() - ordered.levels,
        }
        for name, own in result.items():
            if name in orders:
                schedule = Schedule.of(ordered.choices, orders[name])
            else:
                schedule = SCHEDULERS[name](jobs, rates, _LEVELS, seed)
            own.append(utilisation(jobs, schedule, rates, SECONDS))
    return result
