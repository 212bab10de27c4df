# SPDX-License-Identifier: Apache-2.0
"""A file of claims as pydantic models: what `reader` checks, and the JSON schema for editors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, final

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema, model_validator

from harness.scenario.topology import Model, Name
from papers.claims.claim import Interval

__all__ = ["CheckSettings", "ClaimSettings", "FileSettings", "MutationSettings", "json_schema"]

_END: Mapping[str, Any] = {"type": ["number", "null"]}
_INTERVAL: dict[str, Any] = {
    "anyOf": [
        {"type": "number"},
        {"type": "array", "items": _END, "minItems": 2, "maxItems": 2},
    ],
    "description": "a number, or [low, high] with null for an open end",
}
_OR_WORDS: dict[str, Any] = {**_INTERVAL, "anyOf": [*_INTERVAL["anyOf"], {"type": "string"}]}


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


_Interval = Annotated[Interval | None, PlainValidator(_interval), WithJsonSchema(_INTERVAL)]
_Figure = Annotated[Interval | str | None, PlainValidator(_figure), WithJsonSchema(_OR_WORDS)]


def _files(given: Any) -> Any:
    return (given,) if isinstance(given, str) else given


_Files = Annotated[
    tuple[str, ...],
    Field(min_length=1),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]

# In a claim with cases, the name has placeholders of the cases in braces.
_ClaimName = Annotated[Name, WithJsonSchema({"type": "string", "pattern": r"^[a-z0-9{][^ ]*$"})]

_Function = Annotated[str, Field(pattern=r"^(.+\.py|[A-Za-z_][\w.]*):[A-Za-z_]\w*$")]


@final
class MutationSettings(Model):
    """A change that must turn a claim's verdict: values set, other figures read, or the value changed.

    Attributes:
        what: The change in words; needed for `set` and `value`.
        set: Arguments of the model, or keys of the scenario, and their values.
        value: Expression in place of the claim's expression, over the same figures.
        scale: Factor of the measured value.
        shift: Number added to the measured value.
        function: Function that returns another value for the measured value.
    """

    what: str = ""
    set: Mapping[str, Any] | None = None
    value: str | None = None
    scale: float | None = None
    shift: float | None = None
    function: _Function | None = None

    @model_validator(mode="after")
    def _one_change(self) -> Self:
        keys = ("set", "value", "scale", "shift", "function")
        given = [key for key in keys if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(
                "a mutation has exactly one of set, value, scale, shift and function; "
                f"got {', '.join(given) or 'none'}"
            )
        if (self.set is not None or self.value is not None) and not self.what:
            raise ValueError("`what:` is missing: say in words what `set:` or `value:` changes")
        return self


@final
class ClaimSettings(Model):
    """A claim; missing keys come from the check's `common`.

    Attributes:
        text: The quantity, in words.
        kind: Origin of the reference figure.
        place: The paper's section, figure or table; for a derived figure, the source of the derivation.
        unit: Unit of all figures: "%", "x", "us", or a plural noun for counts.
        paper: The paper's figure: a number, [low, high], or words.
        holds: Values at which the claim holds; if missing, the values `within` of the paper's figure.
        within: Largest distance from `holds`, or from `paper` without `holds`.
        expected: For a known difference, the expected values of our figure.
        reason: Reason of the difference, or basis of the claim.
        value: Expression over the check's figures; else the figure with the claim's name.
        mutation: A change that must turn the verdict; optional only for `kind: identity`.
        cases: A claim for each case: its keys of a claim replace those given here, and its other values the
            {placeholders} in the claim's name and texts.
    """

    text: str = ""
    kind: Literal["stated", "derived", "fitted", "identity", "recalled"] | None = None
    place: str = ""
    unit: str = ""
    paper: _Figure = None
    holds: _Interval = None
    within: Annotated[float, Field(ge=0)] | None = None
    expected: _Interval = None
    reason: str = ""
    value: str = ""
    mutation: MutationSettings | None = None
    cases: tuple[Mapping[str, Any], ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not self.text:
            raise ValueError("`text:` is missing: the quantity, in words")
        if self.kind is None:
            raise ValueError("`kind:` is missing: stated, derived, fitted, identity or recalled")
        if not self.place:
            raise ValueError("`place:` is missing: where the paper says it, or what it follows from")
        if self.holds is None and not isinstance(self.paper, Interval):
            raise ValueError("give `paper:` a number, or `holds:` the values at which the claim holds")
        if self.mutation is None and self.kind != "identity":
            raise ValueError("`mutation:` is missing; only an identity may lack one")
        return self


@final
class CheckSettings(Model):
    """Claims about the figures of one model or scenario.

    Attributes:
        title: What is checked, in words.
        model: Function that returns a figure, or figures by name: `module:function` or `FILE.py:function`.
        arguments: Arguments of the function.
        scenario: A scenario file or several, as paths or below experiments/; the figures are VARIANT.METRIC
            and the keys of result.json.
        variants: Variants that run; all if empty.
        set: Values of keys of the scenario.
        fail_each: What fails in turn, as in `railyard sweep`; the figures are the metrics of sweep.json.
        repeats: Runs of each variant; the figure `differing` counts results that differ from the first.
        long: The check takes minutes; it runs only on request.
        alone: The check measures processor time or memory, so nothing else runs at the same time.
        derive: Function that is given the content of result.json and returns further figures by name.
        picture: Function that returns an SVG; with a scenario, it is given the content of result.json.
        common: Keys of claims and their values, for every claim that does not set the key itself.
        claims: Claims by name; may be empty with a scenario, whose assertions are then the only claim.
    """

    title: str
    model: _Function | None = None
    arguments: Mapping[str, Any] = Field(default_factory=dict)
    scenario: Annotated[_Files | None, BeforeValidator(_files)] = None
    variants: tuple[str, ...] = ()
    set: Mapping[str, Any] = Field(default_factory=dict)
    fail_each: str | None = None
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    long: bool = False
    alone: bool = False
    derive: _Function | None = None
    picture: _Function | None = None
    common: Mapping[str, Any] = Field(default_factory=dict)
    claims: Mapping[_ClaimName, ClaimSettings] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.model is None) == (self.scenario is None):
            raise ValueError(
                f"a check has exactly one of model and scenario; got {'both' if self.model else 'none'}"
            )
        of_scenario = {"variants", "set", "fail_each", "repeats", "derive"} & self.model_fields_set
        if self.model is not None and of_scenario:
            raise ValueError(f"`{min(of_scenario)}:` belongs to a scenario; this check has a model")
        if self.scenario is not None and "arguments" in self.model_fields_set:
            raise ValueError("`arguments:` belongs to a model; this check has a scenario")
        if self.fail_each is not None and len(self.scenario or ()) > 1:
            raise ValueError(f"`fail_each:` takes a single scenario, got {len(self.scenario or ())}")
        if not self.claims and (self.model is not None or self.fail_each is not None):
            raise ValueError("`claims:` is empty; give at least 1")
        return self


@final
class FileSettings(Model):
    """A file with the claims of a paper or a study.

    Attributes:
        name: Name of the paper or study, also of its folder of results.
        title: Title of the paper or study.
        description: Subject of the paper or study.
        files: Further files that the models of the checks read, which a bundle needs.
        checks: Checks by name.
    """

    name: Name
    title: str
    description: str = ""
    files: tuple[str, ...] = ()
    checks: Annotated[Mapping[Name, CheckSettings], Field(min_length=1)]


def json_schema() -> str:
    """Return the text of the JSON schema of a file of claims."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **FileSettings.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
