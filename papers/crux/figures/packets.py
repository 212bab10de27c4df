# SPDX-License-Identifier: Apache-2.0
"""Crux at packet level: jobs are measured, then served by their intensity."""

from __future__ import annotations

from harness.report.measurement.job_metrics import computed_ps
from harness.run.observation.values import JobReport, Observation
from papers.claims import Measured, Progress, Values
from papers.claims.runs import observed

_SCENARIO = "18_priorities/scenario.yaml"


def _job(seen: Observation, name: str) -> JobReport:
    return next(job for job in seen.jobs if job.name == name)


def _right(seen: Observation) -> bool:
    return seen.correct_nodes == seen.nodes


def packet_profiling(note: Progress, variant: str = "crux") -> Values:
    """Measure two jobs packet by packet, with the priorities of Crux and with a single priority.

    The figures are the ratio of the jobs' intensities, the order of their priorities, and the additional work
    that priorities bring, in percent of the work with one class.
    """
    runs = observed(_SCENARIO, note, {"one-class", "turned", "crux"})
    until_ps = round((runs["crux"][0].variant.horizon_us or 0) * 10**6)

    def work(name: str) -> float:
        seen = runs[name][1]
        done = sum(job.nodes * computed_ps(job, until_ps) for job in seen.jobs)
        return float(done) if _right(seen) else float("nan")

    def intensity(job: JobReport) -> float:
        item = job.iterations[0]
        return job.nodes * job.compute_ps / (item.sent_ps - item.send_ps)

    first, second = (_job(runs[variant][1], name) for name in ("first", "second"))
    profiled = [intensity(_job(runs["crux"][1], name)) for name in ("first", "second")]
    return {
        "intensity": Measured(
            profiled[0] / profiled[1], detail=f"{profiled[0]:.1f} and {profiled[1]:.1f} GPUs"
        ),
        "order": float(second.priority - first.priority),
        "work": 100 * (work(variant) / work("one-class") - 1),
        "turned": 100 * (work("turned") / work("one-class") - 1),
    }
