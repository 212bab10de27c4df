# SPDX-License-Identifier: Apache-2.0
"""Crux packet by packet: priorities that links keep, and jobs that are measured and ordered."""

from __future__ import annotations

from statistics import mean

from harness.report.job_metrics import computed_ps
from harness.run.observation.values import JobReport, Observation
from papers.claims import Check, Measured, Progress, Values
from papers.claims.declare import at_least, at_most, between, changed, derived, scaled, shifted, stated
from papers.claims.runs import observed

__all__ = ["CHECKS"]

_SCENARIO = "18_priorities/scenario.yaml"
_OWN = "this project's limit; the paper has no such figure"
_ONE_CLASS = changed("both jobs in one class", first="one-class", second="one-class")

# A direct AllReduce sends twice, and each time over two links that the other job uses as well.
_STARTS, _SHARED_LINKS = 2, 2

_PRIORITIES = (
    *(
        derived(
            f"before-{job}",
            f"an iteration of the {job} job when it goes first, longer than alone by",
            between(0, 2),
            "%",
            _ONE_CLASS,
            place=_OWN,
        )
        for job in ("first", "second")
    ),
    derived(
        "held",
        "time that frames on the wire hold the first job up, over 4 frames: 2 starts, 2 shared links",
        between(0, 1),
        "x",
        _ONE_CLASS,
        place="derived here: strict priority does not interrupt a frame",
    ),
    derived(
        "ended",
        "iterations that the two jobs end with the right data, each when it goes last",
        16,
        "iterations",
        shifted(-1),
        place=_OWN,
    ),
    stated(
        "together",
        "both in one class: an iteration of the first job, longer than alone by",
        11.0,
        "%",
        changed("the first job goes first", together="two-classes"),
        place="Crux, section 2.2: GPT beside BERT",
        within=2,
        expected=between(14, 19),
        reason="other jobs on other links than the paper's GPT and BERT",
    ),
)


def _job(seen: Observation, name: str) -> JobReport:
    return next(job for job in seen.jobs if job.name == name)


def _iteration_us(seen: Observation, name: str) -> float:
    return mean(_job(seen, name).lengths_ps) / 10**6


def _right(seen: Observation) -> bool:
    return seen.correct_nodes == seen.nodes


def _measure_priorities(
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


_PROFILED = (
    derived(
        "intensity",
        "measured intensity of the first job over that of the second",
        between(10, 30),
        "x",
        scaled(0.1),
        place="derived here: 8 GPUs for 40 us and 4 us of computation, half as many bytes",
    ),
    stated(
        "order",
        "priority of the less intensive job less that of the more intensive, 0 being served first",
        "at least 1",
        "levels",
        changed("a fixed priority in one class", variant="one-class"),
        place="Crux, sections 4 and 5",
        holds=at_least(1),
    ),
    stated(
        "work",
        "work in 300 us gained over one class, two jobs on 16 accelerators, measurements included",
        between(8.3, 14.8),
        "%",
        changed("a fixed priority in one class", variant="one-class"),
        place="Crux, section 6.2: +8.3 % to +14.8 % on 96 GPUs",
    ),
    derived(
        "turned",
        "work in 300 us lost against one class when the less intensive job goes first",
        at_most(-20),
        "%",
        scaled(-1),
        place="derived here",
    ),
)


def _measure_profiled(note: Progress, variant: str = "crux") -> Values:
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


CHECKS = (
    Check("packet-priorities", "crux", "priorities hold in the data plane", _PRIORITIES, _measure_priorities),
    Check(
        "packet-profiling",
        "crux",
        "jobs measured and ordered, packet by packet",
        _PROFILED,
        _measure_profiled,
    ),
)
