# SPDX-License-Identifier: Apache-2.0
"""A schedule cut into slices, each the content of a frame, and each rank's plan for every slice."""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple, Protocol, final, overload

from emulation.errors import EmulationError
from emulation.traffic.frames.values import Combine
from emulation.traffic.schedule.dag import Schedule, Transfer
from emulation.traffic.schedule.tasks import Task

__all__ = [
    "Arrival",
    "CellPlan",
    "Phase",
    "Send",
    "SliceTable",
    "Sliced",
    "SlicedTraffic",
    "bounds_of",
    "slice_schedule",
]


class SlicedTraffic(Protocol):
    """Traffic cut into slices, in the form for agents: a collective's schedule, or a graph."""

    @property
    def schedule(self) -> Schedule:
        """Transfers between the ranks."""
        ...

    @property
    def slice_elements(self) -> int:
        """Largest number of elements in a slice."""
        ...

    @property
    def overlap(self) -> bool:
        """True if slices of a step may leave before all arrivals of earlier steps."""
        ...

    def elements_of(self, rank: int) -> int:
        """Return the number of elements of a rank's array."""
        ...

    def table_of(self, rank: int) -> "SliceTable":
        """Return the slices of a rank's array."""
        ...

    def plans_of(self, rank: int) -> "tuple[CellPlan, ...]":
        """Return a rank's plans, one for each cell (range of elements) of its array."""
        ...

    def tasks_of(self, rank: int) -> tuple[Task, ...]:
        """Return a rank's tasks."""
        ...


@final
class Send(NamedTuple):
    """Send of a cell (see Sliced) to rank `peer` at a step.

    In the peer's array, the cell's offset is `shift` elements higher. `op` says how the peer combines the
    received data with its own. `task` is the index of the send's task, or -1 for
    none (emulation.traffic.schedule.tasks).
    """

    step: int
    peer: int
    op: Combine
    shift: int
    task: int = -1


@final
class Phase(NamedTuple):
    """Arrivals of a cell in a step, one from each of the ranks `sources`, in ascending order.

    `op` says how the received data are combined with the data of the cell. `task` is as in `Send`.
    """

    step: int
    op: Combine
    sources: tuple[int, ...]
    task: int = -1


@final
@dataclass(frozen=True, slots=True)
class CellPlan:
    """A rank's plan for a cell: its phases of arrivals, in order, and the sends that each phase releases.

    The sends `releases[i]` may leave once the first `i` phases have been applied.
    """

    phases: tuple[Phase, ...] = ()
    releases: tuple[tuple[Send, ...], ...] = ((),)


@final
@dataclass(frozen=True, slots=True)
class Arrival:
    """Arrivals of a range of elements at rank `target` in the step of `phase`.

    `origins` has the rank and the offset from which each copy of the range comes, in ascending order.
    """

    target: int
    offset: int
    length: int
    phase: Phase
    origins: tuple[tuple[int, int], ...]


@final
class SliceTable:
    """Offsets and sizes of all slices in bytes, in arrays shared by agents.

    A cell is a range of the array that transfers move only as a whole; each cell is cut into slices.
    `order` is the initial order of slices: the first slice of each cell, then the second of each, and so on,
    so that later steps fill all links evenly. `count[c]` is the number of slices of cell c.
    """

    def __init__(self, slices: Sequence[tuple[int, int, int]], cells: int, item_bytes: int) -> None:
        self.offset = array("q", (offset * item_bytes for offset, _, _ in slices))
        self.size = array("q", (length * item_bytes for _, length, _ in slices))
        self.cell = array("q", (cell for _, _, cell in slices))
        self.count = [0] * cells
        positions = []
        for cell in self.cell:
            positions.append(self.count[cell])
            self.count[cell] += 1
        self.order = array("q", sorted(range(len(positions)), key=lambda index: (positions[index], index)))

    @cached_property
    def largest(self) -> int:
        """Size of the largest slice in bytes; 0 if there are no slices."""
        return max(self.size, default=0)

    @cached_property
    def at(self) -> Mapping[int, int]:
        """Index of each slice by its offset, for the agents in Python of tests/oracle."""
        return {offset: index for index, offset in enumerate(self.offset)}


@final
@dataclass(frozen=True, slots=True)
class Sliced:
    """A schedule cut into slices; all offsets and lengths are elements.

    The ends of transfers cut the array into cells, so that a transfer covers whole cells at source and
    target; `cells[c]` is (offset, length). Each cell is cut into slices of at most `slice_elements`;
    `slices[s]` is (offset, length, cell). `plans[rank][cell]` is the rank's plan, computed on request.
    `arrivals` is the schedule from the receivers' side, in the order of steps. Without `overlap`, a rank
    sends nothing of a step before all its arrivals of earlier steps.
    """

    schedule: Schedule
    slice_elements: int
    cells: tuple[tuple[int, int], ...]
    slices: tuple[tuple[int, int, int], ...]
    plans: "Plans"
    arrivals: tuple[Arrival, ...]
    table: SliceTable
    overlap: bool = True

    def elements_of(self, rank: int) -> int:
        """Return the number of elements of a rank's array."""
        return self.schedule.elements

    def table_of(self, rank: int) -> SliceTable:
        """Return the slices of a rank's array, equal for all ranks."""
        return self.table

    def plans_of(self, rank: int) -> tuple[CellPlan, ...]:
        """Return a rank's plans, one for each cell (range of elements) of its array."""
        return self.plans[rank]

    def tasks_of(self, rank: int) -> tuple[Task, ...]:
        """Return no tasks: only traffic graphs have tasks."""
        return ()


_IDLE = CellPlan()

_MOST_CELLS = 1 << 18
"""Largest number of cells of all ranks whose plans are kept, 8 bytes each."""


@final
class Plans(Sequence[tuple[CellPlan, ...]]):
    """Plans of each rank, one for each cell; plans of up to _MOST_CELLS cells are kept for later accesses.

    All plans of a large schedule would fill the memory. Cells with equal plans share a plan object; a rank
    has few distinct plans.
    """

    def __init__(self, schedule: Schedule, bounds: list[int], arrivals: Iterable[Arrival]) -> None:
        self._bounds = bounds
        self._kept: dict[int, tuple[CellPlan, ...]] = {}
        self._leaving: list[list[Transfer]] = [[] for _ in range(schedule.ranks)]
        self._coming: list[list[Arrival]] = [[] for _ in range(schedule.ranks)]
        for transfer in schedule.transfers:
            self._leaving[transfer.source].append(transfer)
        for arrival in arrivals:
            self._coming[arrival.target].append(arrival)

    def __len__(self) -> int:
        return len(self._leaving)

    @overload
    def __getitem__(self, index: int) -> tuple[CellPlan, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[CellPlan, ...]]: ...

    def __getitem__(self, index: int | slice) -> tuple[CellPlan, ...] | Sequence[tuple[CellPlan, ...]]:
        if isinstance(index, slice):
            return [self[rank] for rank in range(*index.indices(len(self)))]
        rank = range(len(self))[index]
        plans = self._kept.get(rank)
        if plans is None:
            plans = self._of(rank)
            if (len(self._kept) + 1) * len(plans) <= _MOST_CELLS:
                self._kept[rank] = plans
        return plans

    def _of(self, rank: int) -> tuple[CellPlan, ...]:
        leaving, coming = self._leaving[rank], self._coming[rank]
        ends = {self._bounds[0], self._bounds[-1]}
        for item in (*leaving, *coming):
            ends.update((item.offset, item.offset + item.length))
        ordered = sorted(ends)  # all cells between two of these ends have the same plan
        index = {end: number for number, end in enumerate(ordered)}
        sends: list[list[Send]] = [[] for _ in ordered]
        phases: list[list[Phase]] = [[] for _ in ordered]
        known: dict[Send, Send] = {}
        for transfer in leaving:
            send = Send(transfer.step, transfer.target, transfer.op, transfer.shift)
            send = known.setdefault(send, send)
            for group in sends[index[transfer.offset] : index[transfer.offset + transfer.length]]:
                group.append(send)
        for arrival in coming:
            for arriving in phases[index[arrival.offset] : index[arrival.offset + arrival.length]]:
                arriving.append(arrival.phase)
        plans: dict[tuple[tuple[int, ...], tuple[int, ...]], CellPlan] = {}
        row: list[CellPlan] = []
        for group, arriving, end in zip(sends, phases, ordered[1:], strict=False):
            key = (tuple(map(id, group)), tuple(map(id, arriving)))
            if key not in plans:
                plans[key] = _plan(group, tuple(arriving)) if group or arriving else _IDLE
            row += [plans[key]] * (bisect_left(self._bounds, end) - len(row))
        return tuple(row)


def _plan(sends: Sequence[Send], phases: tuple[Phase, ...]) -> CellPlan:
    steps = [phase.step for phase in phases]
    releases: list[list[Send]] = [[] for _ in range(len(phases) + 1)]
    for send in sends:
        releases[bisect_left(steps, send.step)].append(send)
    return CellPlan(phases, tuple(tuple(group) for group in releases))


@lru_cache(maxsize=2)
def slice_schedule(schedule: Schedule, slice_elements: int = 1024, *, overlap: bool = True) -> Sliced:
    """Cut a schedule into slices; EmulationError if two transfers of a step contradict each other.

    The last two results are cached, since variants of a scenario often have equal schedules.
    """
    if slice_elements < 1:
        raise EmulationError(f"slices cannot have {slice_elements} elements; give 1 or more")
    bounds = bounds_of(schedule)
    cells = tuple((low, high - low) for low, high in pairwise(bounds))
    slices = tuple(
        (offset + start, min(slice_elements, length - start), cell)
        for cell, (offset, length) in enumerate(cells)
        for start in range(0, length, slice_elements)
    )
    arrivals = tuple(_arrivals(schedule))
    plans = Plans(schedule, bounds, arrivals)
    table = SliceTable(slices, len(cells), 4)
    return Sliced(schedule, slice_elements, cells, slices, plans, arrivals, table, overlap)


def bounds_of(schedule: Schedule, more: Iterable[int] = ()) -> list[int]:
    """Return the sorted ends of all cells, in elements: the ends of transfers, and `more`.

    An end inside a shifted transfer's source range is an end in its target range too, and vice versa.
    """
    bounds = {0, schedule.elements, *more}
    for offset, length, shift in {(t.offset, t.length, t.shift) for t in schedule.transfers}:
        bounds.update((offset, offset + length, offset + shift, offset + shift + length))
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


_place = attrgetter("step", "target")


def _arrivals(schedule: Schedule) -> Iterator[Arrival]:
    phases: dict[Phase, Phase] = {}
    for (_, target), group in groupby(sorted(schedule.transfers, key=_place), key=_place):
        for offset, length, transfers in _runs(list(group)):
            transfers.sort(key=attrgetter("source"))
            sources = tuple(transfer.source for transfer in transfers)
            first = transfers[0]
            if len(transfers) > 1:
                _check(schedule, target, offset, length, transfers)
            phase = Phase(first.step, first.op, sources)
            phase = phases.setdefault(phase, phase)
            origins = tuple((transfer.source, offset - transfer.shift) for transfer in transfers)
            yield Arrival(target, offset, length, phase, origins)


def _runs(transfers: list[Transfer]) -> Iterator[tuple[int, int, list[Transfer]]]:
    """Yield (offset, length, transfers): the target ranges of transfers, split where they overlap."""
    by_range: dict[tuple[int, int], list[Transfer]] = defaultdict(list)
    for transfer in transfers:
        by_range[transfer.offset + transfer.shift, transfer.length].append(transfer)
    ranges = sorted(by_range)
    if all(low + length <= after for (low, length), (after, _) in pairwise(ranges)):
        for low, length in ranges:
            yield low, length, by_range[low, length]
        return
    ends = sorted({end for low, length in ranges for end in (low, low + length)})
    inside: dict[int, list[Transfer]] = defaultdict(list)
    for low, length in ranges:
        for cut in range(bisect_left(ends, low), bisect_left(ends, low + length)):
            inside[cut].extend(by_range[low, length])
    for cut in sorted(inside):
        yield ends[cut], ends[cut + 1] - ends[cut], inside[cut]


def _check(schedule: Schedule, target: int, offset: int, length: int, transfers: list[Transfer]) -> None:
    sources = {transfer.source for transfer in transfers}
    if len(sources) < len(transfers) or any(transfer.op is Combine.COPY for transfer in transfers):
        raise EmulationError(
            f"schedule {schedule.name}: in step {transfers[0].step} rank {target} gets elements {offset} to "
            f"{offset + length - 1} {len(transfers)} times",
            remedy="in a step, copy a range once, or reduce it once from each source",
        )
