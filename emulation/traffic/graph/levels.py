# SPDX-License-Identifier: Apache-2.0
"""Cells of the arrays, and levels of movements.

The ends of all movements cut an array into cells, so that a movement covers whole cells, with equal lengths
at its source and its target. Levels number the steps in which a cell is read and changed. Agents follow the
levels slice by slice, so the first slices of an operation can leave before its last slice has arrived.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence

from emulation.errors import GraphError
from emulation.traffic.graph.memory import Movement, Placed

__all__ = ["bounds_of", "set_levels"]

_MAX_LEVEL = 0xFFFF


def bounds_of(movements: Iterable[Movement], elements: Sequence[int]) -> list[list[int]]:
    """Return the sorted ends of all cells of each rank, in elements; `elements` are the arrays' lengths.

    An end inside a movement's source range is an end in its target range too, and vice versa.
    """
    movements = [*movements]
    bounds = [{0, size} for size in elements]
    for movement in movements:
        bounds[movement.source] |= {movement.read, movement.read + movement.length}
        bounds[movement.target] |= {movement.write, movement.write + movement.length}
    shared = _shared(movements)
    grown = bool(shared)
    while grown:
        grown = False
        ordered = {rank: sorted(bounds[rank]) for m in shared for rank in (m.source, m.target)}
        for movement in shared:
            for here, there, start, other in (
                (movement.source, movement.target, movement.read, movement.write),
                (movement.target, movement.source, movement.write, movement.read),
            ):
                inside = ordered[here][
                    bisect_left(ordered[here], start) : bisect_left(ordered[here], start + movement.length)
                ]
                before = len(bounds[there])
                bounds[there].update(end - start + other for end in inside)
                grown = grown or len(bounds[there]) > before
    return [sorted(ends) for ends in bounds]


def _shared(movements: Sequence[Movement]) -> list[Movement]:
    """Return the movements that overlap another: the ends of one movement may cut the other's cells."""
    ranges: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for number, movement in enumerate(movements):
        ranges[movement.source].append((movement.read, movement.length, number))
        ranges[movement.target].append((movement.write, movement.length, number))
    touched: set[int] = set()
    for pieces in ranges.values():
        pieces.sort()
        end, last = -1, -1
        for low, length, number in pieces:
            if low < end:
                touched |= {number, last}
            if low + length > end:
                end, last = low + length, number
    # An end propagates along a chain of overlapping movements, so each movement of a chain counts.
    return [movement for number, movement in enumerate(movements) if number in touched]


def set_levels(placed: Placed, order: Sequence[int], bounds: Sequence[Sequence[int]]) -> None:
    """Set the levels of all movements of a graph, in the order in which its operations take effect.

    The level of an operation is higher than the levels of all operations that it waits for. Within a cell, a
    read is higher than all earlier changes; a change is higher than all earlier changes and at least as high
    as all earlier reads. GraphError above 65,535 levels.
    """
    graph, movements = placed.graph, placed.movements
    changed: dict[tuple[int, int], int] = defaultdict(lambda: -1)
    read: dict[tuple[int, int], int] = defaultdict(lambda: -1)
    levels: list[dict[str, int]] = [{} for _ in graph.operations]  # by operation and member that sees its end
    waits = graph.waits()

    def cells(rank: int, start: int, length: int) -> list[tuple[int, int]]:
        ends = bounds[rank]
        return [(rank, c) for c in range(bisect_left(ends, start), bisect_left(ends, start + length))]

    def waited(number: int) -> int:
        member = graph.operations[number].member
        return max((levels[other][member] for other in waits[number] if member in levels[other]), default=-1)

    def arrive(movement: Movement, above: int) -> None:
        level = max(above, movement.read_level)
        touched = cells(movement.target, movement.write, movement.length)
        level = max(level, *(changed[cell] + 1 for cell in touched), *(read[cell] for cell in touched))
        if level > _MAX_LEVEL:
            raise GraphError(
                f"a chain has more than {_MAX_LEVEL} operations",
                operation=movement.operation,
                key="after",
                remedy="cut the graph into several",
            )
        movement.write_level = level
        for cell in touched:
            changed[cell] = level

    senders = {receive: send for send, receive in graph.receive_of.items()}
    for number in order:
        operation = graph.operations[number]
        level = waited(number)
        if operation.kind == "compute":
            levels[number] = {operation.member: level}
        elif operation.kind == "receive":
            movement = movements[senders[number]]
            arrive(movement, level + 1)
            levels[number] = {operation.member: movement.write_level}
        else:
            movement = movements[number]
            touched = cells(movement.source, movement.read, movement.length)
            movement.read_level = max(level + 1, *(changed[cell] + 1 for cell in touched))
            for cell in touched:
                read[cell] = max(read[cell], movement.read_level)
            if movement.receive < 0:
                arrive(movement, 0)
                levels[number] = {operation.ends_at[-1]: movement.write_level}
            if operation.kind == "send":
                levels[number][operation.member] = movement.read_level
