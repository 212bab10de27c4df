# SPDX-License-Identifier: Apache-2.0
"""Content of another tool's files: a fabric, a traffic graph, faults, and notes on differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from emulation.traffic.graph.operations import Graph, Operation
from harness.formats.text import FileLocation
from topologies import Fabric

__all__ = ["MAX_OPERATIONS", "WHOLE", "Imported", "Part", "Waits", "graph_of", "mesh_of"]

MAX_OPERATIONS = 1 << 21
"""Operations of a graph made of files, at most; each takes about half a kilobyte."""

_MAX_WAITS = 1 << 20
_LINKS = 18  # of an NPU with 4 lanes a link; it has 72 lanes
_DIMENSIONS = 6


@final
@dataclass(frozen=True)
class Imported:
    """The content of files of another tool.

    Attributes:
        name: Name of the scenario.
        traffic: Graph of the traffic; None for a collective.
        fabric: Fabric of the files; None if they have none.
        topology: Lines `topology:` of a scenario with a fabric for this traffic, if the files have none.
        faults: Faults as a scenario has them.
        settings: Further keys of the scenario's variant, as `routing`.
        notes: Sentences on what the files say and Railyard does otherwise.
        collective: Keys of a collective in place of a graph.
        assertions: Assertions of the scenario, about metrics of the variant `run`.
    """

    name: str
    traffic: Graph | None
    fabric: Fabric | None = None
    topology: Mapping[str, Any] = field(default_factory=dict)
    faults: Sequence[Mapping[str, Any]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    collective: Mapping[str, Any] = field(default_factory=dict)
    assertions: Sequence[Mapping[str, Any]] = ()

    @property
    def graph(self) -> Graph:
        """Graph of the traffic, of files whose traffic is no collective."""
        assert self.traffic is not None, f"{self.name} is a collective"
        return self.traffic


@final
@dataclass(frozen=True, slots=True)
class Part:
    """Part of a workload that is imported.

    Attributes:
        scale: Factor of all bytes and of all times of computations.
        layers: Number of layers, from the first on; None for all.
        ranks: Number of ranks; None for all.
    """

    scale: float = 1.0
    layers: int | None = None
    ranks: int | None = None


WHOLE = Part()
"""All of a file."""


@final
class Waits:
    """Number of names in `after` of all operations; few lines can make operations wait for all others."""

    def __init__(self) -> None:
        self._left = _MAX_WAITS

    def add(self, count: int, location: FileLocation) -> None:
        """Count names; FormatError if a graph would have too many."""
        self._left -= count
        if self._left < 0:
            location.refuse(
                f"more than {_MAX_WAITS} waits of operations for others", "let fewer operations wait for all"
            )


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
    most = (_LINKS // _DIMENSIONS + 1) ** _DIMENSIONS
    for size in range(max(ranks, 2), min(2 * ranks + 2, most + 1)):
        for dimensions in range(1, _DIMENSIONS + 1):
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
