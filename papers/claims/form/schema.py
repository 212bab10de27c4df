# SPDX-License-Identifier: Apache-2.0
"""A file of claims as pydantic models: what `reader` checks, and the JSON schema for editors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Self, final

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from harness.scenario.topology import Model, Name
from papers.claims.claim import Claim, Function

__all__ = ["CheckSettings", "FileSettings", "json_schema"]


def _files(given: Any) -> Any:
    return (given,) if isinstance(given, str) else given


_Files = Annotated[
    tuple[str, ...],
    Field(min_length=1),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]

# In a claim with cases, the name has placeholders of the cases in braces.
_ClaimName = Annotated[Name, WithJsonSchema({"type": "string", "pattern": r"^[a-z0-9{][^ ]*$"})]


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
    model: Function | None = None
    arguments: Mapping[str, Any] = Field(default_factory=dict)
    scenario: Annotated[_Files | None, BeforeValidator(_files)] = None
    variants: tuple[str, ...] = ()
    set: Mapping[str, Any] = Field(default_factory=dict)
    fail_each: str = ""
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    long: bool = False
    alone: bool = False
    derive: Function = ""
    picture: Function = ""
    common: Mapping[str, Any] = Field(default_factory=dict)
    claims: Mapping[_ClaimName, Claim] = Field(default_factory=dict)

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
        if self.fail_each and len(self.scenario or ()) > 1:
            raise ValueError(f"`fail_each:` takes a single scenario, got {len(self.scenario or ())}")
        if any(claim.name for claim in self.claims.values()):
            raise ValueError("a claim has no key `name:`; its name is the key before the colon")
        if not self.claims and (self.model is not None or self.fail_each):
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
