# SPDX-License-Identifier: Apache-2.0
"""The topology that a verb was given by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from topologies import Fabric
from topologies.catalog import build, describe

__all__ = ["dims_of", "fabric_of"]


def fabric_of(name: str, dims: str, given: Sequence[str] = ()) -> Fabric:
    """Of these `dims` and parameters NAME=VALUE; TopologyError, or a usage error, names what is wrong."""
    parameters: dict[str, Any] = {"dims": dims_of(dims)} if dims else {}
    kinds = {parameter.name: parameter.kind for parameter in describe(name).parameters}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} is not like radix=64", param_hint="--param")
        parameters[key] = _value(kinds.get(key, "text"), value, text)
    return build(name, **parameters)


def _value(kind: str, value: str, text: str) -> Any:
    if kind == "text":
        return value
    try:
        if kind == "boolean":
            return ("false", "true").index(value) == 1
        return int(value) if kind == "integer" else tuple(int(extent) for extent in value.split("x"))
    except ValueError:
        example = {"integer": "64", "boolean": "true"}.get(kind, "4x4")
        raise typer.BadParameter(
            f"{text!r} is not like {text.partition('=')[0]}={example}", param_hint="--param"
        ) from None


def dims_of(text: str) -> tuple[int, ...]:
    """Extents written as 4x4; a usage error when they are not."""
    try:
        return tuple(int(extent) for extent in text.split("x"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not like 4x4", param_hint="--dims") from None
