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
from dataclasses import asdict, dataclass, field
from statistics import mean
from typing import Any, final

from papers.flow_level.networks.clos import Clos, Fabric, Ideal
from papers.flow_level.networks.optical import Lumos, Wiring
from papers.flow_level.simulate import Mode, Outcome, simulate
from papers.flow_level.workload.placement import Cluster
from papers.flow_level.workload.traces import Workload, jobs_of, make

__all__ = ["FABRICS", "PAPER", "SIX", "Comparison", "Released", "Study", "run", "to_document"]

# Switching time of micromirrors, to the order of magnitude.
DARK_SECONDS = 0.01

# Number of candidate paths that a Clos hashes for each flow: the released simulator's default.
TRIES = 5


def _lumos(wiring: Wiring, tau: int) -> Callable[[Cluster, int], Fabric]:
    return lambda cluster, seed: Lumos(cluster, wiring, tau, DARK_SECONDS)


FABRICS: Mapping[str, Callable[[Cluster, int], Fabric]] = {
    "ideal": lambda cluster, seed: Ideal(cluster),
    "leaf-centric, tau 2": _lumos(Wiring.leaf, 2),
    "leaf-centric, tau 1": _lumos(Wiring.leaf, 1),
    "pod-centric, tau 2": _lumos(Wiring.pod, 2),
    "pod-centric, tau 1": _lumos(Wiring.pod, 1),
    "uniform, tau 2": _lumos(Wiring.uniform, 2),
    "clos": lambda cluster, seed: Clos(cluster, tries=TRIES, seed=seed),
    "clos, one hash": lambda cluster, seed: Clos(cluster, seed=seed, name="clos, one hash"),
    "clos of three tiers": lambda cluster, seed: Clos(cluster, 3, TRIES, seed, "clos of three tiers"),
}

SIX = ("ideal", "leaf-centric, tau 2", "leaf-centric, tau 1", "pod-centric, tau 2", "uniform, tau 2", "clos")


@final
@dataclass(frozen=True, slots=True)
class Released:
    """Means of a released log, in seconds; `slowdown` is relative to the running time on `ideal`."""

    completion: float
    queueing: float
    slowdown: float


# Means over all jobs, computed here from the logs that LumosCore's authors released for "load 2000", a
# setting of their simulator; one log for each fabric.
PAPER: Mapping[str, Released] = {
    "ideal": Released(34741.7, 12413.0, 1.0),
    "leaf-centric, tau 2": Released(34744.8, 12415.6, 1.0000143),
    "leaf-centric, tau 1": Released(34880.8, 12524.5, 1.0009155),
    "clos": Released(36458.5, 13861.2, 1.0043085),
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
        mode: mode of `simulate`.
    """

    cluster: Cluster = field(default_factory=lambda: Cluster(8, 8, 64))
    workload: Workload = field(default_factory=Workload)
    fabrics: tuple[str, ...] = SIX
    seeds: tuple[int, ...] = (1,)
    policy: str = "packed"
    mode: Mode = "fluid"


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Outcomes of a study, by fabric and seed, with means and ratios over them."""

    study: Study
    outcomes: Mapping[str, Mapping[int, Outcome]]

    def completion(self, fabric: str) -> float:
        """Return the mean completion time over jobs and traces, in seconds."""
        return mean(outcome.completion for outcome in self.outcomes[fabric].values())

    def queueing(self, fabric: str) -> float:
        """Return the mean queueing time over jobs and traces, in seconds."""
        return mean(outcome.queueing for outcome in self.outcomes[fabric].values())

    def slowdown(self, fabric: str) -> float:
        """Return the mean slowdown: running time divided by running time alone."""
        return mean(outcome.slowdown for outcome in self.outcomes[fabric].values())

    def throughput(self, fabric: str) -> float:
        """Return the mean throughput over traces, 0 to 1; at 1, all NPUs work at full speed all the time."""
        return mean(outcome.throughput for outcome in self.outcomes[fabric].values())

    def against_ideal(self, fabric: str) -> float:
        """Return the mean completion time, divided by that on the ideal fabric."""
        return self.completion(fabric) / self.completion("ideal")


def run(study: Study, advance: Callable[[], None] = lambda: None) -> Comparison:
    """Simulate the traces on every fabric; `advance` is called at the end of each job on each fabric."""
    outcomes: dict[str, dict[int, Outcome]] = {name: {} for name in study.fabrics}
    for seed in study.seeds:
        jobs = jobs_of(make(study.workload, seed), seed)
        for name in study.fabrics:
            fabric = FABRICS[name](study.cluster, seed)
            outcomes[name][seed] = simulate(jobs, fabric, study.policy, study.mode, seed, advance)
    return Comparison(study, outcomes)


def to_document(result: Comparison) -> dict[str, Any]:
    """Return the contents of `result.json`; times in seconds."""
    study = result.study
    return {
        "cluster": asdict(study.cluster),
        "workload": asdict(study.workload),
        "seeds": list(study.seeds),
        "placement": study.policy,
        "mode": study.mode,
        "fabrics": {
            name: {
                "mean_completion": round(result.completion(name), 3),
                "mean_queueing": round(result.queueing(name), 3),
                "mean_slowdown": round(result.slowdown(name), 6),
                "throughput": round(result.throughput(name), 6),
                "against_ideal": round(result.against_ideal(name), 6),
                **({"released": asdict(PAPER[name])} if name in PAPER else {}),
            }
            for name in study.fabrics
        },
        "jobs": {
            name: {
                str(seed): [
                    [job.name, job.npus, round(job.arrival, 3), round(job.start, 3), round(job.end, 3)]
                    for job in outcome.jobs
                ]
                for seed, outcome in by_seed.items()
            }
            for name, by_seed in result.outcomes.items()
        },
    }
