# SPDX-License-Identifier: Apache-2.0
"""Test the checks of claims: a mutation must change an accepted claim's verdict to unexpected."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import final

from harness.sweeps.worker_processes import Done
from papers.claims.check import Check, Row, judged
from papers.claims.claim import Measured, Mutation, Verdict, verdict
from papers.claims.figures.functions import called
from papers.claims.runner import Finished, Runner

__all__ = ["Turn", "changed", "mutated", "under_mutations"]


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


def under_mutations(check: Check) -> list[Check]:
    """Return a check unchanged, and with each set of parameters of its claims' mutations once."""
    checks = [check]
    for claim in check.claims:
        if claim.mutation and claim.mutation.parameters:
            changed = check.changed(claim.mutation.parameters)
            checks += [changed] if changed not in checks else []
    return checks


def mutated(
    checks: Sequence[Check], runner: Runner, note: Callable[[Done], None] = lambda _: None
) -> Iterator[tuple[Check, list[Turn]]]:
    """Compute checks unchanged and under every mutation; yield each check with the `Turn` of each claim.

    Claims without a mutation or a measured value have no `Turn`. If a source refuses the parameters of
    a mutation, the verdict is "unexpected", so the mutation turns it.
    """
    groups = [under_mutations(check) for check in checks]
    done = runner.finished([check for group in groups for check in group], note=note)
    for check, group in zip(checks, groups, strict=True):
        yield check, [*_turns([*islice(done, len(group))])]


def _turns(done: Sequence[Finished]) -> Iterator[Turn]:
    plain, *others = done
    for number, row in enumerate(plain.rows):
        mutation = row.claim.mutation
        if mutation is None or row.measured is None:
            continue
        if mutation.parameters:
            changed_check = plain.check.changed(mutation.parameters)
            other = next(item for item in others if item.check == changed_check)
            yield _turn(row, other.rows[number])
        elif mutation.value and plain.figures is not None:
            (other,) = judged([row.claim.model_copy(update={"value": mutation.value})], plain.figures)
            yield _turn(row, other)
        else:
            measured = changed(mutation, row.measured)
            yield Turn(row, measured.value, verdict(row.claim, measured))


def _turn(row: Row, other: Row) -> Turn:
    return Turn(row, math.nan if other.measured is None else other.measured.value, other.verdict)
