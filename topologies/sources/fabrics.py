# SPDX-License-Identifier: Apache-2.0
"""The fabric of a file, or of a function or a family of a Python file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from topologies.errors import TopologyError
from topologies.families.declaration import Family
from topologies.families.registry import find
from topologies.model.checks import check
from topologies.model.fabric import Fabric
from topologies.plugins.python_file import call, is_reference, load
from topologies.sources.files import SUFFIXES, fabric_of_graph, read_fabric

__all__ = ["fabric_from_python", "family_of", "is_outside", "open_fabric"]


def is_outside(text: str) -> bool:
    """Return whether a text names a fabric file or FILE.py:NAME rather than a family."""
    return is_reference(text) or Path(text).suffix.lower() in SUFFIXES


def family_of(text: str) -> Family[...] | None:
    """Return the family that a text names: a family of the registry, or FILE.py:NAME of a Python file.

    None for a fabric file, and for a plain function of a Python file. TopologyError for an unknown name.
    """
    if not is_outside(text):
        return find(text)
    declared = load(text) if is_reference(text) else None
    return declared if isinstance(declared, Family) else None


def open_fabric(text: str, parameters: Mapping[str, Any] | None = None) -> Fabric:
    """Return the checked fabric of a file, or of FILE.py:NAME with parameters.

    TopologyError when parameters are given for a file.
    """
    if is_reference(text):
        return fabric_from_python(text, parameters or {})
    if parameters:
        names = ", ".join(parameters)
        raise TopologyError(
            f"{text}: a file takes no parameters, and {names} were given", remedy="leave the parameters out"
        )
    return read_fabric(Path(text))


def fabric_from_python(reference: str, parameters: Mapping[str, Any]) -> Fabric:
    """Return the checked fabric of FILE.py:NAME.

    NAME is a family, or a function of the parameters that returns a Fabric or a networkx graph.
    """
    if isinstance(declared := load(reference), Family):
        return declared.build(**parameters)
    result = call(reference, parameters)
    if isinstance(result, Fabric):
        check(result)
        return result
    import networkx as nx

    if isinstance(result, nx.Graph):
        return fabric_of_graph(result, reference.rpartition(":")[2])
    raise TopologyError(
        f"{reference} returned {type(result).__name__}",
        remedy="return a Fabric or a networkx graph",
    )
