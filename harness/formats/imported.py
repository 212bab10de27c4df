# SPDX-License-Identifier: Apache-2.0
"""Result of an import: a fabric, a traffic graph, faults, and notes on differences from the other tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from emulation.traffic.graph.operations import Graph, Operation
from harness.formats.text import FileLocation
from topologies import Fabric

__all__ = ["MAX_OPERATIONS", "WHOLE", "Imported", "Part", "Waits", "graph_of", "mesh_of"]

MAX_OPERATIONS = 1 << 21
"""Largest number of operations of an imported graph; an operation takes about half a kilobyte of memory."""

_MAX_WAITS = 1 << 20
_LINKS = 18  # Links of an NPU: it has 72 lanes, and a link of a generated mesh takes 4.
_DIMENSIONS = 6


@final
@dataclass(frozen=True)
class Imported:
    """A scenario read from files of another tool.

    Attributes:
        name: Name of the scenario.
        traffic: Traffic graph; None if the traffic is a collective, described by `collective`.
        fabric: Fabric that the files describe; None if they describe no fabric, see `topology`.
        topology: Value of the scenario's key `topology`, a fabric for this traffic; used if `fabric` is None.
        faults: Faults as blocks of the scenario's key `faults`.
        settings: Further keys of the scenario's variant, such as `routing`.
        notes: Sentences on differences between Railyard and the other tool.
        collective: Value of the scenario's key `collective`; used if `traffic` is None.
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
        """Traffic graph; fails if the traffic is a collective."""
        assert self.traffic is not None, f"{self.name} is a collective"
        return self.traffic


@final
@dataclass(frozen=True, slots=True)
class Part:
    """Choice of the part of a workload to import, for smaller and shorter runs.

    Attributes:
        scale: Factor for the sizes of all messages and the durations of all computations.
        layers: Number of layers to import, from the first layer on; None for all.
        ranks: Number of ranks to import; None for all.
    """

    scale: float = 1.0
    layers: int | None = None
    ranks: int | None = None


WHOLE = Part()
"""Import a workload in full."""


@final
class Waits:
    """Counter of the dependencies of an imported graph, which refuses too many of them.

    A few lines of a file can make every operation wait for every other operation.
    """

    def __init__(self) -> None:
        self._left = _MAX_WAITS

    def add(self, count: int, location: FileLocation) -> None:
        """Count dependencies read at a location; FormatError if the graph now has too many."""
        self._left -= count
        if self._left < 0:
            location.refuse(
                f"operations have more than {_MAX_WAITS} dependencies",
                "let fewer operations wait for all operations",
            )


def graph_of(name: str, operations: Sequence[Operation]) -> tuple[Graph, tuple[str, ...]]:
    """Return the traffic graph of the operations, and notes for the user.

    An operation that waits for an operation on another node needs a message, which the other tool does not
    send. The graph then has `signals`, and a note says so; otherwise the notes are empty.
    """
    by_name = {operation.id: operation for operation in operations}
    signals = any(
        operation.member not in by_name[other].ends_at
        for operation in operations
        for other in operation.after
        if other in by_name
    )
    note = "An operation that waits for another node costs a message of 4 bytes, and none in the other tool."
    return Graph(name, tuple(operations), signals=signals), (note,) if signals else ()


def mesh_of(ranks: int) -> dict[str, Any]:
    """Return the value of a scenario's key `topology` for a number of ranks: a full mesh of few dimensions.

    An NPU's lanes limit its links. If no mesh of exactly `ranks` NPUs is within the limit, the mesh has more.
    """
    most = (_LINKS // _DIMENSIONS + 1) ** _DIMENSIONS
    for size in range(max(ranks, 2), min(2 * ranks + 2, most + 1)):
        for dimensions in range(1, _DIMENSIONS + 1):
            fitting = [dims for dims in _factors(size, dimensions) if sum(dims) - dimensions <= _LINKS]
            if fitting:
                return {"name": "full-mesh", "dims": min(fitting, key=max)}
    # No mesh fits. The full-mesh family refuses these dimensions with an error about lanes.
    return {"name": "full-mesh", "dims": [ranks]}


def _factors(number: int, parts: int, least: int = 2) -> Iterator[list[int]]:
    """Yield the factorisations of `number` into `parts` ascending factors of at least `least`."""
    if parts == 1:
        if number >= least:
            yield [number]
        return
    for factor in range(least, round(number ** (1 / parts)) + 1):
        if number % factor == 0:
            yield from ([factor, *rest] for rest in _factors(number // factor, parts - 1, factor))
