# SPDX-License-Identifier: Apache-2.0
"""A collective as a frozen DAG of sends.

A schedule is a set of transfers, each at a step, and means what it would mean if all ranks went through the
steps in lockstep: a transfer carries what its source held before the step, and what arrives in a step is
added (REDUCE, in rank order, the receiver's own elements at its own place) or put in place (COPY) before
the next one.

The agents run it as loosely as the data allow. A slice is what one frame carries. A send of a slice leaves
as soon as its source has applied all that arrives there in earlier steps; what arrives is applied as soon
as the sends that still need the old elements have left. Since a send waits for earlier steps only, no
schedule can block itself.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar, final

from emulation.errors import EmulationError
from emulation.traffic.frames import Combine

__all__ = [
    "CellPlan",
    "Combine",
    "Phase",
    "Schedule",
    "Send",
    "Sliced",
    "Transfer",
    "check_allreduce",
    "demand",
    "evaluate",
    "neighbours",
    "slice_schedule",
]

MAX_STEP = 0xFFFF
T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class Transfer:
    """`length` elements at `offset` of the source's array, to `offset + shift` of the target's, at a step."""

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
    """Who sends what to whom, and in which step; offsets in elements.

    EmulationError when a transfer is impossible.
    """

    name: str
    ranks: int
    elements: int
    transfers: tuple[Transfer, ...]

    def __post_init__(self) -> None:
        if self.ranks < 1 or self.elements < 1:
            raise EmulationError(
                f"schedule {self.name}: {self.ranks} ranks, {self.elements} elements",
                remedy="both are at least one",
            )
        for transfer in self.transfers:
            fault = self._fault(transfer)
            if fault:
                raise EmulationError(f"schedule {self.name}: {transfer}: {fault}")

    def _fault(self, transfer: Transfer) -> str:
        if not (0 <= transfer.source < self.ranks and 0 <= transfer.target < self.ranks):
            return f"ranks are 0 to {self.ranks - 1}"
        if transfer.source == transfer.target:
            return "a rank cannot send to itself"
        if not 0 <= transfer.step <= MAX_STEP:
            return f"steps are 0 to {MAX_STEP}"
        low = min(transfer.offset, transfer.offset + transfer.shift)
        high = max(transfer.offset, transfer.offset + transfer.shift) + transfer.length
        if transfer.length < 1 or low < 0 or high > self.elements:
            return f"not a range of an array of {self.elements} elements"
        return ""

    @property
    def steps(self) -> int:
        """Number of steps."""
        return max((transfer.step for transfer in self.transfers), default=-1) + 1


@final
@dataclass(frozen=True, slots=True)
class Send:
    """A transfer's part in one cell."""

    step: int
    peer: int
    op: Combine
    shift: int


@final
@dataclass(frozen=True, slots=True)
class Phase:
    """What arrives for a cell in one step: `sources` in rank order, each once."""

    step: int
    op: Combine
    sources: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class CellPlan:
    """What one rank does with one cell: `releases[i]` may leave when `i` phases have been applied."""

    phases: tuple[Phase, ...] = ()
    releases: tuple[tuple[Send, ...], ...] = ((),)


@final
@dataclass(frozen=True, slots=True)
class Sliced:
    """A schedule cut for the wire.

    Cells are the pieces between the ends of transfers, so that a transfer is a run of whole cells at both
    its ends; `cells[c]` is (offset, length). `slices[s]` is (offset, length, cell): each cell cut to at
    most `slice_elements`. `plans[rank][cell]` says what the rank does with it.
    """

    schedule: Schedule
    slice_elements: int
    cells: tuple[tuple[int, int], ...]
    slices: tuple[tuple[int, int, int], ...]
    plans: tuple[tuple[CellPlan, ...], ...]


_IDLE = CellPlan()


def slice_schedule(schedule: Schedule, slice_elements: int = 1024) -> Sliced:
    """Cut a schedule into slices; EmulationError when two transfers of one step contradict each other."""
    if slice_elements < 1:
        raise EmulationError(f"slices of {slice_elements} elements: a slice has at least one")
    bounds = _bounds(schedule)
    cells = tuple((low, high - low) for low, high in pairwise(bounds))
    slices = tuple(
        (offset + start, min(slice_elements, length - start), cell)
        for cell, (offset, length) in enumerate(cells)
        for start in range(0, length, slice_elements)
    )
    sends: dict[tuple[int, int], list[Send]] = defaultdict(list)
    arrivals: dict[tuple[int, int], dict[int, list[Transfer]]] = defaultdict(lambda: defaultdict(list))
    for transfer in schedule.transfers:
        first = bisect_left(bounds, transfer.offset)
        last = bisect_left(bounds, transfer.offset + transfer.length)
        ahead = bisect_left(bounds, transfer.offset + transfer.shift) - first
        send = Send(transfer.step, transfer.target, transfer.op, transfer.shift)
        for cell in range(first, last):
            sends[transfer.source, cell].append(send)
            arrivals[transfer.target, cell + ahead][transfer.step].append(transfer)
    busy = sends.keys() | arrivals.keys()
    plans = tuple(
        tuple(
            _plan(schedule, rank, cells[cell], sends[rank, cell], arrivals[rank, cell])
            if (rank, cell) in busy
            else _IDLE
            for cell in range(len(cells))
        )
        for rank in range(schedule.ranks)
    )
    return Sliced(schedule, slice_elements, cells, slices, plans)


def _bounds(schedule: Schedule) -> list[int]:
    """Ends of all cells; one inside a shifted transfer is one at its other end too, until none is new."""
    bounds = {0, schedule.elements}
    for transfer in schedule.transfers:
        for end in (transfer.offset, transfer.offset + transfer.shift):
            bounds.update((end, end + transfer.length))
    shifted = {(t.offset, t.length, t.shift) for t in schedule.transfers if t.shift}
    grown = bool(shifted)
    while grown:
        before = len(bounds)
        ordered = sorted(bounds)
        for offset, length, shift in shifted:
            for start, move in ((offset, shift), (offset + shift, -shift)):
                inside = ordered[bisect_left(ordered, start) : bisect_left(ordered, start + length)]
                bounds.update(bound + move for bound in inside)
        grown = len(bounds) > before
    return sorted(bounds)


def _plan(
    schedule: Schedule,
    rank: int,
    cell: tuple[int, int],
    sends: list[Send],
    arrivals: dict[int, list[Transfer]],
) -> CellPlan:
    phases = []
    for step in sorted(arrivals):
        transfers = arrivals[step]
        sources = tuple(sorted({transfer.source for transfer in transfers}))
        op = transfers[0].op
        if len(sources) < len(transfers) or (
            len(transfers) > 1 and any(t.op is Combine.COPY for t in transfers)
        ):
            raise EmulationError(
                f"schedule {schedule.name}: in step {step} rank {rank} gets elements {cell[0]} to "
                f"{cell[0] + cell[1] - 1} {len(transfers)} times",
                remedy="a range is copied once, or reduced once from each source, in a step",
            )
        phases.append(Phase(step, op, sources))
    steps = [phase.step for phase in phases]
    releases: list[list[Send]] = [[] for _ in range(len(phases) + 1)]
    for send in sends:
        releases[bisect_left(steps, send.step)].append(send)
    return CellPlan(tuple(phases), tuple(tuple(group) for group in releases))


def evaluate(
    sliced: Sliced,
    start: Sequence[Sequence[T]],
    reduce: Callable[[int, Phase, int, T, list[tuple[int, T]]], T],
) -> list[list[T]]:
    """Run a schedule in lockstep on any values, `start[rank][cell]`, and return what every rank ends with.

    `reduce(rank, phase, cell, own, parts)` returns the sum; `parts` are (source, value) in rank order. It
    must not change its arguments.
    """
    cell_at = {offset: cell for cell, (offset, _) in enumerate(sliced.cells)}
    steps: dict[int, dict[tuple[int, int], list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    phases: dict[tuple[int, int, int], Phase] = {}
    for rank, plans in enumerate(sliced.plans):
        for cell, plan in enumerate(plans):
            offset = sliced.cells[cell][0]
            for send in (send for group in plan.releases for send in group):
                steps[send.step][send.peer, cell_at[offset + send.shift]].append((rank, cell))
            for phase in plan.phases:
                phases[phase.step, rank, cell] = phase
    values = [list(row) for row in start]
    for step in sorted(steps):
        after: dict[tuple[int, int], T] = {}
        for (rank, cell), origins in steps[step].items():
            phase = phases[step, rank, cell]
            parts = [(source, values[source][place]) for source, place in sorted(origins)]
            if phase.op is Combine.COPY:
                after[rank, cell] = parts[0][1]
            else:
                after[rank, cell] = reduce(rank, phase, cell, values[rank][cell], parts)
        for (rank, cell), value in after.items():
            values[rank][cell] = value
    return values


def check_allreduce(schedule: Schedule) -> None:
    """Prove that every rank ends with each rank's contribution to each element exactly once.

    EmulationError naming the first rank and range for which it does not hold.
    """
    sliced = slice_schedule(schedule)
    ranks = schedule.ranks

    def name(cell: int) -> str:
        offset, length = sliced.cells[cell]
        return f"elements {offset} to {offset + length - 1}"

    def reduce(rank: int, phase: Phase, cell: int, own: int, parts: list[tuple[int, int]]) -> int:
        for source, part in parts:
            if own & part:
                raise EmulationError(
                    f"schedule {schedule.name}: in step {phase.step} rank {rank} adds to {name(cell)} from "
                    f"rank {source} what it already holds"
                )
            own |= part
        return own

    # A value is the set of its contributions: bit cell * ranks + rank.
    start = [[1 << cell * ranks + rank for cell in range(len(sliced.cells))] for rank in range(ranks)]
    everyone = (1 << ranks) - 1
    for rank, row in enumerate(evaluate(sliced, start, reduce)):
        for cell, value in enumerate(row):
            if value == everyone << cell * ranks:
                continue
            found = value >> cell * ranks
            missing = [source for source in range(ranks) if not found >> source & 1]
            reason = f"without {missing}" if missing else "mixed with other elements"
            raise EmulationError(f"schedule {schedule.name}: rank {rank} ends with {name(cell)} {reason}")


def demand(schedule: Schedule, names: Sequence[str], element_bytes: int = 4) -> dict[tuple[str, str], int]:
    """Bytes each pair (source, target) sends; `names[rank]` is the node of a rank."""
    total: dict[tuple[str, str], int] = defaultdict(int)
    for transfer in schedule.transfers:
        total[names[transfer.source], names[transfer.target]] += transfer.length * element_bytes
    return dict(total)


def neighbours(schedule: Schedule, rank: int) -> tuple[int, ...]:
    """Ranks that a rank exchanges data with, either way, ascending."""
    pairs = {(t.source, t.target) for t in schedule.transfers if rank in (t.source, t.target)}
    return tuple(sorted({source if target == rank else target for source, target in pairs}))
