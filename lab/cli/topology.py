"""The topology that a verb was given by name."""

from __future__ import annotations

from typing import Any

import typer

from topologies import Fabric
from topologies.catalog import build

__all__ = ["fabric_of"]


def fabric_of(name: str, dims: str) -> Fabric:
    """TopologyError, or a usage error, names what is wrong."""
    parameters: dict[str, Any] = {}
    if dims:
        try:
            parameters["dims"] = tuple(int(extent) for extent in dims.split("x"))
        except ValueError:
            raise typer.BadParameter(f"{dims!r} is not like 4x4", param_hint="--dims") from None
    return build(name, **parameters)
