# SPDX-License-Identifier: Apache-2.0
"""Data dependencies of a traffic graph: operations that touch the same elements of a member's array."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from emulation.traffic.graph.memory import Movement, place
from emulation.traffic.graph.operations import Graph
from emulation.traffic.graph.order import in_order

__all__ = ["data_order"]


def data_order(graph: Graph) -> tuple[list[int], dict[int, list[int]], dict[int, list[int]]]:
    """Return the order in which operations take effect, and their data dependencies.

    All operations are identified by their index in `graph.operations`. If a receive takes a send, the receive
    writes the data, and the send writes nothing.

    Returns:
        Indices of all operations in the order in which they take effect; for each send or copy, the
        operations that wrote the elements it reads; for each writing operation, the earlier operations that
        read or wrote the elements it overwrites.
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
    """A read or write by an operation of the elements from `first` up to, but not including, `end`."""

    first: int
    end: int
    operation: int


@final
class _Array:
    """A member's array: the last write of each element, and the reads after this write."""

    def __init__(self) -> None:
        self._writes: list[_Touch] = []
        self._reads: list[_Touch] = []

    def read(self, movement: Movement, operation: int) -> list[int]:
        """Record that an operation reads the movement's elements; return the operations that wrote them."""
        first, end = movement.data, movement.data + movement.length
        self._reads.append(_Touch(first, end, operation))
        return _overlapping(self._writes, first, end)

    def write(self, movement: Movement, operation: int) -> list[int]:
        """Record that an operation writes the movement's elements.

        Returns the operations that wrote or read these elements before.
        """
        first, end = movement.write, movement.write + movement.length
        before = _overlapping(self._writes, first, end) + _overlapping(self._reads, first, end)
        self._writes = [touch for touch in self._writes if not first <= touch.first <= touch.end <= end]
        self._reads = [touch for touch in self._reads if not first <= touch.first <= touch.end <= end]
        self._writes.append(_Touch(first, end, operation))
        return [number for number in dict.fromkeys(before) if number != operation]


def _overlapping(touches: Sequence[_Touch], first: int, end: int) -> list[int]:
    return [touch.operation for touch in touches if touch.first < end and first < touch.end]
