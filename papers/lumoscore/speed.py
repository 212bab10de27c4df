# SPDX-License-Identifier: Apache-2.0
"""Planning time of a change of demand, in clusters of 2k to 32k NPUs.

16 to 256 Pods of 8 leaves with 16 NPUs each, 2 links from a leaf to each of 8 spines, 16 ports a spine to 16
optical switches. All groups are planned one after the other; times are processor time of the whole process.
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

# Most seconds of the exact program for one change.
EXACT_LIMIT_S = 120.0

SPINES, PORTS = 8, 16
SEEDS, CHANGES = 3, 7


@final
@dataclass(frozen=True, slots=True)
class Timed:
    """Changes of one sort: processor seconds of each; circuits made, and those that had to be made."""

    seconds: tuple[float, ...]
    created: int
    least: int

    @property
    def median(self) -> float:
        return median(self.seconds)


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """`exact`: seconds of the exact program for one job's change; None where not run or too long."""

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
    """All sizes; the exact program up to the first that takes it too long."""
    result: list[Cluster] = []
    for place, pods in enumerate(PODS):
        note(pods, place / len(PODS))
        result.append(measure(pods, exact=not result or result[-1].exact is not None))
    return result


@cache
def measure(pods: int, seeds: int = SEEDS, changes: int = CHANGES, *, exact: bool) -> Cluster:
    """Measured once a process: so many changes of one job for each seed, one of each other sort."""
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
