# SPDX-License-Identifier: Apache-2.0
"""Options that several verbs share, their checks, and the fabric of a name, `--dims` and `--param`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

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
    "Quiet",
    "RayAddress",
    "Recorded",
    "Seed",
    "Switch",
    "SwitchOption",
    "check_targets",
    "dims_of",
    "fabric_of",
    "need_testbed",
    "page_server",
    "refuse",
    "resized",
    "topology_of",
]


def refuse(option: str, message: str) -> NoReturn:
    """Raise a usage error. `message` names the wrong option or argument, the reason and the remedy."""
    raise typer.BadParameter(message, param_hint=option) from None


def check_targets(targets: Mapping[str, str | Path | None]) -> None:
    """Check before a run that the files named by options can be written.

    Args:
        targets: Path by option; None or empty if the option is not given, `-` for the standard output.

    Raises:
        OutputError: A path is a folder, or its folder, or the nearest folder that exists, is not writable.
    """
    from harness.errors import OutputError

    for option, path in targets.items():
        if not path or str(path) == "-":
            continue
        target = Path(path).absolute()
        folder = next(parent for parent in target.parents if parent.exists())
        reason = ""
        if target.is_dir():
            reason = "it is a folder"
        elif not folder.is_dir():
            reason = f"{folder} is no folder"
        elif not os.access(folder, os.W_OK | os.X_OK):
            reason = f"this user may not write to {folder}"
        if reason:
            raise OutputError(
                f"{option} {path}: the file cannot be written: {reason}", remedy="give another file"
            )


def _topologies(incomplete: str) -> list[str]:
    """Return the names of topologies with the prefix `incomplete`, for completion in a shell."""
    from topologies.families.registry import names

    return [name for name in names() if name.startswith(incomplete)]


TOPOLOGY = typer.Argument(
    help="name of a topology, see `railyard list`; a file *.json or *.graphml; or FILE.py:NAME",
    autocompletion=_topologies,
)
"""Argument that names a fabric."""

Dims = Annotated[str, typer.Option(help="number of nodes in each dimension, such as 4x4")]
Parameters = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="a parameter of the topology; may be repeated"),
]
"""Option for parameters of a topology, which `fabric_of` takes."""

Seed = Annotated[
    int | None,
    typer.Option(min=0, max=2**63 - 1, metavar="N", help="seed in place of the scenario's own"),
]
MachinesFile = Annotated[
    Path | None,
    typer.Option(
        "--machines",
        metavar="FILE",
        help="divide the fabric among the machines of this YAML file, by ssh and VXLAN; for mininet",
    ),
]
"""Option `--machines` of the verbs that start a fabric on Mininet."""


class TestbedKind(StrEnum):
    """Values of `--testbed`."""

    embedded = "embedded"
    mininet = "mininet"


class Switch(StrEnum):
    """Values of `--switch`: software switches of the Mininet testbed."""

    builtin = "builtin"
    bmv2 = "bmv2"


SwitchOption = Annotated[
    Switch | None, typer.Option(help="software switch on mininet; unless given, bmv2 if it is installed")
]

Quiet = Annotated[bool, typer.Option("--quiet", help="print errors only")]

Recorded = Annotated[
    bool, typer.Option("--record", help="write OUT/run.recording, which `railyard serve OUT` replays")
]

RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray", metavar="ADDRESS", help="run on the Ray cluster at this address; local starts one here"
    ),
]


def need_testbed(testbed: TestbedKind, options: Mapping[str, object]) -> None:
    """Raise a usage error for the first given option among `options` that need `testbed`, another testbed."""
    for option, value in options.items():
        if value:
            refuse(option, f"this option needs --testbed {testbed}; choose it, or leave the option out")


# Python packages of the extra `web` in pyproject.toml.
_WEB = ("starlette", "uvicorn", "websockets")


def page_server() -> Callable[..., AbstractContextManager[str]]:
    """Return the function `serving` of railyard.web.server.

    Raises:
        OutputError: A Python package of the live page is not installed.
    """
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


def fabric_of(name: str, dims: str, given: Sequence[str] | None = None) -> Fabric:
    """Build the fabric named on a command line.

    Args:
        name: Name of a topology, a file with a fabric, or FILE.py:NAME.
        dims: Nodes in each dimension, such as 4x4; may be empty.
        given: Parameters written NAME=VALUE.

    Raises:
        TopologyError: The topology or a parameter is unknown or out of range.
        BadParameter: A value cannot be read, or `dims` is given for a file.
    """
    from topologies.sources.fabrics import family_of, open_fabric

    family = family_of(name)
    parameters = _parameters(name, dims, given or ())
    return family.build(**parameters) if family is not None else open_fabric(name, parameters)


def topology_of(name: str, dims: str, given: Sequence[str] = ()) -> dict[str, Any]:
    """Return the value of a scenario's key `topology` for the fabric that a command line names."""
    from topologies.plugins.python_file import is_reference
    from topologies.sources.fabrics import is_outside

    parameters = _parameters(name, dims, given)
    if is_reference(name):
        return {"python": name, "params": parameters}
    return {"file" if is_outside(name) else "name": name, **parameters}


def _parameters(name: str, dims: str, given: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a topology from a command line; a usage error names an unreadable one.

    Values for a function of a Python file are read as YAML.
    """
    from topologies.sources.fabrics import family_of

    family = family_of(name)
    if family is None and dims:
        refuse("--dims", f"{name} is not a topology of `railyard list`, so it has no dims; leave --dims out")
    parameters: dict[str, Any] = {"dims": dims_of(dims)} if dims else {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            refuse("--param", f"{text!r} has no `=`; write it like radix=64")
        if family is None:
            from ruamel.yaml import YAML

            parameters[key] = YAML(typ="safe", pure=True).load(value)
            continue
        parameter = family.parameter(key)
        try:
            parameters[key] = parameter.parse(value)
        except ValueError:
            refuse("--param", f"{text!r} cannot be read; write it like {key}={_example(parameter)}")
    return parameters


def _example(parameter: Parameter) -> str:
    """Return an example of a parameter's value, for an error message."""
    if parameter.kind == "boolean":
        return "true"
    if parameter.kind == "whole numbers":
        return "4x4"
    return "4" if parameter.default is None else parameter.spell(parameter.default)


def dims_of(text: str) -> tuple[int, ...]:
    """Return the extents in a text such as 4x4; raise a usage error for any other text."""
    try:
        return tuple(int(extent) for extent in text.split("x"))
    except ValueError:
        refuse("--dims", f"{text!r} cannot be read; write numbers like 4x4")


def resized(scenario: Scenario, dims: str) -> Scenario:
    """Return the scenario on a full mesh of `dims`, with the lanes and rates of links from the file.

    Title, description and assertions of the file are left out, because they are about its own topology.
    """
    extents = dims_of(dims)
    topology = scenario.topology.resized("full-mesh", dims=extents)
    title = f"{scenario.name} on a full mesh of {' x '.join(map(str, extents))}"
    changes = {"topology": topology, "title": title, "description": "", "assertions": ()}
    return scenario.model_copy(update=changes)
