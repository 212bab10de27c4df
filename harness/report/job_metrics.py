# SPDX-License-Identifier: Apache-2.0
"""Metrics of the jobs of a run: times and iterations of each job, and the computation of all jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import mean

from harness.run.observation.values import JobReport
from harness.run.observation.variant_run import Figure, VariantRun, us

__all__ = ["JOB_FIGURES", "computed_ps", "work_percent"]


def _lengths_us(pick: Callable[[tuple[int, ...]], float]) -> Callable[[JobReport], Figure]:
    return lambda job: round(pick(job.lengths_ps) / 10**6, 6)


JOB_FIGURES: Mapping[str, Callable[[JobReport], Figure]] = {
    "completion_us": lambda job: us(job.completion_ps),
    "bound_us": lambda job: us(job.bound_ps),
    "ratio_to_bound": lambda job: round(job.completion_ps / job.bound_ps, 6),
    "retransmitted_frames": lambda job: job.retransmitted,
    "correct_npus": lambda job: job.correct_nodes,
    "npus": lambda job: job.nodes,
    "start_us": lambda job: us(job.begun_ps),
    "waited_us": lambda job: us(job.begun_ps - job.due_ps),
    "iterations": lambda job: len(job.iterations),
    "priority": lambda job: job.priority,
    "iteration_us": _lengths_us(mean),
    "fastest_iteration_us": _lengths_us(min),
    "slowest_iteration_us": _lengths_us(max),
    "communication_us": lambda job: round(
        mean(iteration.sent_ps - iteration.send_ps for iteration in job.iterations) / 10**6, 6
    ),
}
"""Function of each metric of a job; metrics of iterations apply only to jobs with iterations."""


def computed_ps(job: JobReport, until_ps: int) -> int:
    """Return the computation time in ps of each member of a job until `until_ps` of the run."""
    return sum(min(max(until_ps - iteration.begun_ps, 0), job.compute_ps) for iteration in job.iterations)


def work_percent(run: VariantRun) -> Figure:
    """Return the mean computation time of all jobs' members, in percent of the time until `horizon_ps`.

    All jobs count until the same time, even if they end earlier or later. So schedulers are compared by the
    computation done in a given time (Crux, definition 1).
    """
    jobs = run.observation.jobs
    computed = sum(job.nodes * computed_ps(job, run.horizon_ps) for job in jobs)
    return round(100 * computed / (sum(job.nodes for job in jobs) * run.horizon_ps), 3)
