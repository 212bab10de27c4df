# SPDX-License-Identifier: Apache-2.0
"""Content of another tool's files: a fabric, a traffic graph, faults, and notes on differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from emulation.traffic.graph.operations import Graph, Operation
from topologies import Fabric

__all__ = ["Imported", "graph_of", "mesh_of"]

_LINKS = 18  # of an NPU with 4 lanes a link; it has 72 lanes


@final
@dataclass(frozen=True)
class Imported:
    """The content of files of another tool.

    Attributes:
        name: Name of the scenario.
        graph: Traffic.
        fabric: Fabric of the files; None if they have none.
        topology: Lines `topology:` of a scenario with a fabric for this traffic, if the files have none.
        faults: Faults as a scenario has them.
        settings: Further keys of the scenario's variant, as `routing`.
        notes: Sentences on what the files say and Railyard does otherwise.
    """

    name: str
    graph: Graph
    fabric: Fabric | None = None
    topology: Mapping[str, Any] = field(default_factory=dict)
    faults: Sequence[Mapping[str, Any]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def graph_of(name: str, operations: Sequence[Operation]) -> tuple[Graph, tuple[str, ...]]:
    """Return the graph of operations, and a note if it needs messages that the other tool does not send."""
    by_name = {operation.id: operation for operation in operations}
    signals = any(
        operation.member not in by_name[other].ends_at
        for operation in operations
        for other in operation.after
        if other in by_name
    )
    note = "An operation that waits for an end on another node costs a message of 4 bytes, there nothing."
    return Graph(name, tuple(operations), signals=signals), (note,) if signals else ()


def mesh_of(ranks: int) -> dict[str, Any]:
    """Return a scenario's topology for so many ranks: a full mesh of few dimensions, as the lanes allow.

    A number of ranks without factors that fit gets a mesh with more NPUs.
    """
    for size in range(max(ranks, 2), 2 * ranks + 2):
        for dimensions in range(1, 7):
            fitting = [dims for dims in _factors(size, dimensions) if sum(dims) - dimensions <= _LINKS]
            if fitting:
                return {"name": "full-mesh", "dims": min(fitting, key=max)}
    return {"name": "full-mesh", "dims": [ranks]}  # refused with the number of its lanes


def _factors(number: int, parts: int, least: int = 2) -> Iterator[list[int]]:
    """Yield each ascending list of so many factors of a number."""
    if parts == 1:
        if number >= least:
            yield [number]
        return
    for factor in range(least, round(number ** (1 / parts)) + 1):
        if number % factor == 0:
            yield from ([factor, *rest] for rest in _factors(number // factor, parts - 1, factor))
