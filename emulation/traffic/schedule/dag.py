# SPDX-License-Identifier: Apache-2.0
"""The DAG of sends: transfers at steps, and their goals; schedule.py defines its meaning."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from emulation.errors import EmulationError
from emulation.traffic.frames.values import Combine
from emulation.traffic.schedule.goals import Goal

__all__ = ["Schedule", "Transfer", "check_transfers", "demand", "neighbours"]

MAX_STEP = 0xFFFF


@final
@dataclass(frozen=True, slots=True)
class Transfer:
    """A send, at a step, of `length` elements from the source's `offset` to the target's `offset + shift`."""

    step: int
    source: int
    target: int
    offset: int
    length: int
    op: Combine
    shift: int = 0


@final
@dataclass(frozen=True, slots=True)
class Schedule:
    """The transfers of a collective; offsets are in elements.

    `goals` are the effects that the schedule must have; without goals it is an AllReduce of all ranks over
    the whole array. EmulationError for an impossible transfer.
    """

    name: str
    ranks: int
    elements: int
    transfers: tuple[Transfer, ...]
    goals: tuple[Goal, ...] = ()

    def __post_init__(self) -> None:
        if self.ranks < 1 or self.elements < 1:
            raise EmulationError(
                f"schedule {self.name} has {self.ranks} ranks and {self.elements} elements",
                remedy="give one or more of both",
            )
        ranks, elements = self.ranks, self.elements
        for transfer in self.transfers:
            # A single expression for speed: a big fabric has a hundred thousand transfers.
            low, there, length = transfer.offset, transfer.offset + transfer.shift, transfer.length
            if not (
                0 <= transfer.source < ranks
                and 0 <= transfer.target < ranks
                and transfer.source != transfer.target
                and 0 <= transfer.step <= MAX_STEP
                and length >= 1
                and 0 <= low <= elements - length
                and 0 <= there <= elements - length
            ):
                raise EmulationError(f"schedule {self.name}: {transfer}: {self._fault(transfer)}")

    def _fault(self, transfer: Transfer) -> str:
        if not (0 <= transfer.source < self.ranks and 0 <= transfer.target < self.ranks):
            return f"a rank is not from 0 to {self.ranks - 1}"
        if transfer.source == transfer.target:
            return "a rank cannot send to itself"
        if not 0 <= transfer.step <= MAX_STEP:
            return f"the step is not from 0 to {MAX_STEP}"
        return f"the elements are not a range of an array of {self.elements} elements"

    @property
    def steps(self) -> int:
        """Number of steps."""
        return max((transfer.step for transfer in self.transfers), default=-1) + 1

    @property
    def purpose(self) -> tuple[Goal, ...]:
        """The goals, or the AllReduce of the whole array for a schedule without goals."""
        if self.goals:
            return self.goals
        return (Goal("allreduce", tuple(range(self.ranks)), (((0, self.elements),),), end=self.steps),)


def check_transfers(schedule: Schedule, what: str) -> None:
    """Raise an EmulationError about a missing `what` if a schedule has no transfers."""
    if not schedule.transfers:
        raise EmulationError(
            f"schedule {schedule.name} has no transfers, so it has no {what}",
            remedy="name a collective with another algorithm than switch-tree",
        )


def demand(schedule: Schedule, names: Sequence[str], element_bytes: int = 4) -> dict[tuple[str, str], int]:
    """Return the bytes sent by each pair (source, target); `names[rank]` is the node of a rank."""
    total: dict[tuple[str, str], int] = defaultdict(int)
    for transfer in schedule.transfers:
        total[names[transfer.source], names[transfer.target]] += transfer.length * element_bytes
    return dict(total)


def neighbours(schedule: Schedule, rank: int) -> tuple[int, ...]:
    """Return the ranks to which a rank sends data, or from which it receives data, ascending."""
    pairs = {(t.source, t.target) for t in schedule.transfers if rank in (t.source, t.target)}
    return tuple(sorted({source if target == rank else target for source, target in pairs}))
