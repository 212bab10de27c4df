# SPDX-License-Identifier: Apache-2.0
"""Translation of jobs' graphs into slices, plans of cells and tasks for agents."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from emulation.errors import EmulationError
from emulation.traffic.graph.levels import bounds_of, set_levels
from emulation.traffic.graph.memory import Movement, Placed, place, set_windows
from emulation.traffic.graph.operations import Graph
from emulation.traffic.graph.order import in_order
from emulation.traffic.schedule.dag import Schedule, Transfer
from emulation.traffic.schedule.slicing import CellPlan, Phase, Send, SliceTable
from emulation.traffic.schedule.tasks import Task

__all__ = ["JobGraph", "Lowered", "SlicedGraph", "lower"]

# Rank and index of a task.
_At = tuple[int, int]


@final
@dataclass(frozen=True, slots=True)
class JobGraph:
    """A job's graph; its times count from `begin_ps` after the first job of the same `lower` call."""

    name: str
    graph: Graph
    begin_ps: int = 0


@final
@dataclass(frozen=True, slots=True)
class Lowered:
    """A job's part of a SlicedGraph.

    `order` has the indices of operations in the order in which they take effect. `begins` and `ends` have,
    for each operation, the (rank, index of the task) where it begins or ends.
    """

    job: JobGraph
    placed: Placed
    order: tuple[int, ...]
    begins: tuple[_At, ...]
    ends: tuple[_At, ...]


@final
class SlicedGraph:
    """Graphs of jobs cut into slices (`SlicedTraffic`); rank r is the node `members[r]`.

    `schedule` has the sends as transfers, with their levels as steps. Each rank has its own array, slices and
    tasks.
    """

    overlap = True

    def __init__(
        self,
        members: tuple[str, ...],
        slice_elements: int,
        jobs: tuple[Lowered, ...],
        elements: Sequence[int],
        parts: Sequence[tuple[SliceTable, tuple[CellPlan, ...], tuple[Task, ...]]],
    ) -> None:
        self.members = members
        self.slice_elements = slice_elements
        self.jobs = jobs
        self._elements = tuple(elements)
        self._parts = parts
        transfers = tuple(
            Transfer(m.write_level, m.source, m.target, m.data, m.length, m.combine, m.write - m.data)
            for job in jobs
            for m in job.placed.movements.values()
            if m.source != m.target
        )
        name = "-".join(job.job.name for job in jobs)
        self.schedule = Schedule(name, len(members), max(elements), transfers)

    def elements_of(self, rank: int) -> int:
        """Return the number of elements of a rank's array."""
        return self._elements[rank]

    def table_of(self, rank: int) -> SliceTable:
        """Return the slices of a rank's array."""
        return self._parts[rank][0]

    def plans_of(self, rank: int) -> tuple[CellPlan, ...]:
        """Return a rank's plans, one for each cell (range of elements) of its array."""
        return self._parts[rank][1]

    def tasks_of(self, rank: int) -> tuple[Task, ...]:
        """Return a rank's tasks."""
        return self._parts[rank][2]


def lower(jobs: Sequence[JobGraph], members: Sequence[str], slice_elements: int) -> SlicedGraph:
    """Return the graphs of jobs as slices and tasks; rank r is the node `members[r]`.

    GraphError if a graph has too many levels, EmulationError if an array has too many cells.
    """
    ranks = {name: rank for rank, name in enumerate(members)}
    used = [0] * len(members)
    orders = [in_order(job.graph) for job in jobs]
    placed = [place(job.graph, ranks, order, used) for job, order in zip(jobs, orders, strict=True)]
    elements = [max(1, size) for size in used]
    movements = [movement for each in placed for movement in each.movements.values()]
    bounds = bounds_of(movements, [max(1, end) for end in set_windows(movements, used)])
    for each, order in zip(placed, orders, strict=True):
        set_levels(each, order, bounds)
    tasks = _Tasks(len(members))
    lowered = []
    for job, each, order in zip(jobs, placed, orders, strict=True):
        begins, ends = tasks.add(job, each, ranks, bounds, slice_elements)
        lowered.append(Lowered(job, each, tuple(order), begins, ends))
    plans = _plans(movements, bounds, tasks)
    windows = _windows(movements, bounds)
    parts = []
    for rank, ends_of_cells in enumerate(bounds):
        cells = [*pairwise(ends_of_cells)]
        shifts = windows[rank]
        slices = [
            (low + start + shifts.get(cell, 0), min(slice_elements, high - low - start), cell)
            for cell, (low, high) in enumerate(cells)
            for start in range(0, high - low, slice_elements)
        ]
        parts.append((SliceTable(slices, len(cells), 4), plans[rank], tasks.of(rank)))
    return SlicedGraph(tuple(members), slice_elements, tuple(lowered), elements, parts)


class _Growing:
    """A mutable `Task`, while its followers are collected."""

    __slots__ = ("at_ps", "delay_ps", "duration_ps", "followers", "free", "needs", "slices", "unit")

    def __init__(self) -> None:
        self.needs = self.at_ps = self.delay_ps = self.unit = self.slices = 0
        self.duration_ps = -1
        self.free = False
        self.followers: list[int] = []


@final
class _Tasks:
    """Tasks of all ranks.

    `leaving` and `arriving` map the id() of a movement to its task's index at the source and at the target.
    """

    def __init__(self, ranks: int) -> None:
        self._tasks: list[list[_Growing]] = [[] for _ in range(ranks)]
        self.leaving: dict[int, int] = {}
        self.arriving: dict[int, int] = {}

    def of(self, rank: int) -> tuple[Task, ...]:
        return tuple(
            Task(t.needs, t.at_ps, t.delay_ps, t.duration_ps, t.unit, t.slices, t.free, tuple(t.followers))
            for t in self._tasks[rank]
        )

    def add(
        self,
        job: JobGraph,
        placed: Placed,
        ranks: Mapping[str, int],
        bounds: Sequence[Sequence[int]],
        slice_elements: int,
    ) -> tuple[tuple[_At, ...], tuple[_At, ...]]:
        """Add the tasks of a job; return the (rank, task) at which each operation begins, and ends."""
        graph = job.graph
        entries: list[_At] = [(-1, -1)] * len(graph.operations)
        ends: dict[tuple[int, str], _At] = {}  # by operation and member that sees its end
        for number, operation in enumerate(graph.operations):
            rank = ranks[operation.member]
            entry: _At | None = None
            if operation.compute_ps or operation.kind == "compute":
                entry = self._new(rank)
                task = self._at(entry)
                task.duration_ps, task.unit = operation.compute_ps, operation.unit
                ends[number, operation.member] = entry
            if (movement := placed.movements.get(number)) is not None:
                count = _slices(movement, bounds, slice_elements)
                leaves, arrives = self._new(rank), self._new(movement.target)
                self._at(leaves).slices = self._at(arrives).slices = count
                self.leaving[id(movement)], self.arriving[id(movement)] = leaves[1], arrives[1]
                if entry is not None:
                    self._follow(entry, leaves)
                entry = entry or leaves
                self._at(arrives).free = movement.receive < 0
                if operation.kind == "send":
                    ends[number, operation.member] = leaves
                if movement.receive >= 0:
                    receiver = graph.operations[movement.receive].member
                    entries[movement.receive] = ends[movement.receive, receiver] = arrives
                else:
                    ends[number, operation.ends_at[-1]] = arrives
            if entry is not None:
                entries[number] = entry
        for number, operation in enumerate(graph.operations):
            task = self._at(entries[number])
            task.at_ps = job.begin_ps + operation.at_ps
            task.delay_ps = operation.delay_ps
            for name in operation.after:
                end = ends[graph.end_of(name, operation.member), operation.member]
                self._follow(end, entries[number])
            if operation.kind == "receive" and not (operation.after or task.at_ps or task.delay_ps):
                task.free = True
        return tuple(entries), tuple(
            ends[graph.receive_of.get(number, number), graph.operations[number].ends_at[-1]]
            for number in range(len(graph.operations))
        )

    def _new(self, rank: int) -> _At:
        self._tasks[rank].append(_Growing())
        return rank, len(self._tasks[rank]) - 1

    def _at(self, at: _At) -> _Growing:
        return self._tasks[at[0]][at[1]]

    def _follow(self, end: _At, begin: _At) -> None:
        assert end[0] == begin[0]
        self._at(end).followers.append(begin[1])
        self._at(begin).needs += 1


def _slices(movement: Movement, bounds: Sequence[Sequence[int]], slice_elements: int) -> int:
    ends = bounds[movement.source]
    first = bisect_left(ends, movement.read)
    last = bisect_left(ends, movement.read + movement.length)
    return sum(-(-(high - low) // slice_elements) for low, high in pairwise(ends[first : last + 1]))


def _windows(movements: Sequence[Movement], bounds: Sequence[Sequence[int]]) -> list[dict[int, int]]:
    """Return, by rank and cell, the distance in elements from a window's virtual range to its data."""
    shifts: list[dict[int, int]] = [{} for _ in bounds]
    for m in movements:
        if m.data != m.read:
            ends = bounds[m.source]
            cells = range(bisect_left(ends, m.read), bisect_left(ends, m.read + m.length))
            shifts[m.source].update(dict.fromkeys(cells, m.data - m.read))
    return shifts


def _plans(
    movements: Sequence[Movement], bounds: Sequence[Sequence[int]], tasks: _Tasks
) -> list[tuple[CellPlan, ...]]:
    """Return, for each rank, the plan of each of its cells; `bounds[rank]` are the ends of its cells."""
    sends: dict[_At, list[tuple[int, Send]]] = defaultdict(list)
    phases: dict[_At, list[Phase]] = defaultdict(list)
    for m in movements:
        shift = m.write - m.data
        send = Send(m.write_level, m.target, m.combine, shift, tasks.leaving[id(m)])
        phase = Phase(m.write_level, m.combine, (m.source,), tasks.arriving[id(m)])
        for rank, start, group, item in (
            (m.source, m.read, sends, (m.read_level, send)),
            (m.target, m.write, phases, phase),
        ):
            ends = bounds[rank]
            for cell in range(bisect_left(ends, start), bisect_left(ends, start + m.length)):
                group[rank, cell].append(item)  # type: ignore[attr-defined]
    plans = []
    idle = CellPlan()
    for rank, ends in enumerate(bounds):
        row = []
        for cell in range(len(ends) - 1):
            at = (rank, cell)
            if at not in sends and at not in phases:
                row.append(idle)
                continue
            arriving = tuple(sorted(phases.get(at, ()), key=lambda phase: phase.step))
            steps = [phase.step for phase in arriving]
            releases: list[list[Send]] = [[] for _ in range(len(arriving) + 1)]
            for level, send in sends.get(at, ()):
                releases[bisect_left(steps, level)].append(send)
            row.append(CellPlan(arriving, tuple(map(tuple, releases))))
        plans.append(tuple(row))
    if any(len(ends) - 1 > 1 << 16 for ends in bounds):
        raise EmulationError(
            f"sends and copies cut a member's array into {max(map(len, bounds)) - 1} cells, more than 65,536",
            remedy="cut the graph into several runs",
        )
    return plans
