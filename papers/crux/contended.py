# SPDX-License-Identifier: Apache-2.0
"""Jobs on unavoidable links: gain of an order of jobs by intensity when paths make no difference.

Two settings:

    link     all jobs share one link, as in the paper's theorem 1
    uplinks  jobs between two ToRs over two aggregation switches; there are more jobs than paths, so even the
             least congested paths share links

The computation and the amount sent by each job are drawn at random. Work is the computation done by a fixed
time, as a share of what all accelerators can compute in that time.

Any strict order does more work in these settings than an even share: jobs that begin together and share
evenly collide in every iteration. The gain of intensity is therefore measured against other orders on the
same paths: `random order` draws the levels at random; `turned` serves the least intensive job first.
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
        setting: `link`, four jobs on one link; or `uplinks`, six jobs on two paths.
        seed: seed of the random draw.
        alike: give all jobs the same accelerators, computation and amount, so that no order matters.
    """
    rng = np.random.default_rng(seed)
    number, paths = (4, [[0]]) if setting == "link" else (6, [[0, 2], [1, 3]])
    jobs = []
    for index in range(number):
        gpus, compute, sends = int(2 ** rng.integers(3, 10)), rng.uniform(0.3, 2.0), rng.uniform(0.2, 1.0)
        if alike:
            gpus, compute, sends = 64, 1.0, 0.6
        jobs.append(Job(f"job{index}", gpus, compute, np.array([sends]), np.array([paths])))
    return jobs, np.ones(1 if setting == "link" else 4)


def works(
    setting: Setting, seeds: Sequence[int], schedulers: Sequence[str], alike: bool = False
) -> Mapping[str, list[float]]:
    """Return, by scheduler, the share of accelerators' time spent computing for each seed."""
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
