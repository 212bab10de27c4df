# SPDX-License-Identifier: Apache-2.0
"""Places of data in the arrays of the members.

The array of a member begins with its buffer, whose places operations name. Behind it, every send, copy and
arrival without a named place has a place of its own, so that each carries data that no other carries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.operations import ELEMENT_BYTES, Graph, Operation

__all__ = ["Movement", "Placed", "place"]


@final
@dataclass(slots=True)
class Movement:
    """A send with its receive, or a copy, in elements of the arrays of two ranks.

    `operation` is the place of the send or copy in the graph, `receive` that of the receive or -1. The
    elements leave the source at `read_level` and change the target's array at `write_level`.
    """

    operation: int
    receive: int
    source: int
    target: int
    read: int
    write: int
    length: int
    combine: Combine
    read_level: int = 0
    write_level: int = 0


@final
@dataclass(frozen=True, slots=True)
class Placed:
    """A graph in the arrays of ranks.

    `movements` has the movement of each send and copy by its place in the graph. `areas` are the first
    element and the length of the graph's part of each rank's array.
    """

    graph: Graph
    movements: Mapping[int, Movement]
    areas: Mapping[int, tuple[int, int]]


def _elements(size: int) -> int:
    return -(-size // ELEMENT_BYTES)


def place(graph: Graph, ranks: Mapping[str, int], order: Sequence[int], used: list[int]) -> Placed:
    """Return a graph in the arrays of `ranks`, of which the first `used[rank]` elements are taken.

    `used` grows by what the graph needs.
    """
    operations = graph.operations
    first = {ranks[name]: used[ranks[name]] for name in graph.members}
    for _, rank, start, size in _named(graph, ranks):
        used[rank] = max(used[rank], first[rank] + start // ELEMENT_BYTES + _elements(size))
    movements: dict[int, Movement] = {}

    def at(rank: int, given: int | None, length: int) -> int:
        if given is not None:
            return first[rank] + given // ELEMENT_BYTES
        used[rank] += length
        return used[rank] - length

    for number in order:
        operation = operations[number]
        if operation.kind not in ("send", "copy"):
            continue
        receive = graph.receive_of.get(number, -1)
        end = operations[receive] if receive >= 0 else operation
        source, target = ranks[operation.member], ranks[_target(operation)]
        length = _elements(operation.size)
        if isinstance(operation.read, str):
            read = movements[graph.number[operation.read]].write
        else:
            read = at(source, operation.read, length)
        write = at(target, end.write, length)
        movements[number] = Movement(number, receive, source, target, read, write, length, end.combine)
    areas = {rank: (start, used[rank] - start) for rank, start in first.items()}
    return Placed(graph, movements, areas)


def _target(operation: Operation) -> str:
    return operation.peer if operation.kind == "send" else operation.member


def _named(graph: Graph, ranks: Mapping[str, int]) -> list[tuple[int, int, int, int]]:
    """Return operation, rank, place and size of all ranges that operations name by their places."""
    named = []
    for number, operation in enumerate(graph.operations):
        if operation.kind not in ("send", "copy"):
            continue
        if isinstance(operation.read, int):
            named.append((number, ranks[operation.member], operation.read, operation.size))
        receive = graph.receive_of.get(number, -1)
        end = graph.operations[receive] if receive >= 0 else operation
        if end.write is not None:
            named.append((number, ranks[_target(operation)], end.write, operation.size))
    return named
