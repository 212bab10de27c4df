# SPDX-License-Identifier: Apache-2.0
"""Demands for circuits: random demands that the ports can serve, and demands that change with jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np

from controller.circuits import CircuitPlan, allocate, saturate_demand
from controller.circuits.flow import Ints

__all__ = ["Trace", "feasible", "full", "least", "refilled", "states"]


def feasible(rng: np.random.Generator, pods: int, ports: int) -> Ints:
    """Return a random symmetric demand, shape (pods, pods), with row sums up to `ports`.

    Some Pods ask for nothing, some pairs of Pods for many circuits.
    """
    demand = np.zeros((pods, pods), np.int64)
    left = rng.integers(0, ports + 1, pods)
    for _ in range(3 * pods):
        i, j = rng.integers(0, pods, 2)
        if i != j:
            more = rng.integers(0, min(left[i], left[j]) + 1)
            demand[i, j] += more
            demand[j, i] += more
            left[[i, j]] -= more
    return demand


def full(rng: np.random.Generator, pods: int, ports: int) -> Ints:
    """Return a random demand with all row sums equal to `ports`; `pods * ports` must be even."""
    while True:
        demand = saturate_demand(feasible(rng, pods, ports), ports)
        if (demand.sum(axis=1) == ports).all():
            return demand


@final
class Trace:
    """Demand between Pods that changes as jobs come and go.

    `demand` has the shape (pods, pods); each Pod has `ports` ports. The number of a job's Pods is
    geometrically distributed. A job asks for a ring through its Pods, or for circuits between all pairs of
    them. At first, jobs arrive until they use the share `load` of all ports.
    """

    def __init__(self, pods: int, ports: int, seed: int, load: float = 0.9) -> None:
        self._rng = np.random.default_rng(seed)
        self._ports = ports
        self._jobs: list[Ints] = []
        self.demand = np.zeros((pods, pods), np.int64)
        tries = 0
        while self.demand.sum() < load * pods * ports and tries < 50:
            tries += not self._arrive()

    def change(self) -> Ints:
        """Return the demand after a job has left and, if a new job fits, the new job has started."""
        removed = self._jobs.pop(int(self._rng.integers(len(self._jobs))))
        self.demand = self.demand - removed
        for _ in range(20):
            if self._arrive():
                break
        return self.demand

    def _arrive(self) -> bool:
        rng, n = self._rng, len(self.demand)
        left = self._ports - self.demand.sum(axis=1)
        size = min(n, 2 + int(rng.geometric(0.3)))
        able = np.flatnonzero(left >= 2)
        if len(able) < size:
            return False
        pods = rng.choice(able, size, replace=False)
        job = np.zeros((n, n), np.int64)
        if size == 2 or rng.random() < 0.5:
            most = min(int(left[pods].min()) // 2, self._ports // 4)
            job[pods, np.roll(pods, -1)] = rng.integers(1, most + 1) if most else 0
            job = np.maximum(job, job.T)
        else:
            most = int(left[pods].min()) // (size - 1)
            job[np.ix_(pods, pods)] = rng.integers(1, most + 1) if most else 0
            job[pods, pods] = 0
        if not job.any():
            return False
        self._jobs.append(job)
        self.demand = self.demand + job
        return True


def states(pods: int, spines: int, ports: int, seed: int, changes: int) -> Iterator[tuple[Ints, CircuitPlan]]:
    """Yield each new demand of a trace, with the circuit plan before the change."""
    trace = Trace(pods, spines * ports, seed)
    plan = allocate(trace.demand, spines, ports)
    for _ in range(changes):
        demand = trace.change()
        yield demand, plan
        plan = allocate(demand, spines, ports, plan)


def refilled(pods: int, spines: int, ports: int, seed: int) -> tuple[Ints, CircuitPlan]:
    """Return a new demand and the plan of the old one, both with circuits added on ports without jobs."""
    trace = Trace(pods, spines * ports, seed)
    plan = allocate(saturate_demand(trace.demand, spines * ports), spines, ports)
    return saturate_demand(trace.change(), spines * ports), plan


def least(demand: Ints, plan: CircuitPlan) -> int:
    """Return a lower bound on the circuits to create for a demand, given the circuits of `plan`."""
    return int(np.maximum(demand - plan.counts.sum(axis=0), 0).sum()) // 2
