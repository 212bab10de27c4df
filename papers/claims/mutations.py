# SPDX-License-Identifier: Apache-2.0
"""Mutations of claims: each is applied, and the verdict has to turn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from papers.claims.check import Check, Progress, Row, judged
from papers.claims.claim import Claim, Measured, Verdict, verdict
from topologies.errors import RailyardError

__all__ = ["Turn", "mutated", "turns_everywhere"]


@final
@dataclass(frozen=True, slots=True)
class Turn:
    """A claim's row, and its verdict under the mutation."""

    row: Row
    value: float
    verdict: Verdict

    @property
    def turned(self) -> bool:
        """Return whether the mutation made an accepted value unexpected."""
        return self.row.verdict != "unexpected" and self.verdict == "unexpected"


def mutated(check: Check, note: Progress) -> Sequence[Turn]:
    """Measure a check as it is and under every mutation of its claims; identities have none.

    Raises:
        RailyardError: The check cannot be measured as it is.
    """
    sets: list[dict[str, object]] = []
    for claim in check.claims:
        if claim.mutation and claim.mutation.parameters and dict(claim.mutation.parameters) not in sets:
            sets.append(dict(claim.mutation.parameters))
    parts = 1 + len(sets)
    rows = judged(check.claims, check.measure(lambda what, share: note(what, share / parts)))
    others = [
        _measured(check, given, lambda what, share, at=at: note(f"mutated, {what}", (at + share) / parts))
        for at, given in enumerate(sets, 1)
    ]
    result = []
    for place, row in enumerate(rows):
        mutation = row.claim.mutation
        if mutation is None or row.measured is None:
            continue
        if mutation.parameters:
            other = others[sets.index(dict(mutation.parameters))][place]
            value = math.nan if other.measured is None else other.measured.value
            result.append(Turn(row, value, other.verdict))
        else:
            measured = mutation.of(row.measured)
            result.append(Turn(row, measured.value, verdict(row.claim, measured)))
    return result


def _measured(check: Check, given: Mapping[str, object], note: Progress) -> Sequence[Row]:
    """Return the rows of a check with other parameters; parameters that are refused turn every verdict."""
    try:
        return judged(check.claims, check.measure(note, **given))
    except RailyardError as ex:
        return [Row(claim, None, "unexpected", str(ex)) for claim in check.claims]


def turns_everywhere(claim: Claim) -> bool:
    """Return whether a mutation of the value turns every accepted value, by the ends of the interval."""
    mutation, accepted = claim.mutation, claim.accepted
    if mutation is None or mutation.parameters:
        return False
    ends = [Measured(end) for end in (accepted.low, accepted.high) if abs(end) != float("inf")]
    return bool(ends) and any(verdict(claim, mutation.of(end)) == "unexpected" for end in ends)
