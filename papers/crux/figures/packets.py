# SPDX-License-Identifier: Apache-2.0
"""Crux at packet level: jobs are measured, then served by their intensity."""

from __future__ import annotations

from harness.report.measurement.job_metrics import computed_ps
from harness.run.observation.values import JobReport
from papers.claims import Measured, Progress, Values
from papers.claims.runs import observed, right


def packet_profiling(note: Progress, variant: str = "crux") -> Values:
    """Measure two jobs packet by packet, with the priorities of Crux and with a single priority.

    The figures are the ratio of the jobs' intensities, the order of their priorities, and the additional work
    that priorities bring, in percent of the work with one class.
    """
    runs = observed("18_priorities/scenario.yaml", note, {"one-class", "turned", "crux"})
    until_ps = round((runs["crux"][0].variant.horizon_us or 0) * 10**6)
    jobs = {name: {job.name: job for job in right(*run).jobs} for name, run in runs.items()}
    work = {
        name: sum(job.nodes * computed_ps(job, until_ps) for job in own.values())
        for name, own in jobs.items()
    }

    def intensity(job: JobReport) -> float:
        item = job.iterations[0]
        return job.nodes * job.compute_ps / (item.sent_ps - item.send_ps)

    first, second = (intensity(jobs["crux"][name]) for name in ("first", "second"))
    return {
        "intensity": Measured(first / second, detail=f"{first:.1f} and {second:.1f} GPUs"),
        "order": jobs[variant]["second"].priority - jobs[variant]["first"].priority,
        "work": 100 * (work[variant] / work["one-class"] - 1),
        "turned": 100 * (work["turned"] / work["one-class"] - 1),
    }
