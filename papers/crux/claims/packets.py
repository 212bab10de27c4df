# SPDX-License-Identifier: Apache-2.0
"""Crux packet by packet: priorities that links keep, and jobs that are measured and ordered."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck
from papers.claims.runs import observed

if TYPE_CHECKING:
    from lab.run.observation import JobReport, Observation

__all__ = ["CHECKS"]

_SCENARIO = "18_priorities/scenario.yaml"
_OWN = "this project's own limit; the paper has no such figure"

# Of a job that goes first, against itself alone.
_WITHIN = 0.02

# A direct AllReduce sends twice, and each time over two links that the other job uses as well.
_STARTS, _SHARED_LINKS = 2, 2


def _job(seen: Observation, name: str) -> JobReport:
    return next(job for job in seen.jobs if job.name == name)


def _iteration_us(seen: Observation, name: str) -> float:
    return mean(_job(seen, name).lengths_ps) / 10**6


def _busy(seen: Observation) -> float:
    """Return the share of time that accelerators compute, each until its job ends."""
    computed = sum(job.nodes * job.compute_ps * len(job.iterations) for job in seen.jobs)
    return computed / sum(job.nodes * job.completion_ps for job in seen.jobs)


def _all_right(*seen: Observation) -> bool:
    return all(item.correct_nodes == item.nodes for item in seen)


def run_priorities(note: Progress) -> Sequence[Finding]:
    """Measure a job alone, beside another job in one class, before the other, and after it."""
    runs = observed(_SCENARIO, note, {"alone", "second-alone", "one-class", "two-classes", "turned"})
    seen = {name: run for name, (_, run) in runs.items()}
    alone = {"first": _iteration_us(seen["alone"], "first")}
    alone["second"] = _iteration_us(seen["second-alone"], "second")

    def longer(variant: str, job: str) -> float:
        return _iteration_us(seen[variant], job) / alone[job] - 1

    right = _all_right(*seen.values())
    before = longer("two-classes", "first"), longer("turned", "second")
    one_class = longer("one-class", "first"), longer("one-class", "second")
    after = longer("two-classes", "second"), longer("turned", "first")
    ended = all(len(job.iterations) == 8 for item in seen.values() for job in item.jobs)

    ready = runs["two-classes"][0]
    slowest = min(link.rate_bps for link in ready.fabric.links)
    frame_us = 8 * (ready.variant.collective.payload_bytes + 62) / slowest * 10**6
    held_us = alone["first"] * before[0]
    most_us = _STARTS * _SHARED_LINKS * frame_us
    again = sum(job.retransmitted for job in seen["turned"].jobs)
    return (
        Finding(
            "an iteration of the job that goes first, beside one that overloads the same links",
            _OWN,
            f"at most {_WITHIN:+.0%}",
            " and ".join(f"{share:+.2%}" for share in before) + ", each of two jobs in turn",
            "holds" if right and max(before) <= _WITHIN else "differs",
        ),
        Finding(
            "how long frames on the wire hold it up, which strict priority does not interrupt",
            "derived here: a frame at each start, on each shared link",
            f"at most {most_us:.2f} us an iteration",
            f"{held_us:.2f} us; a frame takes {frame_us:.3f} us",
            "holds" if held_us <= most_us else "differs",
        ),
        Finding(
            "the job that goes last still ends, with the right data in every iteration",
            _OWN,
            "it ends",
            f"{' and '.join(f'{share:+.1%}' for share in after)} an iteration; {again} frames sent again, "
            "which it took for lost",
            "holds" if right and ended else "differs",
        ),
        Finding(
            "both in one class",
            "Crux, motivation: GPT beside BERT, on its production cluster",
            "+11.0 %",
            " and ".join(f"{share:+.1%}" for share in one_class),
            "not judged",
            "other jobs, other links: the slowdown is what priorities are there to take away",
        ),
    )


def run_profiled(note: Progress) -> Sequence[Finding]:
    """Jobs that are run to be measured, and then served by their intensity."""
    runs = observed(_SCENARIO, note, {"one-class", "crux"})
    (_, without), (_, ordered) = runs["one-class"], runs["crux"]
    first, second = (_job(ordered, name) for name in ("first", "second"))

    def intensity(job: JobReport) -> float:
        item = job.iterations[0]
        return job.nodes * job.compute_ps / (item.sent_ps - item.send_ps)

    gain = _busy(ordered) / _busy(without) - 1
    in_order = (intensity(first) > intensity(second)) == (first.priority < second.priority)
    return (
        Finding(
            "a job is measured in its first iteration, before all others; the more intensive goes first",
            "Crux, sections 4 and 5",
            "I = W / t decides",
            f"I of {intensity(first):.1f} and {intensity(second):.1f} GPUs: priorities {first.priority} and "
            f"{second.priority}",
            "holds" if in_order and _all_right(ordered) else "differs",
        ),
        Finding(
            "utilisation of accelerators against one class, two jobs on 16 accelerators, packets",
            "Crux, testbed of 96 GPUs",
            "+8.3 % to +14.8 %",
            f"{gain:+.1%}, with the iterations in which jobs are measured",
            "not judged" if gain > 0 else "differs",
            "not the paper's jobs, nor its fabric",
        ),
    )


CHECKS = (
    FindingsCheck("packet-priorities", "crux", "priorities hold in the data plane", run_priorities),
    FindingsCheck("packet-profiling", "crux", "jobs measured and ordered, packet by packet", run_profiled),
)
