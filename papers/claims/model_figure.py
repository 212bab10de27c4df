# SPDX-License-Identifier: Apache-2.0
"""A figure of a model beside the paper's, with what it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from textwrap import fill
from typing import final

__all__ = ["Figure", "Kind", "report"]


class Kind(StrEnum):
    """Origin of our figure; only a fitted figure was made to agree with the paper's."""

    counted = "counted"  # from the structure alone
    recomputed = "recomputed"  # the paper's own figures put into the paper's own formula
    predicted = "predicted"  # from parameters that were not taken from this figure
    fitted = "fitted"  # a parameter was solved from this very figure: it agrees by construction


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """`paper` is None where it gives no figure.

    `within` is the largest difference at which it holds: percentage points where `unit` is "%", else a share
    of the paper's figure. `known`: it is known to differ more than that, for the `reason` given.
    """

    name: str
    source: str
    paper: float | None
    ours: float
    unit: str
    kind: Kind
    within: float = 0.0
    reason: str = ""
    known: bool = False
    digits: int = 2

    @property
    def difference(self) -> float | None:
        """Percentage points where the unit is "%", else a share of the paper's figure."""
        if self.paper is None:
            return None
        if self.unit == "%":
            return self.ours - self.paper
        return self.ours / self.paper - 1

    @property
    def judged(self) -> bool:
        return self.paper is not None and self.kind is not Kind.fitted

    @property
    def holds(self) -> bool:
        return self.difference is not None and abs(self.difference) <= self.within

    def shown(self, value: float | None) -> str:
        if value is None:
            return "-"
        digits = self.digits if self.unit or not float(value).is_integer() else 0
        text = f"{value:,.{digits}f}"
        if digits:
            text = text.rstrip("0").rstrip(".")
        return f"{text} {self.unit}" if self.unit and self.unit != "x" else f"{text}{self.unit}"

    @property
    def difference_shown(self) -> str:
        if self.difference is None:
            return "-"
        # Adding nothing turns -0.0 into 0.0.
        if self.unit == "%":
            return f"{round(self.difference, 2) + 0.0:+.2f} pp"
        return f"{round(100 * self.difference, 1) + 0.0:+.1f} %"


def report(figures: Iterable[Figure]) -> str:
    """Return a paragraph for each figure: name, paper, ours, difference, kind and reason."""
    parts = []
    for figure in figures:
        paper, ours = figure.shown(figure.paper), figure.shown(figure.ours)
        values = f"paper {paper}, ours {ours}, {figure.difference_shown} ({figure.kind})"
        parts.append(f"{figure.name}: {values}")
        if figure.reason:
            parts.append(fill(figure.reason, 110, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(parts)
