# SPDX-License-Identifier: Apache-2.0
"""Circuits of optical switches: how long a change of demand takes to plan, and how many circuits it moves.

`python -m bench.circuits` prints JSON. Clusters of 2k to 32k NPUs: 16 to 256 Pods of 8 leaves with 16 NPUs
each, 2 links from a leaf to each of 8 spines, 16 ports a spine to 16 optical switches. The authors give the
number of NPUs only; that a Pod has 128 of them is read off comments in their code. Nine tenths of the ports
are in use by jobs; a change is the end of one of them and the start of another. All groups are planned one
after the other on one core; times are processor time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import final

import numpy as np

from bench.figures import Series, machine
from controller import PlanError
from controller.circuits import CircuitPlan, Method, fill_spare, realise
from controller.circuits.flow import Ints

__all__ = ["Trace", "rewiring_figures", "time_figures"]

NPUS_A_POD = 128
SPINES, PORTS = 8, 16
PODS = (16, 32, 64, 128, 256)
SEEDS, CHANGES = 3, 7

# Seconds for clusters of that many Pods, as the authors plot them (LumosCore, cal_overhead.py of their code).
AUTHORS = dict(zip(PODS, (0.042, 0.581, 2.773, 15.213, 45.8), strict=True))
AUTHORS_EXACT = dict(zip(PODS, (2.842, 28.581, 147.773, 684.213, 3298.0), strict=True))
TARGET = 0.1

EXACT_LIMIT_S = 120.0
# Pods, spines, ports a spine: what an integer program finishes many times over.
SMALL = ((4, 2, 4), (6, 2, 8), (8, 2, 8), (8, 4, 4), (12, 2, 8), (16, 2, 8), (16, 4, 8))


@final
class Trace:
    """A demand between Pods as jobs come and go, (N, N), with `ports` ports a Pod.

    A job has 2 Pods or more, geometrically fewer of the large ones, and joins them in a ring, or each with
    each.
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
        """The demand after a job has gone and, if one fits, another has come."""
        gone = self._jobs.pop(int(self._rng.integers(len(self._jobs))))
        self.demand = self.demand - gone
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


def _states(
    pods: int, spines: int, ports: int, seed: int, changes: int
) -> Iterator[tuple[Ints, CircuitPlan]]:
    """New demands, each with the circuits that stand when it comes."""
    trace = Trace(pods, spines * ports, seed)
    plan = realise(trace.demand, spines, ports)
    for _ in range(changes):
        demand = trace.change()
        yield demand, plan
        plan = realise(demand, spines, ports, plan)


def _least(demand: Ints, plan: CircuitPlan) -> int:
    """Circuits that must be made whatever moves."""
    return int(np.maximum(demand - plan.counts.sum(axis=0), 0).sum()) // 2


def time_figures() -> list[dict[str, object]]:
    """One a cluster: seconds of a change and from nothing, circuits made and those that had to be.

    Harder changes, too; and seconds of the exact program for one change, None in the first cluster where it
    exceeds its limit.
    """
    found: list[dict[str, object]] = []
    before, exact = 0.0, 0.0
    for pods in PODS:
        seconds, made, least, whole = [], 0, 0, 0.0
        for seed in range(SEEDS):
            for demand, plan in _states(pods, SPINES, PORTS, seed, CHANGES):
                began = time.process_time()
                new = realise(demand, SPINES, PORTS, plan)
                seconds.append(time.process_time() - began)
                made, least = made + new.moved.made, least + _least(demand, plan)
            first = Trace(pods, SPINES * PORTS, seed).demand
            began = time.process_time()
            realise(first, SPINES, PORTS)
            whole = time.process_time() - began
        change = Series(seconds)
        row: dict[str, object] = {
            "npus": pods * NPUS_A_POD,
            "pods": pods,
            "change_seconds": change.as_json(),
            "target_seconds": TARGET * AUTHORS[pods],
            "authors_seconds": AUTHORS[pods],
            "authors_exact_seconds": AUTHORS_EXACT[pods],
            "growth": change.median / before if before else None,
            "from_nothing_seconds": whole,
            "circuits_made": made,
            "circuits_made_at_least": least,
            "all_changes": _other(pods),
            "no_port_spare": _full(pods),
        }
        if exact is not None:
            exact = _exact_seconds(pods)
            row["exact_seconds"] = exact
        found.append(row)
        before = change.median
        print(f"{pods} Pods: {change} s", file=sys.stderr)
    return found


def _one(demand: Ints, plan: CircuitPlan) -> dict[str, float]:
    began = time.process_time()
    new = realise(demand, SPINES, PORTS, plan)
    seconds = time.process_time() - began
    return {
        "seconds": seconds,
        "circuits_made": new.moved.made,
        "circuits_made_at_least": _least(demand, plan),
    }


def _other(pods: int) -> dict[str, float]:
    """A demand that has nothing to do with the one before."""
    plan = realise(Trace(pods, SPINES * PORTS, 0).demand, SPINES, PORTS)
    return _one(Trace(pods, SPINES * PORTS, 1).demand, plan)


def _full(pods: int) -> dict[str, float]:
    """One change where whatever jobs leave over is asked for too: the hardest, since no port is free."""
    trace = Trace(pods, SPINES * PORTS, 0)
    plan = realise(fill_spare(trace.demand, SPINES * PORTS), SPINES, PORTS)
    return _one(fill_spare(trace.change(), SPINES * PORTS), plan)


def _exact_seconds(pods: int) -> float | None:
    *_, (demand, plan) = _states(pods, SPINES, PORTS, 0, CHANGES)
    began = time.process_time()
    try:
        realise(demand, SPINES, PORTS, plan, "exact", seconds=EXACT_LIMIT_S)
    except PlanError:
        return None
    return time.process_time() - began


def rewiring_figures(seeds: int = 6, changes: int = 3) -> dict[str, object]:
    """Circuits made by each method over those of the exact program; where that makes none, one and those."""
    methods: tuple[Method, ...] = ("flow", "greedy", "scratch")
    ratios: dict[Method, list[float]] = {method: [] for method in methods}
    for pods, spines, ports in SMALL:
        for seed in range(seeds):
            for demand, plan in _states(pods, spines, ports, seed, changes):
                exact = realise(demand, spines, ports, plan, "exact", seconds=EXACT_LIMIT_S).moved.made
                for method, values in ratios.items():
                    made = realise(demand, spines, ports, plan, method).moved.made
                    values.append(made / exact if exact else float(made + 1))
    return {
        method: {
            "changes": len(values),
            "mean": float(np.mean(values)),
            "deciles": np.quantile(values, np.linspace(0, 1, 11)).round(3).tolist(),
        }
        for method, values in ratios.items()
    }


if __name__ == "__main__":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    realise(Trace(4, 8, 0).demand, 2, 4)  # loads the solver
    figures = {"machine": machine(), "rewirings_over_exact": rewiring_figures(), "times": time_figures()}
    json.dump(figures, sys.stdout, indent=2)
    print()
