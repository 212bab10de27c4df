# SPDX-License-Identifier: Apache-2.0
"""Assertions of a scenario: a bound on a metric, a number or relative to another metric."""

from __future__ import annotations

from typing import Annotated, Literal, Self, final

from pydantic import Discriminator, Field, Tag, model_validator

from lab.scenario.topology import Model, Positive
from lab.scenario.traffic import NUMBER, RELATIVE

__all__ = ["Assertion", "Relative"]


@final
class Relative(Model):
    """A limit relative to another metric of the same result."""

    metric: str
    times: Positive = 1.0


Limit = Annotated[
    Annotated[float, Field(allow_inf_nan=False), Tag(NUMBER)] | Annotated[Relative, Tag(RELATIVE)],
    Discriminator(lambda value: RELATIVE if isinstance(value, dict | Relative) else NUMBER),
]


@final
class Assertion(Model):
    """A bound on one metric, named VARIANT.METRIC, by one of `max`, `min` and `equals`."""

    metric: str
    name: str = ""
    max: Limit | None = None
    min: Limit | None = None
    equals: Limit | None = None

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if sum(limit is not None for limit in (self.max, self.min, self.equals)) != 1:
            raise ValueError("an assertion has exactly one of max, min and equals")
        return self

    @property
    def relation(self) -> Literal["max", "min", "equals"]:
        """Kind of the limit."""
        return "max" if self.max is not None else "min" if self.min is not None else "equals"

    @property
    def limit(self) -> float | Relative:
        """Limit of the metric."""
        limit = getattr(self, self.relation)
        assert limit is not None
        return limit
