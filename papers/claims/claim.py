# SPDX-License-Identifier: Apache-2.0
"""A claim: a figure, the interval in which it holds, and a mutation that turns its verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, final

__all__ = [
    "Claim",
    "Interval",
    "Kind",
    "Measured",
    "Mutation",
    "Verdict",
    "number",
    "verdict",
]

Verdict = Literal["holds", "known difference", "unexpected"]


class Kind(StrEnum):
    """Origin of the figure with which a claim compares our figure."""

    stated = "stated"  # the paper prints the figure
    derived = "derived"  # the figure follows from the paper's text, or is a target of this project
    fitted = "fitted"  # a parameter was chosen so that our figure agrees
    identity = "identity"  # both sides are one formula on the same inputs
    recalled = "recalled"  # recalled from the paper, whose text was not at hand


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """All values from `low` to `high`, both included."""

    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"interval from {self.low} to {self.high} is empty; give the lower end first")

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def text(self, unit: str = "") -> str:
        """Return the interval in words, such as "at most 1 %" or "95 to 96 %"."""
        if self.low == self.high:
            return number(self.low, unit, 6)
        if math.isinf(self.low):
            return f"at most {number(self.high, unit, 6)}" if math.isfinite(self.high) else "-"
        if math.isinf(self.high):
            return f"at least {number(self.low, unit, 6)}"
        return f"{number(self.low, digits=6)} to {number(self.high, unit, 6)}"


@final
@dataclass(frozen=True, slots=True)
class Mutation:
    """A change that must turn a claim's verdict: `parameters`, or `value`, or `function`, or scale and shift.

    Attributes:
        what: the change, in words.
        parameters: arguments of the model or keys of the scenario; the check computes its figures again.
        value: expression over the unchanged figures, in place of the claim's expression.
        function: function (`module:function` or FILE.py:function) that changes the measured value.
        scale: factor of the measured value v in `scale * v + shift`.
        shift: summand of the measured value.
    """

    what: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    value: str = ""
    scale: float = 1.0
    shift: float = 0.0
    function: str = ""


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """A value measured or computed by a check, in the claim's unit.

    Attributes:
        value: the figure; the median where there are several samples.
        low: lower end of the confidence interval of the median; None for an exact value.
        high: upper end of the confidence interval; None for an exact value.
        samples: number of seeds behind the interval.
        detail: further figures, in words for a reader.
    """

    value: float
    low: float | None = None
    high: float | None = None
    samples: int = 1
    detail: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A figure of a paper or of this project, declared before anything is measured.

    Attributes:
        name: slug of the claim in its check.
        text: the quantity, in words.
        place: the paper's section, figure or table; for a derived figure, the facts from which it follows.
        kind: origin of the paper's figure.
        unit: unit of all figures of the claim: "%", "x", "us", or a plural noun for counts.
        paper: the paper's figure, as an interval or in words; None if the paper gives no figure.
        holds: values at which the claim holds.
        expected: for a known difference, the expected values of our figure; else None.
        reason: cause of the difference, or basis of the claim.
        mutation: a change that must turn the verdict; optional only for the kind `identity`.
        value: expression over the check's figures; empty for the figure with the claim's name.
    """

    name: str
    text: str
    place: str
    kind: Kind
    holds: Interval
    mutation: Mutation | None
    unit: str = ""
    paper: Interval | str | None = None
    expected: Interval | None = None
    reason: str = ""
    value: str = ""

    def __post_init__(self) -> None:
        if self.expected is not None and not self.reason:
            raise ValueError(f"claim {self.name!r} expects a difference; give its reason")
        if (
            (expected := self.expected) is not None
            and expected.low in self.holds
            and expected.high in self.holds
        ):
            raise ValueError(
                f"claim {self.name!r} expects a difference where it holds: {expected.text()} is within "
                f"{self.holds.text()}; narrow one interval"
            )

    @property
    def accepted(self) -> Interval:
        """Accepted interval; a value outside makes the verdict "unexpected"."""
        return self.holds if self.expected is None else self.expected


def verdict(claim: Claim, measured: Measured) -> Verdict:
    """Judge a value: the whole confidence interval has to lie in what the claim accepts."""
    low = measured.value if measured.low is None else measured.low
    high = measured.value if measured.high is None else measured.high
    if not all(value in claim.accepted for value in (low, measured.value, high)):
        return "unexpected"
    return "holds" if claim.expected is None else "known difference"


def number(value: float, unit: str = "", digits: int = 4) -> str:
    """Return a number with its unit: integers in full, other numbers below 1,000 to `digits` digits."""
    if float(value).is_integer() and abs(value) < 1e15:
        text = f"{value:,.0f}"
    elif abs(value) >= 1000:
        text = f"{value:,.1f}"
    else:
        text = f"{value:.{digits}g}"
    return f"{text}{unit}" if unit == "x" else f"{text} {unit}".rstrip()
