# SPDX-License-Identifier: Apache-2.0
"""Schedulers on one trace: how much of the time accelerators compute while jobs hold them.

A job holds its accelerators for as long as the trace says, whatever is done by then, as the released data has
beginnings and ends: so the work done in a time is compared (U_T, Crux, definition 1) with the same jobs in
the same places. 2,080 accelerators, in leaves of five servers: the 847 hosts of the released topology by the
173 ToRs of the paper's simulation, eight links each.

`three tiers`: four Pods, leaves with as much up as down, 3.25 times less above spines. `clos`: two tiers and
16 aggregation switches, as in the paper's simulation, links as wide as an NPU's, so 2.5 times less up than
down. Free are the capacity above spines, over how many connections two accelerators send, and the placement,
of which first fit comes nearest to the paper's share of jobs at risk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np

from controller.jobs import SCHEDULERS
from papers.crux.workloads import ProductionTrace, make
from papers.flow_level.networks.pinned import Pinned
from papers.flow_level.simulate import Outcome, simulate
from papers.flow_level.steering import WINDOW, Steered
from papers.flow_level.workload.placement import Cluster

__all__ = ["BASELINES", "CLUSTERS", "SHOWN", "Comparison", "Study", "run"]

SHOWN = ("none", "fair", "shortest-first", "topology-aware", "interleave", "crux-pa", "crux-ps-pa", "crux")

# The paper's names of what Crux is compared with.
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

    trace: ProductionTrace = field(default_factory=lambda: ProductionTrace(days=1.0))
    fabric: str = "three tiers"
    connections: int = 1
    schedulers: tuple[str, ...] = SHOWN
    levels: int = 8
    seed: int = 1
    placement: str = "first-fit"


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """`outcomes` by scheduler."""

    study: Study
    outcomes: Mapping[str, Outcome]

    def utilisation(self, scheduler: str) -> float:
        """Share of the time that jobs hold accelerators in which these compute."""
        return self.outcomes[scheduler].utilisation

    def gain(self, scheduler: str, over: str) -> float:
        """Return the relative gain of a scheduler over another: 0.1 for a tenth."""
        return self.utilisation(scheduler) / self.utilisation(over) - 1

    def slowest(self, scheduler: str) -> float:
        """Return the largest slowdown of a job: 1 - throughput divided by its throughput alone."""
        return 1 - 1 / max(job.slowdown for job in self.outcomes[scheduler].jobs)

    def slowed(self, scheduler: str) -> tuple[float, float]:
        """Return the shares of jobs and of accelerators' time that run at least 1 % slower than alone."""
        jobs = self.outcomes[scheduler].jobs
        slow = np.array([job.slowdown > 1.01 for job in jobs])
        held = np.array([job.npus * (job.end - job.start) for job in jobs])
        return float(slow.mean()), float(held[slow].sum() / held.sum())


def run(study: Study, advance: Callable[[], None] = lambda: None) -> Comparison:
    """`advance` is called at the end of each job under each scheduler."""
    jobs = make(study.trace, study.seed)
    outcomes = {}
    for name in study.schedulers:
        fabric = CLUSTERS[study.fabric](study.seed, study.connections)
        # Baselines are told of jobs as they are; Crux has to measure.
        window = WINDOW if name.startswith("crux") else 0.0
        steering = Steered(
            fabric, SCHEDULERS[name], study.levels, window, name in ("crux", "crux-ps-pa"), study.seed
        )
        outcomes[name] = simulate(
            jobs, fabric, study.placement, seed=study.seed, advance=advance, steering=steering
        )
    return Comparison(study, outcomes)
