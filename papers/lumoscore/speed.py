# SPDX-License-Identifier: Apache-2.0
"""Planning time of a change of demand, in clusters of 2k to 32k NPUs.

A cluster has 16 to 256 Pods. A Pod has 8 leaves with 16 NPUs each, and 8 spines; a leaf has 2 links to each
spine, and a spine has 16 ports to 16 optical switches. Groups of optical switches are planned one after the
other. Times are processor time of the whole process.

The authors' times are from the plot script of their released code (cal_overhead.py). They give the number of
NPUs only; the 128 NPUs of a Pod are from comments in their code.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from statistics import median
from typing import final

from controller import PlanError
from controller.circuits import CircuitPlan, Method, allocate
from controller.circuits.flow import Ints
from papers.lumoscore.load import Trace, least, refilled, states

__all__ = [
    "AUTHORS",
    "AUTHORS_EXACT",
    "EXACT_LIMIT_S",
    "PODS",
    "Change",
    "Cluster",
    "Timed",
    "clusters",
    "growth",
    "measure",
]

NPUS_A_POD = 128
PODS = (16, 32, 64, 128, 256)

# The authors' planning time in seconds, by number of Pods; LumosCore, and the exact program.
AUTHORS: Mapping[int, float] = dict(zip(PODS, (0.042, 0.581, 2.773, 15.213, 45.8), strict=True))
AUTHORS_EXACT: Mapping[int, float] = dict(zip(PODS, (2.842, 28.581, 147.773, 684.213, 3298.0), strict=True))
TARGET = 0.1  # target planning time, as a share of AUTHORS

# Time limit of the exact method, an integer program, for one change, in seconds.
EXACT_LIMIT_S = 120.0

SPINES, PORTS = 8, 16
SEEDS, CHANGES = 3, 7


@final
class Change(StrEnum):
    """Kinds of changes of demand. In `full`, jobs use all ports; in all other kinds, nine tenths of them."""

    job = "one job goes, another comes"
    first = "all circuits, from nothing"
    replaced = "an unrelated demand"
    full = "one job goes, another comes, no port spare"


@final
@dataclass(frozen=True, slots=True)
class Timed:
    """Measurements of the planning of all changes of one kind.

    Attributes:
        seconds: processor time of each change.
        created: circuits created in all changes.
        least: lower bound of that number.
    """

    seconds: tuple[float, ...]
    created: int
    least: int

    @property
    def median(self) -> float:
        return median(self.seconds)


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """Planning times on a cluster of one size.

    Attributes:
        changes: changes by kind.
        exact: seconds of the method exact for the change of one job; None: not run, or above EXACT_LIMIT_S.
    """

    pods: int
    changes: Mapping[Change, Timed]
    exact: float | None

    @property
    def npus(self) -> int:
        return self.pods * NPUS_A_POD

    @property
    def target(self) -> float:
        return TARGET * AUTHORS[self.pods]


def clusters(note: Callable[[int, float], None] = lambda pods, share: None) -> Sequence[Cluster]:
    """Return measurements of clusters, smallest first.

    The method exact, an integer program, is left out after the first cluster at which it exceeds its limit.
    """
    result: list[Cluster] = []
    for index, pods in enumerate(PODS):
        note(pods, index / len(PODS))
        result.append(measure(pods, exact=not result or result[-1].exact is not None))
    return result


@cache
def measure(pods: int, seeds: int = SEEDS, changes: int = CHANGES, *, exact: bool) -> Cluster:
    """Measure a cluster; the result is cached.

    Args:
        seeds: number of seeds; each gives one change of every kind but Change.job.
        changes: number of changes of one job for each seed.
        exact: measure the method exact, an integer program, too.
    """
    allocate(Trace(4, 8, 0).demand, 2, 4)  # loads the solver
    shape = pods, SPINES, PORTS

    def first(seed: int) -> Ints:
        return Trace(pods, SPINES * PORTS, seed).demand

    cases: dict[Change, Iterable[tuple[Ints, CircuitPlan | None]]] = {
        Change.job: (case for seed in range(seeds) for case in states(*shape, seed, changes)),
        Change.first: ((first(seed), None) for seed in range(seeds)),
        Change.replaced: (
            (first(seeds + seed), allocate(first(seed), SPINES, PORTS)) for seed in range(seeds)
        ),
        Change.full: (refilled(*shape, seed) for seed in range(seeds)),
    }
    timed = {change: _timed(some) for change, some in cases.items()}
    seconds = None
    if exact:
        *_, (demand, plan) = states(*shape, 0, changes)
        with suppress(PlanError):
            seconds, _ = _planned(demand, plan, "exact")
    return Cluster(pods, timed, seconds)


def _timed(cases: Iterable[tuple[Ints, CircuitPlan | None]]) -> Timed:
    seconds: list[float] = []
    created = needed = 0
    for demand, plan in cases:
        spent, new = _planned(demand, plan)
        seconds.append(spent)
        created += new.moves.added
        needed += least(demand, plan) if plan is not None else int(demand.sum()) // 2
    return Timed(tuple(seconds), created, needed)


def _planned(demand: Ints, plan: CircuitPlan | None, method: Method = "flow") -> tuple[float, CircuitPlan]:
    """Return the seconds of processor time that a plan takes, and the plan."""
    began = time.process_time()
    result = allocate(demand, SPINES, PORTS, plan, method, seconds=EXACT_LIMIT_S)
    return time.process_time() - began, result


def growth(seconds: Sequence[float]) -> float:
    """Return the geometric mean growth of times from one cluster size to the next."""
    return (seconds[-1] / seconds[0]) ** (1 / (len(seconds) - 1))
