# SPDX-License-Identifier: Apache-2.0
"""A claim: a figure, the interval in which it holds, and a mutation that turns its verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast, final

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from harness.scenario.topology import Model
from papers.claims.expression import Expression
from topologies.errors import RailyardError
from topologies.plugins.python_file import is_reference

__all__ = ["Claim", "Function", "Interval", "Kind", "Measured", "Mutation", "Verdict", "number", "verdict"]

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


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _interval(value: Any) -> Any:
    """Return the interval of a number or of [low, high]; ValueError for any other value."""
    if isinstance(value, Interval) or value is None:
        return value
    if _number(value):
        return Interval(value, value)
    if isinstance(value, tuple) and len(value) == 2 and all(end is None or _number(end) for end in value):
        ends = {name: end for name, end in zip(("low", "high"), value, strict=True) if end is not None}
        return Interval(**ends)
    raise ValueError(f"{value!r} is not a number or [low, high]; leave an open end null")


def _figure(value: Any) -> Any:
    """Return the interval of a figure; a figure in words stays text."""
    return value if isinstance(value, str) else _interval(value)


def _expression(text: str) -> str:
    """Return an expression over figures, or the empty text; ValueError if the text is no expression."""
    try:
        return Expression(text).text if text else text
    except RailyardError as ex:
        raise ValueError(str(ex)) from None


def _located(reference: str, info: ValidationInfo) -> str:
    """Make FILE.py of a reference relative to the working directory instead of the file's folder."""
    folder = (info.context or {}).get("folder", Path())
    return str(folder / reference) if is_reference(reference) else reference


_ENDS = {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 2, "maxItems": 2}
_INTERVAL: dict[str, Any] = {
    "anyOf": [{"type": "number"}, _ENDS],
    "description": "a number, or [low, high] with null for an open end",
}
_OR_WORDS: dict[str, Any] = {**_INTERVAL, "anyOf": [*_INTERVAL["anyOf"], {"type": "string"}]}

_Interval = Annotated[Interval, PlainValidator(_interval), WithJsonSchema(_INTERVAL)]
_OptionalInterval = Annotated[Interval | None, PlainValidator(_interval), WithJsonSchema(_INTERVAL)]
_Figure = Annotated[Interval | str | None, PlainValidator(_figure), WithJsonSchema(_OR_WORDS)]
_Expression = Annotated[str, AfterValidator(_expression)]
Function = Annotated[str, Field(pattern=r"^(.+\.py|[A-Za-z_][\w.]*):[A-Za-z_]\w*$"), AfterValidator(_located)]
"""A function: `module:function` or `FILE.py:function`, relative to the file of claims."""


@final
class Mutation(Model):
    """A change that must turn a claim's verdict: values set, other figures read, or the value changed.

    Attributes:
        what: The change in words; needed for `set` and `value`.
        parameters: Key `set`: arguments of the model or keys of the scenario, and their values; the check
            computes its figures again.
        value: Expression in place of the claim's expression, over the same figures.
        scale: Factor of the measured value.
        shift: Number added to the measured value.
        function: Function that returns another value for the measured value.
    """

    what: str = ""
    parameters: Mapping[str, Any] = Field(default={}, alias="set")
    value: _Expression = ""
    scale: float = 1.0
    shift: float = 0.0
    function: Function = ""

    @model_validator(mode="after")
    def _one_change(self) -> Self:
        keys = self.model_dump(by_alias=True, exclude_unset=True)
        given = [key for key in ("set", "value", "scale", "shift", "function") if key in keys]
        if len(given) != 1:
            raise ValueError(
                "a mutation has exactly one of set, value, scale, shift and function; "
                f"got {', '.join(given) or 'none'}"
            )
        if given[0] in ("set", "value") and not self.what:
            raise ValueError("`what:` is missing: say in words what `set:` or `value:` changes")
        return self

    @property
    def words(self) -> str:
        """The change in words."""
        if self.what:
            return self.what
        if self.function:
            return f"the value by {Path(self.function).name}"
        by_scale = "scale" in self.model_fields_set
        return f"the value times {self.scale:g}" if by_scale else f"the value {self.shift:+g}"


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


_NEEDED = {
    "text": "the quantity, in words",
    "kind": "stated, derived, fitted, identity or recalled",
    "place": "where the paper says it, or what it follows from",
}


@final
class Claim(Model):
    """A figure of a paper or of this project, declared before anything is measured.

    Keys that a file of claims leaves out come from the check's `common`.

    Attributes:
        name: Slug of the claim in its check; in a file, the key of the claim.
        text: The quantity, in words.
        kind: Origin of the paper's figure.
        place: The paper's section, figure or table; for a derived figure, the source of the derivation.
        unit: Unit of all figures: "%", "x", "us", or a plural noun for counts.
        paper: The paper's figure: a number, [low, high], or words.
        within: Largest distance from `holds`, or from `paper` without `holds`.
        holds: Values at which the claim holds; if missing, the values `within` of the paper's figure.
        expected: For a known difference, the expected values of our figure.
        reason: Reason of the difference, or basis of the claim.
        value: Expression over the check's figures; else the figure with the claim's name.
        mutation: A change that must turn the verdict; optional only for `kind: identity`.
        cases: A claim for each case: its keys of a claim replace those given here, and its other values the
            {placeholders} in the claim's name and texts.
    """

    name: SkipJsonSchema[str] = ""
    text: str = ""
    kind: Annotated[Kind, Field(strict=False)] = cast(Kind, None)  # a validator refuses a claim without one
    place: str = ""
    unit: str = ""
    paper: _Figure = None
    within: Annotated[float, Field(ge=0)] = 0
    holds: _Interval = Field(default=None, validate_default=True)
    expected: _OptionalInterval = None
    reason: str = ""
    value: _Expression = ""
    mutation: Mutation | None = None
    cases: tuple[Mapping[str, Any], ...] = ()

    @field_validator("holds")
    @classmethod
    def _around(cls, holds: Interval | None, info: ValidationInfo) -> Interval | None:
        """Return `holds`, or the paper's figure in its place, with `within` on both sides."""
        if not {"paper", "within"} <= info.data.keys():
            return holds  # `paper` or `within` is at fault
        middle = info.data["paper"] if holds is None else holds
        if not isinstance(middle, Interval):
            raise ValueError("give `paper:` a number, or `holds:` the values at which the claim holds")
        return Interval(middle.low - info.data["within"], middle.high + info.data["within"])

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for key, what in _NEEDED.items():
            if not getattr(self, key):
                raise ValueError(f"`{key}:` is missing: {what}")
        if self.mutation is None and self.kind is not Kind.identity:
            raise ValueError("`mutation:` is missing; only an identity may lack one")
        if (expected := self.expected) is None:
            return self
        if not self.reason:
            raise ValueError("the claim expects a difference; give its reason")
        if expected.low in self.holds and expected.high in self.holds:
            raise ValueError(
                f"the claim expects a difference where it holds: {expected.text()} is within "
                f"{self.holds.text()}; narrow one interval"
            )
        return self

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
