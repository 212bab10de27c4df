# SPDX-License-Identifier: Apache-2.0
"""Few jobs side by side on 96 accelerators, iteration by iteration: the paper's testbed at flow level.

Published (Crux, sections 2.2, 6.1 and 6.2): 12 hosts of eight GPUs and four 200G ports, two to a port; two
layers, six hosts below each of two ToRs; which models run, on how many GPUs. Ours: 24 links of 200G up from
each ToR, as much as down from it; the places of jobs, each half below one ToR and half below the other; what
a model computes and sends, workloads.py. As in the paper Crux stands beside a network left to itself: `none`.

How wide the links up are decides how much there is to gain, and was chosen knowing that, so gains are fitted:
with half as many links it is 19 to 37 %, with half as many twice as wide 1 to 3 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import final

import numpy as np

from controller.jobs import SCHEDULERS, Job, Scheduler, simulate
from controller.jobs.timeline import job_profiles
from papers.crux.workloads import KINDS, training
from papers.flow_level.networks.pinned import Pinned
from papers.flow_level.rates import Floats
from papers.flow_level.workload.jobs import SERVER, Pairs, Phase
from papers.flow_level.workload.jobs import Job as Placed
from papers.flow_level.workload.placement import Cluster

__all__ = ["CASES", "Side", "beside", "case", "compared"]

_CLUSTER = Cluster(1, 2, 48)

# Case -> kind, and accelerators of the first to the last host that it has: host, first of them, how many.
_Place = Sequence[tuple[int, int, int]]
_GPT32: _Place = [(host, 0, 8) for host in (0, 1, 6, 7)]
_HALVES = [(2, 8, 0), (2, 8, 4), (3, 9, 0), (3, 9, 4), (4, 10, 0), (4, 10, 4)]


def _berts(number: int) -> list[tuple[str, _Place]]:
    return [("bert", [(left, first, 4), (right, first, 4)]) for left, right, first in _HALVES[:number]]


CASES: Mapping[str, Sequence[tuple[str, _Place]]] = {
    "GPT on 32, 2 BERTs on 8": [("gpt", _GPT32), *_berts(2)],
    "GPT on 32, 4 BERTs on 8": [("gpt", _GPT32), *_berts(4)],
    "GPT on 32, 6 BERTs on 8": [("gpt", _GPT32), *_berts(6)],
    "GPT on 48, 2 BERTs on 16, 2 ResNets on 8": [
        ("gpt", [(host, 0, 8) for host in (0, 1, 2, 6, 7, 8)]),
        *(("bert", [(host, first, 4) for host in (3, 4, 9, 10)]) for first in (0, 4)),
        *(("resnet", [(host, first, 4) for host in (5, 11)]) for first in (0, 4)),
    ],
}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A scheduler over draws: work by a fixed time, and seconds an iteration by job.

    Attributes:
        works: share of accelerators' time spent computing until the same moment, one for each draw.
        iterations: mean over draws.
    """

    works: tuple[float, ...]
    iterations: Floats

    @property
    def utilisation(self) -> float:
        """Mean of `works`."""
        return mean(self.works)


def _rings(hosts: int, gpus: int) -> Pairs:
    """Through the hosts, half of their accelerators one way and half the other."""
    item = np.arange(hosts)
    other = np.roll(item, -1)
    local, half = np.arange(gpus), gpus // 2
    there = np.stack([item[:, None] * gpus + local[:half], other[:, None] * gpus + local[:half]], axis=2)
    back = np.stack([other[:, None] * gpus + local[half:], item[:, None] * gpus + local[half:]], axis=2)
    return np.concatenate([there.reshape(-1, 2), back.reshape(-1, 2)])


def case(name: str, wider: int = 1) -> tuple[list[Job], Floats]:
    """Jobs with their candidate paths, and capacities in ports of an accelerator.

    `wider`: so many times as wide are the links up.
    """
    fabric = Pinned(_CLUSTER, spines=24, uplink=2.0 * wider)
    jobs = []
    for number, (kind, where) in enumerate(CASES[name]):
        npus = np.array([host * SERVER + first + n for host, first, gpus in where for n in range(gpus)])
        phase = Phase("gradients", KINDS[kind].share * KINDS[kind].seconds, _rings(len(where), where[0][2]))
        whole = training(kind, len(npus), KINDS[kind])
        fabric.admit(number, Placed(kind, len(npus), 0.0, 1, whole.compute, (phase,), whole.overlap), npus)
        flows = fabric.flows(number)
        jobs.append(
            Job(
                f"{kind}{number}",
                len(npus),
                whole.compute,
                flows.amounts,
                flows.paths,
                whole.overlap,
                port=1.0,
            )
        )
    return jobs, fabric.capacities


def beside(jobs: Sequence[Job], rates: Floats, scheduler: Scheduler, seconds: float, draws: int) -> Side:
    """Jobs under one scheduler, each draw with other hashes and other beginnings."""
    gpus = np.array([job.gpus for job in jobs], float)
    shares, lengths = [], []
    for draw in range(draws):
        schedule = scheduler(jobs, rates, 8, draw)
        late = np.random.default_rng(draw).random(len(jobs))
        result = job_profiles(jobs, schedule, rates)
        result = [
            replace(item, start_delay=float(part)) if group < 0 else item
            for item, part, group in zip(result, late, schedule.groups, strict=True)
        ]
        ran = simulate(result, schedule.levels.tolist(), seconds)
        shares.append(float(gpus @ ran.computed / (gpus.sum() * seconds)))
        lengths.append([job.compute * seconds / done for job, done in zip(jobs, ran.computed, strict=True)])
    return Side(tuple(shares), np.mean(lengths, axis=0))


def compared(
    name: str,
    schedulers: Sequence[str] = ("none", "crux"),
    seconds: float = 60.0,
    draws: int = 10,
    wider: int = 1,
) -> dict[str, Side]:
    """Simulate a case under each scheduler, and `alone`, as if no job met another."""
    jobs, rates = case(name, wider)
    result = {
        scheduler: beside(jobs, rates, SCHEDULERS[scheduler], seconds, draws) for scheduler in schedulers
    }
    sides = [beside([job], rates, SCHEDULERS["fair"], seconds, 1) for job in jobs]
    gpus = np.array([job.gpus for job in jobs], float)
    result["alone"] = Side(
        (float(gpus @ [side.utilisation for side in sides] / gpus.sum()),),
        np.array([side.iterations[0] for side in sides]),
    )
    return result
