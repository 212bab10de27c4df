# SPDX-License-Identifier: Apache-2.0
"""Axes of a study, from the key `study` of a scenario file or the options of `railyard sweep`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, final

from pydantic import BeforeValidator, Field

from harness.scenario.topology import Model

__all__ = ["Study", "values_of"]

_RANGE = re.compile(r"(\d+)\.\.(\d+)")


def values_of(given: Any) -> tuple[Any, ...]:
    """Return the values of an axis: of a list, of text such as `1..4,9`, or of a single value.

    A range `1..4` in text stands for the whole numbers 1, 2, 3 and 4.
    """
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
    """Return seeds as whole numbers; any other value stays unchanged, for the check of types to report."""
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
    """Axes for repeated runs of a scenario.

    Attributes:
        set: Values of each axis, by the scenario key that they replace, such as `link.detect_us`.
        seeds: Seeds with which each point runs; empty means the scenario's seed.
        fail_each: Targets that fail in turn, each in a run of its own: every `link`, `switch` or `npu`;
            `pair:N`, N random pairs of links; or `random:NxR@T`, R runs with N random link faults each until
            T microseconds. R is 100 and T the time of the variant's last fault by default.
        keep_faults: True if a variant keeps its faults but the last, at whose time the targets of
            `fail_each` fail beside them.
        combine: `grid` takes all combinations of values; `list` takes the first values of all axes together,
            then the second values, and so on.
        sample: Number of points drawn at random; None means all points.
    """

    set: Annotated[Mapping[str, Annotated[tuple[Any, ...], Field(min_length=1)]], BeforeValidator(_axes)] = (
        Field(default_factory=dict)
    )
    seeds: Annotated[tuple[_Seed, ...], BeforeValidator(_seeds)] = ()
    fail_each: Annotated[tuple[_Kind, ...], BeforeValidator(_kinds)] = ()
    keep_faults: bool = False
    combine: Literal["grid", "list"] = "grid"
    sample: Annotated[int, Field(ge=1)] | None = None

    @property
    def needs_faults(self) -> bool:
        """True if the variants need faults: to keep them, or as times of targets without `@T`."""
        return self.keep_faults or any("@" not in kind for kind in self.fail_each)
