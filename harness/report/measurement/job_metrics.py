# SPDX-License-Identifier: Apache-2.0
"""Metrics of the jobs of a run: times, iterations and computation; the losses of jobs by faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from statistics import mean
from typing import Any, final

from harness.report.markup import table
from harness.run.observation.values import JobReport
from harness.run.observation.variant_run import Figure, VariantRun, us
from harness.scenario.schema import Scenario, Variant

__all__ = [
    "JOB_FIGURES",
    "JobOutcome",
    "computed_ps",
    "job_outcomes",
    "jobs_table",
    "work_percent",
]

# Ratio of times from which a job counts as slower.
_SLOWER = 1.005


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


@final
@dataclass(frozen=True, slots=True)
class JobOutcome:
    """Outcome of a job of a variant, beside the same job without faults.

    Attributes:
        variant: Name of the variant.
        job: Name of the job.
        completion_us: Time from the begin of the job to its end; None if it halted.
        reference: Variant that differs from this variant only in its faults, of which it has none; may be
            empty.
        reference_us: Time of the job in the reference; None without a reference, or if the job halted there.
    """

    variant: str
    job: str
    completion_us: float | None
    reference: str = ""
    reference_us: float | None = None

    @property
    def halted(self) -> bool:
        """True if a member of the job has no result."""
        return self.completion_us is None

    @property
    def slowdown(self) -> float | None:
        """Time divided by the time without faults; None if one of the times does not exist."""
        if self.completion_us is None or self.reference_us is None:
            return None
        return round(self.completion_us / self.reference_us, 6)

    @property
    def loses(self) -> bool:
        """True if the job halted, or took 0.5 % longer than without faults."""
        return self.halted or (self.slowdown is not None and self.slowdown >= _SLOWER)

    @property
    def sentence(self) -> str:
        """The loss in words; empty if the job loses nothing."""
        if not self.loses:
            return ""
        if self.halted:
            return f"job {self.job} halts"
        return f"job {self.job} takes {self.slowdown:.2f} times as long as in {self.reference}"


def job_outcomes(scenario: Scenario, runs: Mapping[str, VariantRun]) -> Iterator[JobOutcome]:
    """Yield the outcome of each job of each variant that ran; a single job without a name is called `job`."""
    variants = [variant for variant in scenario.variants if variant.name in runs]
    for variant in variants:
        times = _times_us(runs[variant.name])
        reference = _reference(variant, variants)
        healthy = {} if reference is None else _times_us(runs[reference.name])
        for job, time_us in times.items():
            name = "" if reference is None else reference.name
            yield JobOutcome(variant.name, job, time_us, name, healthy.get(job))


def _times_us(run: VariantRun) -> dict[str, float | None]:
    seen = run.observation
    if seen.pool is not None:
        return {}
    if not seen.jobs:
        return {"job": None if seen.halted else us(seen.completion_ps)}
    return {job.name: None if job.halted else us(job.completion_ps) for job in seen.jobs}


def _reference(variant: Variant, among: list[Variant]) -> Variant | None:
    """Return the first variant without faults whose other settings equal those of `variant`, if any."""
    if not variant.faults:
        return None
    settings = _settings(variant)
    return next((other for other in among if not other.faults and _settings(other) == settings), None)


def _settings(variant: Variant) -> dict[str, Any]:
    """Return the keys of a variant that change what runs, without its faults."""
    return variant.model_dump(exclude={"name", "title", "expect", "faults"})


def jobs_table(scenario: Scenario, runs: Mapping[str, VariantRun]) -> str:
    """Return an HTML table of all jobs that variants list, with the ratio to their times without faults."""
    outcomes = {(outcome.variant, outcome.job): outcome for outcome in job_outcomes(scenario, runs)}
    rows = []
    for variant in scenario.variants:
        for job in runs[variant.name].observation.jobs:
            outcome = outcomes[variant.name, job.name]
            rows.append(
                (
                    escape(variant.label),
                    escape(job.name),
                    f"{us(job.begun_ps):g}",
                    "halted" if outcome.halted else f"{outcome.completion_us:.3f}",
                    "" if outcome.reference_us is None else f"{outcome.reference_us:.3f}",
                    "" if outcome.slowdown is None else f"{outcome.slowdown:.3f}",
                    f"{us(job.bound_ps):.3f}",
                    f"{job.retransmitted}",
                    f"{job.correct_nodes} of {job.nodes}",
                )
            )
    heads = ("variant", "job", "start, µs", "took, µs", "without faults, µs", "ratio", "bound, µs")
    return table((*heads, "frames retransmitted", "correct"), rows, numbers=7)
