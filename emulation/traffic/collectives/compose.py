# SPDX-License-Identifier: Apache-2.0
"""Composition of several collectives into one schedule: on groups of ranks, at once, or in sequence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

from emulation.errors import EmulationError
from emulation.traffic.schedule.schedule import Schedule, Transfer

__all__ = ["Placed", "at_once", "compose", "in_sequence", "on_groups"]


@final
@dataclass(frozen=True, slots=True)
class Placed:
    """A schedule as a part of a larger schedule.

    Rank r of the part is rank `ranks[r]` of the larger schedule, or r if `ranks` is None. The part's array
    begins at element `offset`, and its steps begin at step `step`, of the larger schedule.
    """

    schedule: Schedule
    ranks: tuple[int, ...] | None = None
    offset: int = 0
    step: int = 0


def compose(name: str, ranks: int, elements: int, parts: Sequence[Placed]) -> Schedule:
    """Return the schedule composed of `parts`; EmulationError unless a part's ranks are distinct.

    Steps order only operations on the same elements of a rank: different ranges of the array run at once,
    whatever their steps. `schedule.check` proves that the parts do not disturb each other.
    """
    transfers: list[Transfer] = []
    goals = []
    for part in parts:
        at = part.ranks if part.ranks is not None else tuple(range(part.schedule.ranks))
        if len(at) != part.schedule.ranks or len(set(at)) != len(at):
            raise EmulationError(
                f"schedule {part.schedule.name} needs {part.schedule.ranks} distinct ranks, got {at}",
                remedy="give each rank of the schedule a different rank",
            )
        transfers += [
            replace(
                t,
                step=t.step + part.step,
                source=at[t.source],
                target=at[t.target],
                offset=t.offset + part.offset,
            )
            for t in part.schedule.transfers
        ]
        goals += [goal.moved(at, part.offset, part.step) for goal in part.schedule.purpose]
    return Schedule(name, ranks, elements, tuple(transfers), tuple(goals))


def on_groups(schedule: Schedule, groups: Sequence[tuple[int, ...]], ranks: int) -> Schedule:
    """Return a schedule that runs a collective in several groups of ranks at once."""
    parts = [Placed(schedule, group) for group in groups]
    return compose(f"{len(groups)}-times-{schedule.name}", ranks, schedule.elements, parts)


def in_sequence(name: str, schedules: Sequence[Schedule], offsets: Sequence[int] | None = None) -> Schedule:
    """Return a schedule that runs `schedules` one after the other on one array.

    A schedule works on the results of the previous schedules slice by slice: an element is sent as soon as
    the previous schedules have finished with the element. `offsets` has the first element of each schedule, 0
    by default.
    """
    offsets = [0] * len(schedules) if offsets is None else offsets
    parts = []
    step = 0
    for schedule, offset in zip(schedules, offsets, strict=True):
        parts.append(Placed(schedule, offset=offset, step=step))
        step += max([schedule.steps, *(goal.end for goal in schedule.purpose)])
    return compose(name, _ranks(schedules), max(p.offset + p.schedule.elements for p in parts), parts)


def at_once(name: str, schedules: Sequence[Schedule]) -> Schedule:
    """Return a schedule that runs `schedules` at the same time, on consecutive ranges of the array."""
    parts = []
    offset = 0
    for schedule in schedules:
        parts.append(Placed(schedule, offset=offset))
        offset += schedule.elements
    return compose(name, _ranks(schedules), offset, parts)


def _ranks(schedules: Sequence[Schedule]) -> int:
    if not schedules:
        raise EmulationError("the mixture has no collective", remedy="give one or more collectives")
    return max(schedule.ranks for schedule in schedules)
