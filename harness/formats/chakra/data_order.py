# SPDX-License-Identifier: Apache-2.0
"""Operations of a graph that wait for each other because they touch the same elements of a member's array."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from emulation.traffic.graph.memory import Movement, place
from emulation.traffic.graph.operations import Graph
from emulation.traffic.graph.order import in_order

__all__ = ["data_order"]


def data_order(graph: Graph) -> tuple[list[int], dict[int, list[int]], dict[int, list[int]]]:
    """Return the order in which operations take effect, and what each waits for because of data.

    Returns:
        Places of all operations in their order; by place, the operations that wrote what a send or copy
        reads; by place, those that touched before what an operation writes. A send that a receive takes
        writes nothing, its receive does.
    """
    order = in_order(graph)
    ranks = {name: rank for rank, name in enumerate(graph.members)}
    movements = place(graph, ranks, order, [0] * len(ranks)).movements
    arrays: dict[int, _Array] = defaultdict(_Array)
    senders = {receive: send for send, receive in graph.receive_of.items()}
    of_read: dict[int, list[int]] = {}
    of_write: dict[int, list[int]] = {}
    for number in order:
        movement = movements.get(senders.get(number, number))
        if movement is None:
            continue
        if number not in senders:
            of_read[number] = arrays[movement.source].read(movement, number)
        if number in senders or movement.receive < 0:
            of_write[number] = arrays[movement.target].write(movement, number)
    return order, of_read, of_write


@final
@dataclass(slots=True)
class _Touch:
    """Elements of an array from `first` to before `end`, touched by an operation."""

    first: int
    end: int
    operation: int


@final
class _Array:
    """Array of a member: the last writes of its elements, and the reads since then."""

    def __init__(self) -> None:
        self._writes: list[_Touch] = []
        self._reads: list[_Touch] = []

    def read(self, movement: Movement, operation: int) -> list[int]:
        """Note a read; return the operations that wrote the elements."""
        first, end = movement.data, movement.data + movement.length
        self._reads.append(_Touch(first, end, operation))
        return _overlapping(self._writes, first, end)

    def write(self, movement: Movement, operation: int) -> list[int]:
        """Note a write; return the operations that touched the elements before."""
        first, end = movement.write, movement.write + movement.length
        before = _overlapping(self._writes, first, end) + _overlapping(self._reads, first, end)
        self._writes = [touch for touch in self._writes if not first <= touch.first <= touch.end <= end]
        self._reads = [touch for touch in self._reads if not first <= touch.first <= touch.end <= end]
        self._writes.append(_Touch(first, end, operation))
        return [number for number in dict.fromkeys(before) if number != operation]


def _overlapping(touches: Sequence[_Touch], first: int, end: int) -> list[int]:
    return [touch.operation for touch in touches if touch.first < end and first < touch.end]
