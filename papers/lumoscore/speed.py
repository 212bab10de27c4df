# SPDX-License-Identifier: Apache-2.0
"""Planning time of a change of demand, in clusters of 2k to 32k NPUs.

A cluster has 16 to 256 Pods. A Pod has 8 leaves with 16 NPUs each, and 8 spines; a leaf has 2 links to each
spine, and a spine has 16 ports to 16 optical switches. Groups of optical switches are planned one after the
other. Times are processor time of the whole process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import final

from controller import PlanError
from controller.circuits import CircuitPlan, allocate
from controller.circuits.flow import Ints
from papers.lumoscore.load import Trace, least, refilled, states
from papers.lumoscore.published import AUTHORS, NPUS_A_POD, PODS, TARGET, Change

__all__ = [
    "EXACT_LIMIT_S",
    "Cluster",
    "Timed",
    "clusters",
    "growth",
    "measure",
]

# Time limit of the exact method, an integer program, for one change, in seconds.
EXACT_LIMIT_S = 120.0

SPINES, PORTS = 8, 16
SEEDS, CHANGES = 3, 7


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
    result = {
        Change.job: _timed(_job_changes(pods, seeds, changes)),
        Change.first: _timed((Trace(pods, SPINES * PORTS, seed).demand, None) for seed in range(seeds)),
        Change.replaced: _timed(_replaced(pods, seeds)),
        Change.full: _timed(refilled(pods, SPINES, PORTS, seed) for seed in range(seeds)),
    }
    return Cluster(pods, result, _exact(pods, changes) if exact else None)


def _job_changes(pods: int, seeds: int, changes: int) -> Iterator[tuple[Ints, CircuitPlan]]:
    for seed in range(seeds):
        yield from states(pods, SPINES, PORTS, seed, changes)


def _replaced(pods: int, seeds: int) -> Iterator[tuple[Ints, CircuitPlan]]:
    for seed in range(seeds):
        plan = allocate(Trace(pods, SPINES * PORTS, seed).demand, SPINES, PORTS)
        yield Trace(pods, SPINES * PORTS, seeds + seed).demand, plan


def _timed(cases: Iterator[tuple[Ints, CircuitPlan | None]]) -> Timed:
    seconds: list[float] = []
    created = needed = 0
    for demand, plan in cases:
        spent, new = _processor(lambda demand=demand, plan=plan: allocate(demand, SPINES, PORTS, plan))
        seconds.append(spent)
        created += new.moves.added
        needed += least(demand, plan) if plan is not None else int(demand.sum()) // 2
    return Timed(tuple(seconds), created, needed)


def _exact(pods: int, changes: int) -> float | None:
    *_, (demand, plan) = states(pods, SPINES, PORTS, 0, changes)
    try:
        spent, _ = _processor(lambda: allocate(demand, SPINES, PORTS, plan, "exact", seconds=EXACT_LIMIT_S))
    except PlanError:
        return None
    return spent


def _processor(plan: Callable[[], CircuitPlan]) -> tuple[float, CircuitPlan]:
    began = time.process_time()
    result = plan()
    return time.process_time() - began, result


def growth(seconds: Sequence[float]) -> float:
    """Return the geometric mean growth of times from one cluster size to the next."""
    return (seconds[-1] / seconds[0]) ** (1 / (len(seconds) - 1))
