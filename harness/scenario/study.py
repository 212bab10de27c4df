# SPDX-License-Identifier: Apache-2.0
"""Axes of a study, as the key `study` of a scenario file or the options of `railyard sweep` give them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, final

from pydantic import BeforeValidator, Field

from harness.scenario.topology import Model

__all__ = ["Study", "values_of"]

_RANGE = re.compile(r"(\d+)\.\.(\d+)")


def values_of(given: Any) -> tuple[Any, ...]:
    """Return the values of an axis; `1..4,9` stands for whole numbers, a single value for a list."""
    if isinstance(given, str):
        return tuple(_spread(given.split(",") if _RANGE.search(given) else [given]))
    if isinstance(given, list | tuple):
        return tuple(_spread(given))
    return (given,)


def _spread(values: Any) -> Iterator[Any]:
    for value in values:
        match = _RANGE.fullmatch(value.strip()) if isinstance(value, str) else None
        if match:
            yield from range(int(match[1]), int(match[2]) + 1)
        else:
            yield int(value) if isinstance(value, str) and value.strip().isdigit() else value


def _seeds(given: Any) -> Any:
    """Return seeds as whole numbers; what is no number stays for the check of types."""
    return values_of(given.split(",") if isinstance(given, str) else given)


def _axes(given: Any) -> Any:
    return {key: values_of(values) for key, values in given.items()} if isinstance(given, Mapping) else given


def _kinds(given: Any) -> Any:
    return (given,) if isinstance(given, str) else given


_Seed = Annotated[int, Field(ge=0, lt=2**63)]
_Kind = Annotated[
    str,
    Field(
        pattern=r"^(link|switch|npu|pair:[1-9][0-9]*"
        r"|random:[1-9][0-9]?(x[1-9][0-9]{0,4})?(@[0-9]{1,9}(\.[0-9]{1,3})?)?)$"
    ),
]


@final
class Study(Model):
    """Axes along which a scenario is repeated.

    Attributes:
        set: Values of an axis, by the key of the scenario that takes them, as `link.detect_us`.
        seeds: Seeds of each point; none means the scenario's own.
        fail_each: What fails in turn: every `link`, `switch` or `npu`, or `pair:N`, N random pairs of links;
            or `random:NxR@T`, R times N random faults of links until T microseconds; unless given, 100 times,
            until the variant's last fault.
        combine: All combinations of values (`grid`), or the first values, the second, and so on (`list`).
        sample: Number of points that are drawn from all; None means all points.
    """

    set: Annotated[Mapping[str, Annotated[tuple[Any, ...], Field(min_length=1)]], BeforeValidator(_axes)] = (
        Field(default_factory=dict)
    )
    seeds: Annotated[tuple[_Seed, ...], BeforeValidator(_seeds)] = ()
    fail_each: Annotated[tuple[_Kind, ...], BeforeValidator(_kinds)] = ()
    combine: Literal["grid", "list"] = "grid"
    sample: Annotated[int, Field(ge=1)] | None = None

    @property
    def needs_faults(self) -> bool:
        """True if what fails in turn fails at the times of a variant's faults."""
        return any("@" not in kind for kind in self.fail_each)
