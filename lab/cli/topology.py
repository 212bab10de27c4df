# SPDX-License-Identifier: Apache-2.0
"""The topology that a verb was given by name."""

from __future__ import annotations

from typing import Any

import typer

from topologies import Fabric
from topologies.catalog import build

__all__ = ["dims_of", "fabric_of"]


def fabric_of(name: str, dims: str) -> Fabric:
    """TopologyError, or a usage error, names what is wrong."""
    parameters: dict[str, Any] = {"dims": dims_of(dims)} if dims else {}
    return build(name, **parameters)


def dims_of(text: str) -> tuple[int, ...]:
    """Extents written as 4x4; a usage error when they are not."""
    try:
        return tuple(int(extent) for extent in text.split("x"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not like 4x4", param_hint="--dims") from None
