# SPDX-License-Identifier: Apache-2.0
"""Options that several verbs share: testbeds, switches, and a fabric by name, `--dims` and `--param`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from harness.scenario.schema import Scenario
    from topologies import Fabric
    from topologies.families.declaration import Parameter

__all__ = [
    "TOPOLOGY",
    "TestbedKind",
    "Dims",
    "MachinesFile",
    "Parameters",
    "Seed",
    "Switch",
    "dims_of",
    "fabric_of",
    "page_server",
    "parameters_of",
    "resized",
]


def _topologies(incomplete: str) -> list[str]:
    """Return the topologies whose names begin so, for the completion of a shell."""
    from topologies.families.registry import names

    return [name for name in names() if name.startswith(incomplete)]


TOPOLOGY = typer.Argument(
    help="name of a topology, see `railyard list`; a file *.json or *.graphml; or FILE.py:NAME",
    autocompletion=_topologies,
)
"""Argument that names a fabric."""

Dims = Annotated[str, typer.Option(help="nodes in each dimension, as 4x4")]
Parameters = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="a parameter of the topology; may be repeated"),
]
"""Options beside the name of a fabric, for `fabric_of`."""

Seed = Annotated[
    int | None,
    typer.Option(min=0, max=2**63 - 1, metavar="N", help="seed in place of the scenario's own"),
]
MachinesFile = Annotated[
    Path | None,
    typer.Option(
        "--machines",
        metavar="FILE",
        help="spread the fabric over the machines of this YAML file, by ssh and VXLAN; on mininet",
    ),
]
"""Option of the verbs that start a fabric on Mininet."""


class TestbedKind(StrEnum):
    """Testbeds."""

    embedded = "embedded"
    mininet = "mininet"


class Switch(StrEnum):
    """Switches of the Mininet testbed."""

    builtin = "builtin"
    bmv2 = "bmv2"


# Packages of the extra `web` of pyproject.toml.
_WEB = ("starlette", "uvicorn", "websockets")


def page_server() -> Callable[..., AbstractContextManager[str]]:
    """Return `serving` of railyard.web.server; OutputError if a package that it needs is not installed."""
    try:
        from railyard.web.server import serving
    except ModuleNotFoundError as ex:
        package = (ex.name or "").partition(".")[0]
        if package not in _WEB:
            raise
        from harness.errors import OutputError

        raise OutputError(
            f"the live page needs the Python package {package}, which is not installed",
            remedy="install it with `pip install 'railyard[web]'`",
        ) from None
    return serving


def fabric_of(name: str, dims: str, given: Sequence[str] = ()) -> Fabric:
    """Build the fabric of a topology's name, its `dims` and its parameters written NAME=VALUE.

    The name may also be that of a file with a fabric, or FILE.py:NAME. TopologyError, or a usage error,
    names what is wrong.
    """
    from topologies.families.registry import find
    from topologies.sources.fabrics import is_outside, open_fabric

    if is_outside(name):
        if dims:
            raise typer.BadParameter(f"{name} is no family of fabrics", param_hint="--dims")
        return open_fabric(name, dict(_pair(text) for text in given))
    return find(name).build(**parameters_of(name, dims, given))


def parameters_of(name: str, dims: str, given: Sequence[str] = ()) -> dict[str, Any]:
    """Return the parameters of a family of fabrics; a usage error names one that cannot be read."""
    from topologies.families.registry import find

    family = find(name)
    parameters: dict[str, Any] = {"dims": dims_of(dims)} if dims else {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} is not like radix=64", param_hint="--param")
        parameter = family.parameter(key)
        try:
            parameters[key] = parameter.parse(value)
        except ValueError:
            example = f"{key}={_example(parameter)}"
            raise typer.BadParameter(f"{text!r} is not like {example}", param_hint="--param") from None
    return parameters


def _pair(text: str) -> tuple[str, Any]:
    """Return name and value of a parameter of a Python function; the value is read as YAML."""
    from ruamel.yaml import YAML

    key, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not like radix=64", param_hint="--param")
    return key, YAML(typ="safe", pure=True).load(value)


def _example(parameter: Parameter) -> str:
    """Return a value to show when another cannot be read."""
    if parameter.kind == "boolean":
        return "true"
    if parameter.kind == "whole numbers":
        return "4x4"
    return "4" if parameter.default is None else parameter.spell(parameter.default)


def dims_of(text: str) -> tuple[int, ...]:
    """Return extents written as 4x4; a usage error says when they are not."""
    try:
        return tuple(int(extent) for extent in text.split("x"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not like 4x4", param_hint="--dims") from None


def resized(scenario: Scenario, dims: str) -> Scenario:
    """Return the scenario on a full mesh of other dims, whose links keep the lanes and rates of the file.

    Title, description and assertions of the file are about its own topology, and are left out.
    """
    extents = dims_of(dims)
    topology = scenario.topology.resized("full-mesh", dims=extents)
    title = f"{scenario.name} on a full mesh of {' x '.join(map(str, extents))}"
    changes = {"topology": topology, "title": title, "description": "", "assertions": ()}
    return scenario.model_copy(update=changes)
