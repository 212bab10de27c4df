# SPDX-License-Identifier: Apache-2.0
"""Positions of data in the arrays of the members.

A member's array begins with its buffer, in which operations name offsets. Behind the buffer, every arrival
without a named offset has a range of its own. Sends and copies without a named offset read windows of a
common range of random elements. Windows overlap but begin at different elements, so each carries different
data, and a thousand sends of a member take little more memory than the longest send.

Cells and levels need ranges that no other movement touches: each window has a virtual range behind the array.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.operations import ELEMENT_BYTES, Graph, Operation

__all__ = ["Movement", "Placed", "place", "set_windows"]

# Offset of a window before `set_windows` gives it a virtual range.
_WINDOW = -1


@final
@dataclass(slots=True)
class Movement:
    """A send with its receive, or a copy, in elements of the arrays of two ranks.

    `operation` is the index of the send or copy in the graph, `receive` the index of the receive or -1. The
    elements leave the source at `read_level` and change the target's array at `write_level`. They begin at
    element `data` of the source's array. `read` equals `data`, except for a window, where
    `read` is the first element of the window's virtual range; the cells follow from `read`.
    """

    operation: int
    receive: int
    source: int
    target: int
    read: int
    write: int
    length: int
    combine: Combine
    data: int
    read_level: int = 0
    write_level: int = 0


@final
@dataclass(frozen=True, slots=True)
class Placed:
    """A graph with positions for its data in the arrays of ranks.

    `movements` has the movement of each send and copy by its index in the graph. `areas` has (first element,
    length) of the graph's part of each rank's array.
    """

    graph: Graph
    movements: Mapping[int, Movement]
    areas: Mapping[int, tuple[int, int]]


def _elements(size: int) -> int:
    return -(-size // ELEMENT_BYTES)


def place(graph: Graph, ranks: Mapping[str, int], order: Sequence[int], used: list[int]) -> Placed:
    """Place a graph's data in the arrays of ranks, behind the `used[rank]` elements already taken.

    `ranks` has the rank of each member, `order` the indices of operations in the order in which they take
    effect. `used` grows by the elements that the graph needs.
    """
    operations = graph.operations
    first = {ranks[name]: used[ranks[name]] for name in graph.members}
    for _, rank, start, size in _named(graph, ranks):
        used[rank] = max(used[rank], first[rank] + start // ELEMENT_BYTES + _elements(size))
    movements: dict[int, Movement] = {}
    windows: dict[int, list[Movement]] = defaultdict(list)

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
            read = _WINDOW if operation.read is None else at(source, operation.read, length)
        write = at(target, end.write, length)
        movements[number] = Movement(number, receive, source, target, read, write, length, end.combine, read)
        if read == _WINDOW:
            windows[source].append(movements[number])
    for rank, reading in windows.items():
        start = used[rank]
        for shift, movement in enumerate(reading):
            movement.data = start + shift
            used[rank] = max(used[rank], movement.data + movement.length)
    areas = {rank: (start, used[rank] - start) for rank, start in first.items()}
    return Placed(graph, movements, areas)


def set_windows(movements: Iterable[Movement], used: Sequence[int]) -> list[int]:
    """Give each window a virtual range behind its source's array; return the end of each rank's ranges."""
    ends = [*used]
    for movement in movements:
        if movement.read == _WINDOW:
            movement.read = ends[movement.source]
            ends[movement.source] += movement.length
    return ends


def _target(operation: Operation) -> str:
    return operation.peer if operation.kind == "send" else operation.member


def _named(graph: Graph, ranks: Mapping[str, int]) -> list[tuple[int, int, int, int]]:
    """Return (operation, rank, offset, size), in bytes, of all ranges whose offset an operation gives."""
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
