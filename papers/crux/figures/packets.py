# SPDX-License-Identifier: Apache-2.0
"""Crux packet by packet: priorities that links keep, and jobs that are measured and ordered."""

from __future__ import annotations

from statistics import mean

from harness.report.job_metrics import computed_ps
from harness.run.observation.values import JobReport, Observation
from papers.claims import Measured, Progress, Values
from papers.claims.runs import observed

__all__ = ["packet_priorities", "packet_profiling"]

_SCENARIO = "18_priorities/scenario.yaml"

# A direct AllReduce sends twice, and each time over two links that the other job uses as well.
_STARTS, _SHARED_LINKS = 2, 2


def _job(seen: Observation, name: str) -> JobReport:
    return next(job for job in seen.jobs if job.name == name)


def _iteration_us(seen: Observation, name: str) -> float:
    return mean(_job(seen, name).lengths_ps) / 10**6


def _right(seen: Observation) -> bool:
    return seen.correct_nodes == seen.nodes


def packet_priorities(
    note: Progress, first: str = "two-classes", second: str = "turned", together: str = "one-class"
) -> Values:
    """Measure a job alone, beside another job in one class, before the other, and after it."""
    runs = observed(_SCENARIO, note, {"alone", "second-alone", "one-class", "two-classes", "turned"})
    seen = {name: run for name, (_, run) in runs.items()}
    alone = {"first": _iteration_us(seen["alone"], "first")}
    alone["second"] = _iteration_us(seen["second-alone"], "second")

    def longer(variant: str, job: str) -> float:
        good = _right(seen[variant])
        return 100 * (_iteration_us(seen[variant], job) / alone[job] - 1) if good else float("nan")

    ready = runs["two-classes"][0]
    slowest = min(link.rate_bps for link in ready.fabric.links)
    frame_us = 8 * (ready.variant.collective.payload_bytes + 62) / slowest * 10**6
    before = longer(first, "first")
    last = {"first": "turned", "second": "two-classes"}
    ended = sum(len(_job(seen[name], job).iterations) for job, name in last.items() if _right(seen[name]))
    after = " and ".join(f"{longer(name, job):+.1f} %" for job, name in last.items())
    return {
        "before-first": before,
        "before-second": longer(second, "second"),
        "held": Measured(
            before / 100 * alone["first"] / (_STARTS * _SHARED_LINKS * frame_us),
            detail=f"{before / 100 * alone['first']:.2f} us; a frame takes {frame_us:.3f} us",
        ),
        "ended": Measured(float(ended), detail=f"{after} an iteration"),
        "together": longer(together, "first"),
    }


def packet_profiling(note: Progress, variant: str = "crux") -> Values:
    """Run jobs to measure them, and serve them by their intensity."""
    runs = observed(_SCENARIO, note, {"one-class", "turned", "crux"})
    until_ps = round((runs["crux"][0].variant.work_until_us or 0) * 10**6)

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
