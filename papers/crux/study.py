# SPDX-License-Identifier: Apache-2.0
"""Schedulers on one trace: share of the time that accelerators compute while jobs hold them.

The released data has the beginning and the end of each job. A job therefore holds its accelerators for the
time in the trace, even if its work is not done. Schedulers are compared by the work done in that time (U_T,
Crux, definition 1), with the same jobs on the same accelerators. The cluster has 2,080 accelerators in leaves
of five servers with eight links each: the released topology has 847 hosts, the paper's simulation 173 ToRs.

    three tiers  four Pods; a leaf has as much capacity up as down, the links above spines 3.25 times less
    clos         two tiers with 16 aggregation switches, as in the paper's simulation; links are as wide as
                 an NPU's port, so a leaf has 2.5 times less capacity up than down

The paper does not give the capacity above spines, the connections between two accelerators, or the placement.
The placement `first-fit` comes nearest to the paper's share of jobs at risk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import final

from controller.jobs import SCHEDULERS
from papers.crux.workloads import ProductionTrace, make
from papers.flow_level.networks.pinned import Pinned
from papers.flow_level.simulate import Outcome, simulate
from papers.flow_level.steering import WINDOW, Steered
from papers.flow_level.workload.placement import Cluster

__all__ = ["BASELINES", "CLUSTERS", "Comparison", "Study", "run"]

# Scheduler -> the paper's name of the baseline.
BASELINES: Mapping[str, str] = {
    "shortest-first": "Sincronia-like",
    "topology-aware": "TACCL*",
    "interleave": "CASSINI-like",
}


def _clos(seed: int, connections: int) -> Pinned:
    return Pinned(Cluster(1, 52, 40), 16, connections=connections, seed=seed, name="clos")


def _three(seed: int, connections: int) -> Pinned:
    return Pinned(Cluster(4, 13, 40), 20, 4, 2.0, 2.0, connections, seed, "three tiers")


CLUSTERS: Mapping[str, Callable[[int, int], Pinned]] = {"clos": _clos, "three tiers": _three}


@final
@dataclass(frozen=True, slots=True)
class Study:
    """A trace, the fabric it runs on, and the schedulers compared."""

    trace: ProductionTrace
    fabric: str = "three tiers"
    connections: int = 1
    schedulers: tuple[str, ...] = ("none", "fair", *BASELINES, "crux")
    levels: int = 8
    seed: int = 1
    placement: str = "first-fit"


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Outcome of a study under each scheduler."""

    study: Study
    outcomes: Mapping[str, Outcome]

    def utilisation(self, scheduler: str) -> float:
        """Return the share of computation in the time that jobs hold accelerators."""
        return self.outcomes[scheduler].utilisation

    def gain(self, scheduler: str, over: str) -> float:
        """Return the relative gain in utilisation of a scheduler over another; 0.1 means 10 %."""
        return self.utilisation(scheduler) / self.utilisation(over) - 1


@lru_cache(maxsize=64)
def run(study: Study) -> Comparison:
    """Simulate the trace under each scheduler."""
    jobs = make(study.trace, study.seed)
    outcomes = {}
    for name in study.schedulers:
        fabric = CLUSTERS[study.fabric](study.seed, study.connections)
        # Baselines know the jobs' profiles; Crux has to measure them.
        window = WINDOW if name.startswith("crux") else 0.0
        steering = Steered(
            fabric, SCHEDULERS[name], study.levels, window, name in ("crux", "crux-ps-pa"), study.seed
        )
        outcomes[name] = simulate(jobs, fabric, study.placement, seed=study.seed, steering=steering)
    return Comparison(study, outcomes)
