# SPDX-License-Identifier: Apache-2.0
"""Comparison of fabrics that carry the same jobs: completion, queueing, slowdown and throughput.

`PAPER` has the mean completion times that LumosCore's authors released, of 1,000 jobs on 4,096 GPUs. Their
trace is not public, so absolute times differ; compare completion times relative to the ideal fabric. No
parameter was fitted to the released times. Our own choices are the shape of the cluster, the load, sizes
independent of durations, and five candidate paths of a hash. Sizes, durations and shares of traffic are the
authors', see traces.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import mean
from typing import Literal, final

from papers.flow_level.networks.clos import Clos, Fabric, Ideal
from papers.flow_level.networks.optical import Lumos, Wiring
from papers.flow_level.simulate import Outcome, simulate
from papers.flow_level.workload.placement import Cluster
from papers.flow_level.workload.traces import Workload, jobs_of, make

__all__ = ["FABRICS", "PAPER", "SIX", "Comparison", "Study", "run"]

# Switching time of micromirrors, to the order of magnitude.
DARK_SECONDS = 0.01

# Number of candidate paths that a Clos hashes for each flow: the released simulator's default.
TRIES = 5


FABRICS: Mapping[str, Callable[[Cluster, int], Fabric]] = {
    "ideal": lambda cluster, seed: Ideal(cluster),
    "leaf-centric, tau 2": lambda cluster, seed: Lumos(cluster, Wiring.leaf, 2, DARK_SECONDS),
    "leaf-centric, tau 1": lambda cluster, seed: Lumos(cluster, Wiring.leaf, 1, DARK_SECONDS),
    "pod-centric, tau 2": lambda cluster, seed: Lumos(cluster, Wiring.pod, 2, DARK_SECONDS),
    "pod-centric, tau 1": lambda cluster, seed: Lumos(cluster, Wiring.pod, 1, DARK_SECONDS),
    "uniform, tau 2": lambda cluster, seed: Lumos(cluster, Wiring.uniform, 2, DARK_SECONDS),
    "clos": lambda cluster, seed: Clos(cluster, tries=TRIES, seed=seed),
    "clos, one hash": lambda cluster, seed: Clos(cluster, seed=seed, name="clos, one hash"),
    "clos of three tiers": lambda cluster, seed: Clos(cluster, 3, TRIES, seed, "clos of three tiers"),
}

SIX = ("ideal", "leaf-centric, tau 2", "leaf-centric, tau 1", "pod-centric, tau 2", "uniform, tau 2", "clos")


# Mean completion times in seconds, computed here from the logs that LumosCore's authors released for "load
# 2000", a setting of their simulator; one log for each fabric.
PAPER: Mapping[str, float] = {
    "ideal": 34741.7,
    "leaf-centric, tau 2": 34744.8,
    "leaf-centric, tau 1": 34880.8,
    "clos": 36458.5,
}


@final
@dataclass(frozen=True, slots=True)
class Study:
    """Settings of a comparison of fabrics on the same traces of jobs.

    Attributes:
        cluster: shape of the cluster.
        workload: distributions from which traces are drawn.
        fabrics: keys of FABRICS, "ideal" among them.
        seeds: seeds, a trace for each.
        policy: placement policy, a key of `POLICIES`.
    """

    cluster: Cluster = field(default_factory=lambda: Cluster(8, 8, 64))
    workload: Workload = field(default_factory=Workload)
    fabrics: tuple[str, ...] = SIX
    seeds: tuple[int, ...] = (1,)
    policy: str = "packed"


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Outcomes of a study, by fabric and seed, with means and ratios over them."""

    study: Study
    outcomes: Mapping[str, Mapping[int, Outcome]]

    def mean(self, fabric: str, quantity: Literal["completion", "slowdown"]) -> float:
        """Return the mean over jobs and traces of a property of records."""
        return mean(outcome.mean(quantity) for outcome in self.outcomes[fabric].values())

    def against_ideal(self, fabric: str) -> float:
        """Return the mean completion time, divided by that on the ideal fabric."""
        return self.mean(fabric, "completion") / self.mean("ideal", "completion")


def run(study: Study, advance: Callable[[], None] = lambda: None) -> Comparison:
    """Simulate the traces on every fabric; `advance` is called at the end of each job on each fabric."""
    outcomes: dict[str, dict[int, Outcome]] = {name: {} for name in study.fabrics}
    for seed in study.seeds:
        jobs = jobs_of(make(study.workload, seed), seed)
        for name in study.fabrics:
            fabric = FABRICS[name](study.cluster, seed)
            outcomes[name][seed] = simulate(jobs, fabric, study.policy, seed, advance)
    return Comparison(study, outcomes)
