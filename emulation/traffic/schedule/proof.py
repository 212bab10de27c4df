# SPDX-License-Identifier: Apache-2.0
"""Lockstep execution of schedules on any values, and proofs of their goals."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import TypeVar

from emulation.errors import EmulationError
from emulation.traffic.frames.values import Combine
from emulation.traffic.schedule.dag import Schedule
from emulation.traffic.schedule.goals import Goal
from emulation.traffic.schedule.slicing import Arrival, Phase, Sliced, bounds_of, slice_schedule

__all__ = ["check", "check_allreduce", "evaluate", "stages"]

T = TypeVar("T")


def evaluate(
    sliced: Sliced,
    start: Sequence[Sequence[T]],
    reduce: Callable[[int, Phase, int, T, list[tuple[int, T]]], T],
) -> list[list[T]]:
    """Run a schedule in lockstep on any values, `start[rank][cell]`, and return every rank's final values.

    `reduce(rank, phase, cell, own, parts)` returns the sum of `own` and of `parts`, (source, value) in rank
    order. It must not change its arguments.
    """
    return _lockstep(sliced.arrivals, [offset for offset, _ in sliced.cells], start, reduce)


def _lockstep(
    arrivals: Sequence[Arrival],
    offsets: list[int],
    start: Sequence[Sequence[T]],
    reduce: Callable[[int, Phase, int, T, list[tuple[int, T]]], T],
) -> list[list[T]]:
    values = [list(row) for row in start]
    for _, group in groupby(arrivals, key=lambda arrival: arrival.phase.step):
        after: list[tuple[int, int, T]] = []
        for arrival in group:
            rank, phase = arrival.target, arrival.phase
            first = bisect_left(offsets, arrival.offset)
            last = bisect_left(offsets, arrival.offset + arrival.length)
            origins = [(source, bisect_left(offsets, offset) - first) for source, offset in arrival.origins]
            for cell in range(first, last):
                parts = [(source, values[source][cell + ahead]) for source, ahead in origins]
                if phase.op is Combine.COPY:
                    after.append((rank, cell, parts[0][1]))
                else:
                    after.append((rank, cell, reduce(rank, phase, cell, values[rank][cell], parts)))
        for rank, cell, value in after:
            values[rank][cell] = value
    return values


def check_allreduce(schedule: Schedule) -> None:
    """Prove that every rank ends with each rank's contribution to each element exactly once.

    EmulationError names the first rank and range that fail.
    """
    check(replace(schedule, goals=()))


def check(schedule: Schedule) -> None:
    """Prove that a schedule fulfils its goals and changes nothing else, for any data.

    Every element is tracked as the set of initial elements added up in it. Goals that share no step are
    proved one after the other, each from arbitrary arrays. EmulationError names the first rank and range that
    fail.
    """
    for goals, part in stages(schedule):
        _check(goals, part)


def stages(schedule: Schedule) -> Iterator[tuple[tuple[Goal, ...], Schedule]]:
    """Yield each group of goals with overlapping steps, and the schedule's transfers in these steps."""
    goals = sorted(schedule.purpose, key=lambda goal: goal.begin)
    groups: list[list[Goal]] = []
    end = -1
    for goal in goals:
        if not groups or goal.begin >= end:
            groups.append([])
        groups[-1].append(goal)
        end = max(end, goal.end)
    begins = [0, *(group[0].begin for group in groups[1:]), max(schedule.steps, end)]
    for (low, high), group in zip(pairwise(begins), groups, strict=True):
        transfers = tuple(t for t in schedule.transfers if low <= t.step < high)
        yield tuple(group), replace(schedule, transfers=transfers, goals=tuple(group))


def _check(goals: tuple[Goal, ...], schedule: Schedule) -> None:
    ends = {end for goal in goals for piece in goal.pieces for low, n in piece for end in (low, low + n)}
    bounds = bounds_of(schedule, ends)
    cells, ranks = len(bounds) - 1, schedule.ranks

    def name(cell: int) -> str:
        return f"elements {bounds[cell]} to {bounds[cell + 1] - 1}"

    def reduce(rank: int, phase: Phase, cell: int, own: int, parts: list[tuple[int, int]]) -> int:
        for source, part in parts:
            if own & part:
                raise EmulationError(
                    f"schedule {schedule.name}: in step {phase.step} rank {rank} adds to {name(cell)} from "
                    f"rank {source} values that it already holds"
                )
            own |= part
        return own

    # A value is a bit set of the initial elements in it: bit cell * ranks + rank.
    start = [[1 << cell * ranks + rank for cell in range(cells)] for rank in range(ranks)]
    ended = _lockstep(slice_schedule(schedule).arrivals, bounds, start, reduce)
    expected: list[list[int | None]] = [list(row) for row in start]
    for goal in goals:
        for holds in goal.holds():
            first = bisect_left(bounds, holds.offset)
            last = bisect_left(bounds, holds.offset + holds.length)
            origins = [(rank, bisect_left(bounds, offset) - first) for rank, offset in holds.sources]
            for cell in range(first, last):
                value = sum(start[rank][cell + ahead] for rank, ahead in origins) if origins else None
                for rank in holds.ranks:
                    expected[rank][cell] = value
    for rank, (row, wanted) in enumerate(zip(ended, expected, strict=True)):
        for cell, (value, right) in enumerate(zip(row, wanted, strict=True)):
            if right is None or value == right:
                continue
            absent = right & ~value
            lacking = [
                source
                for source in range(ranks)
                if any(absent >> place * ranks + source & 1 for place in range(cells))
            ]
            reason = f"without values of ranks {lacking}" if lacking else "mixed with other elements"
            raise EmulationError(f"schedule {schedule.name}: rank {rank} ends with {name(cell)} {reason}")
