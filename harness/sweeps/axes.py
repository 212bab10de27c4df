# SPDX-License-Identifier: Apache-2.0
"""Points of a study: values of keys of a scenario file, combined as a grid or as lists, or sampled."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from harness.errors import ScenarioError
from harness.scenario.document import Document, Location
from harness.scenario.schema import SETTINGS
from harness.scenario.study import Study
from topologies.errors import RailyardError
from topologies.families.registry import find

__all__ = ["check_own", "in_words", "point_in_words", "points_of", "with_values"]

Point = Mapping[str, Any]


def points_of(study: Study, seed: int) -> list[Point]:
    """Return the points of a study in order, each with a value for every axis.

    `seed` draws the sample of a study with `sample:`.

    Raises:
        ScenarioError: Axes with `combine: list` have different lengths.
    """
    axes = study.set
    if study.combine == "list" and len({len(values) for values in axes.values()}) > 1:
        lengths = ", ".join(f"{len(values)} of {key}" for key, values in axes.items())
        raise ScenarioError(
            f"study: `combine: list` needs equally many values of each axis, but there are {lengths}",
            remedy="give each axis the same number of values, or write `combine: grid`",
        )
    tuples = zip(*axes.values(), strict=True) if study.combine == "list" else product(*axes.values())
    points: list[Point] = [dict(zip(axes, values, strict=True)) for values in tuples] or [{}]
    if study.sample is not None and study.sample < len(points):
        drawn = random.Random(seed).sample(range(len(points)), study.sample)
        points = [points[number] for number in sorted(drawn)]
    return points


def in_words(value: Any) -> str:
    """Return a value of an axis as text: of a mapping its `name`, and its other keys as `key=value`."""
    if not isinstance(value, Mapping):
        return str(value)
    name = [str(value["name"])] if "name" in value else []
    return " ".join([*name, *(f"{key}={in_words(item)}" for key, item in value.items() if key != "name")])


def point_in_words(point: Point) -> list[str]:
    """Return the last step of each axis with its value, such as `strategy hashed`."""
    return [f"{axis.rpartition('.')[2]} {in_words(value)}" for axis, value in point.items()]


def with_values(document: Document, point: Point) -> Document:
    """Return a copy of the document with the values of a point.

    A step of a key may be the name or the index of an element of a list, as in `variants.cut.link.detect_us`.

    Raises:
        ScenarioError: A step names no element of a list, or leads into a value that is not a block of keys.
    """
    values = document.values
    for key, value in point.items():
        steps = key.split(".")
        values = _assigned(document, values, steps, _typed(document, steps, value), key)
    return document.with_values(values)


def _assigned(document: Document, node: Any, steps: Sequence[str], value: Any, key: str) -> Any:
    """Return a copy of a document's node with `value` in place of the value at `steps`."""
    if not steps:
        return value
    step, *rest = steps
    if isinstance(node, tuple):
        number = _index(node, step)
        if number is None:
            raise ScenarioError(
                f"{key} names the element {step!r} of a list, which the list does not have",
                remedy="give the index or the name of an element",
            )
        return (*node[:number], _assigned(document, node[number], rest, value, key), *node[number + 1 :])
    if node is None:
        node = {}
    if not isinstance(node, dict):
        raise ScenarioError(
            f"{key} names {step!r} inside {node!r}, which has no keys",
            remedy="give a key of the scenario file",
        )
    return {**node, step: _assigned(document, node.get(step), rest, value, key)}


def _index(items: tuple[Any, ...], step: str) -> int | None:
    if step.isdigit():
        return int(step) if int(step) < len(items) else None
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    return names.index(step) if step in names else None


def _typed(document: Document, steps: Sequence[str], value: Any) -> Any:
    """Return the value for a key; text such as 4x4 for a topology's parameter is parsed to its type."""
    topology = document.values.get("topology")
    if len(steps) != 2 or steps[0] != "topology" or not isinstance(value, str):
        return value
    if not isinstance(topology, dict) or not isinstance(topology.get("name"), str) or steps[1] == "name":
        return value
    try:
        return find(topology["name"]).parameter(steps[1]).parse(value)
    except (RailyardError, ValueError):
        return value  # the check of the scenario reports the error


def check_own(document: Document, keys: Iterable[str], variants: Sequence[str]) -> None:
    """Raise a ScenarioError if a variant of `variants` overrides one of `keys`, so the axis has no effect."""
    for key in keys:
        _check_own(document, key.split("."), variants)


def _check_own(document: Document, steps: Sequence[str], variants: Sequence[str]) -> None:
    own = document.values.get("variants", ())
    if steps[0] not in SETTINGS or not isinstance(own, tuple):
        return
    key = ".".join(steps)
    lists: list[tuple[int, str, tuple[Any, ...]]] = []
    chosen = [
        (number, variant)
        for number, variant in enumerate(own)
        if isinstance(variant, dict) and variant.get("name") in variants
    ]
    for number, variant in chosen:
        node: Any = variant
        for step in steps:
            if isinstance(node, tuple):
                break
            node = node.get(step) if isinstance(node, dict) else None
        if isinstance(node, tuple) and steps[0] in ("faults", "jobs") and len(steps) > 1:
            lists.append((number, variant["name"], node))
        elif node is not None:
            raise _no_effect(document, ("variants", number, *steps), variant["name"], key)
    # An empty list of a healthy variant is no mistake, nor is a list beside variants without a list.
    if len(lists) == len(chosen):
        for number, name, values in lists:
            if values:
                raise _no_effect(document, ("variants", number, steps[0]), name, key)


def _no_effect(document: Document, where: Location, variant: str, key: str) -> ScenarioError:
    own = ".".join(map(str, where[2:]))
    return ScenarioError(
        document.at(where, f"variant {variant!r} has its own {own}, so the axis {key} changes nothing"),
        remedy=f"use variants.{variant}.{key}, or choose other variants with --variant",
    )
