# SPDX-License-Identifier: Apache-2.0
"""A check: one measurement that gives the values of several claims, and their rows of the table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TypeAlias, final

from papers.claims.claim import Claim, Interval, Kind, Measured, Verdict, number, verdict

__all__ = [
    "Check",
    "Measures",
    "Progress",
    "Row",
    "Values",
    "counts",
    "headline",
    "judged",
    "ours",
    "passed",
    "report",
    "says",
]

# Called by a measurement with what it is doing and which share of its work is done, 0 to 1.
Progress = Callable[[str, float], None]

Values: TypeAlias = Mapping[str, "Measured | float"]
"""Measured values by the name of their claim."""

Measures: TypeAlias = Callable[..., Values]
"""Called with a `Progress`; keyword arguments are the parameters that mutations change."""


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A claim with its measured value and verdict; `measured` is None where nothing could be measured."""

    claim: Claim
    measured: Measured | None
    verdict: Verdict
    trouble: str = ""


@final
@dataclass(frozen=True, slots=True)
class Check:
    """A measurement for claims of `paper`, asked for by its slug `name`.

    `long`: it takes minutes, and runs when asked for. `picture` draws it as SVG, once `measure` has returned.
    """

    name: str
    paper: str
    title: str
    claims: tuple[Claim, ...]
    measure: Measures
    long: bool = False
    picture: Callable[[], str] | None = None

    def rows(self, note: Progress) -> tuple[Row, ...]:
        """Measure, and judge each claim.

        Raises:
            KeyError: `measure` returned values of other claims than those declared.
        """
        return judged(self.claims, self.measure(note))


def judged(claims: Sequence[Claim], values: Values) -> tuple[Row, ...]:
    """Return a row for each claim, in order; KeyError unless `values` has exactly these claims."""
    if different := {claim.name for claim in claims} ^ set(values):
        raise KeyError(f"declared or measured, not both: {', '.join(sorted(different))}")
    result = []
    for claim in claims:
        value = values[claim.name]
        measured = value if isinstance(value, Measured) else Measured(float(value))
        result.append(Row(claim, measured, verdict(claim, measured)))
    return tuple(result)


def says(claim: Claim) -> str:
    """Return the paper's figure in words, or a dash."""
    return claim.paper.text(claim.unit) if isinstance(claim.paper, Interval) else claim.paper or "-"


def ours(row: Row) -> str:
    """Return our figure in words: the value, its confidence interval and the detail."""
    measured = row.measured
    if measured is None:
        return f"could not be measured: {row.trouble}"
    parts = [] if math.isnan(measured.value) else [number(measured.value, row.claim.unit)]
    if measured.low is not None and measured.high is not None:
        interval = Interval(measured.low, measured.high)
        ends = f"{number(interval.low)} to {number(interval.high, row.claim.unit)}"
        parts.append(f"{ends} over {measured.samples} seeds")
        if isinstance(row.claim.paper, Interval):
            inside = row.claim.paper.low in interval and row.claim.paper.high in interval
            parts.append(f"the paper's figure is {'inside' if inside else 'outside'}")
    return "; ".join([*parts, *filter(None, [measured.detail])])


def report(rows: Iterable[Row]) -> str:
    """Return a paragraph for each row: the claim, the paper's figure, ours, kind, verdict and reason."""
    parts = []
    for row in rows:
        claim = row.claim
        words = f"{claim.text}: paper {says(claim)}, ours {ours(row)} ({claim.kind}, {row.verdict})"
        parts.append(fill(words, 110, subsequent_indent="    "))
        if claim.reason:
            parts.append(fill(claim.reason, 110, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(parts)


def passed(rows: Iterable[Row]) -> bool:
    """Return whether no verdict is unexpected."""
    return all(row.verdict != "unexpected" for row in rows)


def counts(rows: Iterable[Row]) -> Mapping[Kind, Counter[Verdict]]:
    """Return the number of rows by kind and verdict."""
    result: dict[Kind, Counter[Verdict]] = {kind: Counter() for kind in Kind}
    for row in rows:
        result[row.claim.kind][row.verdict] += 1
    return {kind: counter for kind, counter in result.items() if counter}


def headline(rows: Iterable[Row]) -> Sequence[str]:
    """Return the summary: figures that the paper states first, every other kind on a line of its own."""
    names = {
        Kind.stated: "figures that the paper states",
        Kind.derived: "figures derived here",
        Kind.fitted: "figures fitted to the paper",
        Kind.identity: "identities (no evidence)",
        Kind.recalled: "figures recalled of the paper",
    }
    others: dict[Verdict, str] = {
        "known difference": "known to differ",
        "unexpected": "unexpected",
    }
    lines = []
    for kind, counter in counts(rows).items():
        rest = [f"{counter[name]} {words}" for name, words in others.items() if counter[name]]
        held = f"{counter['holds']} of {counter.total()} {names[kind]} hold"
        lines.append("; ".join([held, *rest]))
    return lines
