# SPDX-License-Identifier: Apache-2.0
"""A check: claims about the figures of one source, and the rows of its table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import Any, TypeAlias, final

from papers.claims.claim import Claim, Interval, Kind, Measured, Verdict, number, verdict
from papers.claims.expression import Expression
from papers.claims.figures.sources import Figures, Source
from papers.claims.figures.tasks import Progress
from topologies.errors import RailyardError

__all__ = [
    "Check",
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

Values: TypeAlias = Mapping[str, "Measured | float"]
"""Figures that a model returns, by name."""


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A claim with its measured value and verdict.

    If nothing could be measured, `measured` is None and `trouble` is the reason.
    """

    claim: Claim
    measured: Measured | None
    verdict: Verdict
    trouble: str = ""


@final
@dataclass(frozen=True, slots=True)
class Check:
    """Claims about the figures of one source.

    Attributes:
        name: slug of the check, by which a command selects it.
        title: quantity that is checked, in words.
        source: model or scenario that gives the figures.
        long: whether the check takes minutes; it then runs only on request.
        alone: whether no other task may run at the same time.
    """

    name: str
    title: str
    claims: tuple[Claim, ...]
    source: Source
    long: bool = False
    alone: bool = False

    def changed(self, values: Mapping[str, Any]) -> Check:
        """Return the check with other arguments of its model, or other values of its scenario's keys."""
        return replace(self, source=self.source.changed(values))


def judged(claims: Sequence[Claim], figures: Figures) -> tuple[Row, ...]:
    """Return a row for each claim, in order; the verdict is "unexpected" if the figure does not exist."""
    result = []
    for claim in claims:
        try:
            measured = _measured(claim, figures)
        except RailyardError as ex:
            result.append(Row(claim, None, "unexpected", str(ex)))
        else:
            result.append(Row(claim, measured, verdict(claim, measured)))
    return tuple(result)


def _measured(claim: Claim, figures: Figures) -> Measured:
    name = claim.value or claim.name
    known = name in figures.values
    value = figures.of(name) if known else Expression(name).of(figures.plain, figures.each)
    if isinstance(value, Measured):
        return value
    if not isinstance(value, int | float):
        raise RailyardError(
            f"{name} is {value!r}, which is not a number",
            remedy="give the claim a `value:` that is a number, such as a comparison",
        )
    return Measured(float(value))


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
    """Return a summary of claims with a line for each kind; claims with figures of the paper come first."""
    names = {
        Kind.stated: "figures that the paper states",
        Kind.derived: "figures derived here",
        Kind.fitted: "figures fitted to the paper",
        Kind.identity: "identities (no evidence)",
        Kind.recalled: "figures recalled of the paper",
    }
    others: dict[Verdict, str] = {"known difference": "known to differ", "unexpected": "unexpected"}
    lines = []
    for kind, counter in counts(rows).items():
        rest = [f"{counter[name]} {words}" for name, words in others.items() if counter[name]]
        held = f"{counter['holds']} of {counter.total()} {names[kind]} hold"
        lines.append("; ".join([held, *rest]))
    return lines
