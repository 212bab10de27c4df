# SPDX-License-Identifier: Apache-2.0
"""Test the checks of claims: a mutation must change an accepted claim's verdict to unexpected."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from harness.sweeps.worker_processes import Done
from papers.claims.check import Check, Row, judged
from papers.claims.claim import Measured, Mutation, Verdict, verdict
from papers.claims.figures.functions import called
from papers.claims.runner import Finished, Job, Runner

__all__ = ["Turn", "changed", "jobs_of", "mutated"]


@final
@dataclass(frozen=True, slots=True)
class Turn:
    """Effect of a mutation on a claim: the row without the mutation, and the value and verdict under it.

    `value` is NaN if the mutated check gives no value.
    """

    row: Row
    value: float
    verdict: Verdict

    @property
    def turned(self) -> bool:
        """Return whether the mutation made an accepted value unexpected."""
        return self.row.verdict != "unexpected" and self.verdict == "unexpected"


def changed(mutation: Mutation, measured: Measured) -> Measured:
    """Return a measured value changed by a mutation of the value itself."""

    def of(value: float) -> float:
        if mutation.function:
            return float(called(mutation.function, value))
        return mutation.scale * value + mutation.shift

    if measured.low is None or measured.high is None:
        return replace(measured, value=of(measured.value))
    low, high = sorted((of(measured.low), of(measured.high)))
    return replace(measured, value=of(measured.value), low=low, high=high)


def jobs_of(check: Check) -> list[Job]:
    """Return the jobs of a check: its unchanged source, and the source with each set of parameters once."""
    jobs = [Job.of(check)]
    for claim in check.claims:
        if claim.mutation and claim.mutation.parameters:
            job = Job.of(check, claim.mutation.parameters)
            if all(job.changes != other.changes for other in jobs):
                jobs.append(job)
    return jobs


def mutated(
    checks: Sequence[Check], runner: Runner, note: Callable[[Done], None] = lambda _: None
) -> Iterator[tuple[Check, list[Turn]]]:
    """Compute checks unchanged and under every mutation; yield each check with the `Turn` of each claim.

    Claims without a mutation or a measured value have no `Turn`. If a source refuses the parameters of
    a mutation, the verdict is "unexpected", so the mutation turns it.
    """
    jobs = [job for check in checks for job in jobs_of(check)]
    done: list[Finished] = []
    for finished in runner.finished(jobs, note=note):
        done.append(finished)
        check = finished.job.check
        if len(done) == len(jobs_of(check)):
            yield check, [*_turns(done)]
            done = []


def _turns(done: Sequence[Finished]) -> Iterator[Turn]:
    plain, *others = done
    for number, row in enumerate(plain.rows):
        mutation = row.claim.mutation
        if mutation is None or row.measured is None:
            continue
        if mutation.parameters:
            other = next(item for item in others if item.job.changes == mutation.parameters).rows[number]
            yield _turn(row, other)
        elif mutation.value and plain.figures is not None:
            (other,) = judged([row.claim.model_copy(update={"value": mutation.value})], plain.figures)
            yield _turn(row, other)
        else:
            measured = changed(mutation, row.measured)
            yield Turn(row, measured.value, verdict(row.claim, measured))


def _turn(row: Row, other: Row) -> Turn:
    return Turn(row, math.nan if other.measured is None else other.measured.value, other.verdict)
