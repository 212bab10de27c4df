# SPDX-License-Identifier: Apache-2.0
"""Expected arrays at the end of a graph, computed operation by operation, without slices, levels or frames.

Most graphs of point-to-point flows write every element at most once, and never an element that is sent: each
element of a result is then an element of an input. The results of such a graph are compared with the inputs
source by source, without a second copy of the arrays.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import final, overload

import numpy as np

from emulation._engine import RandomElements
from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.lowering import Lowered, SlicedGraph
from emulation.traffic.graph.memory import Movement
from emulation.traffic.schedule.data import Array, Comparison, make_data, random_elements

__all__ = ["GraphInputs", "compare_graph", "graph_truth", "moves_inputs_only"]


@final
@dataclass(frozen=True, slots=True)
class GraphInputs(Sequence[Array]):
    """Initial arrays of all ranks: random elements, so that a stale element shows.

    Each access draws the array again from the seed; no array is kept.
    """

    sliced: SlicedGraph
    dtype: str
    seed: int

    def __len__(self) -> int:
        return self.sliced.schedule.ranks

    @overload
    def __getitem__(self, rank: int) -> Array: ...

    @overload
    def __getitem__(self, rank: slice) -> Sequence[Array]: ...

    def __getitem__(self, rank: int | slice) -> Array | Sequence[Array]:
        if isinstance(rank, slice):
            return [self[number] for number in range(*rank.indices(len(self)))]
        if not 0 <= rank < len(self):
            raise IndexError(f"rank {rank} of {len(self)}")
        return make_data(rank, self.sliced.elements_of(rank), self.dtype, self.seed)

    def drawn(self) -> Sequence[RandomElements] | None:
        """Return the generator of each rank's input; None unless elements are int32."""
        if self.dtype != "int32":
            return None
        return [random_elements(rank, self.sliced.elements_of(rank), self.seed) for rank in range(len(self))]


def moves_inputs_only(sliced: SlicedGraph) -> bool:
    """Return whether each element is written at most once, by a copy of an element that nothing writes."""
    written: dict[int, list[tuple[int, int]]] = defaultdict(list)
    read: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for movement in chain.from_iterable(job.placed.movements.values() for job in sliced.jobs):
        if movement.combine is not Combine.COPY:
            return False
        written[movement.target].append((movement.write, movement.write + movement.length))
        read[movement.source].append((movement.data, movement.data + movement.length))
    return all(_disjoint(ranges, read[rank]) for rank, ranges in written.items())


def _disjoint(written: Sequence[tuple[int, int]], read: Sequence[tuple[int, int]]) -> bool:
    """Return whether written ranges overlap neither each other nor a read range."""
    last_end, last_written_end = 0, 0
    for low, high, writes in sorted([(*at, True) for at in written] + [(*at, False) for at in read]):
        if low < (last_end if writes else last_written_end):
            return False
        last_end = max(last_end, high)
        if writes:
            last_written_end = high
    return True


def graph_truth(sliced: SlicedGraph, inputs: Sequence[Array]) -> list[Array]:
    """Return the final array of every rank, after the operations one by one in their order.

    A send reads its elements at its own position in the order; a matching receive writes them at the position
    of the receive. int32 wraps; float32 is summed in the order of the operations.
    """
    rows = [row.copy() for row in inputs]
    for job in sliced.jobs:
        _carry_out(job, rows)
    return rows


def _carry_out(job: Lowered, rows: list[Array]) -> None:
    senders = {receive: send for send, receive in job.job.graph.receive_of.items()}
    on_the_way: dict[int, Array] = {}
    for number in job.order:
        movement = job.placed.movements.get(number)
        if movement is not None:
            taken = rows[movement.source][movement.data : movement.data + movement.length].copy()
            if movement.receive >= 0:
                on_the_way[number] = taken
                continue
        elif number in senders:
            movement = job.placed.movements[senders[number]]
            taken = on_the_way.pop(senders[number])
        else:
            continue
        cells = rows[movement.target][movement.write : movement.write + movement.length]
        if movement.combine is Combine.REDUCE:
            np.add(cells, taken, out=cells)
        else:
            cells[:] = taken


def compare_graph(
    results: Sequence[Array], inputs: Sequence[Array], sliced: SlicedGraph
) -> tuple[Comparison, ...]:
    """Compare the final arrays with the expected arrays, bit for bit; return a comparison for each job."""
    compared = _moved if moves_inputs_only(sliced) else _carried_out
    comparisons = []
    for job, wrong in zip(sliced.jobs, compared(results, inputs, sliced), strict=True):
        first = min(wrong, default=-1)
        words = _described(job, sliced.members[first], first, wrong[first]) if wrong else ""
        comparisons.append(Comparison(not wrong, len(wrong), words))
    return tuple(comparisons)


def _carried_out(
    results: Sequence[Array], inputs: Sequence[Array], sliced: SlicedGraph
) -> Iterator[dict[int, int]]:
    """Yield, for each job, the first wrong element of each rank; correct ranks are left out."""
    expected = graph_truth(sliced, inputs)
    for job in sliced.jobs:
        wrong: dict[int, int] = {}
        for rank, (start, length) in job.placed.areas.items():
            end = start + length
            _note(wrong, rank, start, results[rank][start:end], expected[rank][start:end])
        yield wrong


def _moved(results: Sequence[Array], inputs: Sequence[Array], sliced: SlicedGraph) -> list[dict[int, int]]:
    """Return the result of `_carried_out` for a graph that only moves elements of the inputs."""
    wrong: list[dict[int, int]] = [{} for _ in sliced.jobs]
    leaving: list[dict[int, list[Movement]]] = [defaultdict(list) for _ in sliced.jobs]
    written: list[dict[int, list[tuple[int, int]]]] = [defaultdict(list) for _ in sliced.jobs]
    for number, job in enumerate(sliced.jobs):
        for m in job.placed.movements.values():
            leaving[number][m.source].append(m)
            written[number][m.target].append((m.write, m.write + m.length))
    for rank in range(len(sliced.members)):
        own = inputs[rank]
        for number, job in enumerate(sliced.jobs):
            for m in leaving[number][rank]:
                taken = own[m.data : m.data + m.length]
                _note(
                    wrong[number], m.target, m.write, results[m.target][m.write : m.write + m.length], taken
                )
            low, length = job.placed.areas.get(rank, (0, 0))
            for start, end in [*sorted(written[number][rank]), (low + length, low + length)]:
                _note(wrong[number], rank, low, results[rank][low:start], own[low:start])
                low = end
    return wrong


def _note(wrong: dict[int, int], rank: int, start: int, result: Array, right: Array) -> None:
    """Lower `wrong[rank]` to the first differing element; both arrays begin at element `start`."""
    differs = np.flatnonzero(result.view(np.uint32) != right.view(np.uint32))
    if differs.size:
        wrong[rank] = min(wrong.get(rank, start + int(differs[0])), start + int(differs[0]))


def _described(job: Lowered, member: str, rank: int, element: int) -> str:
    """Return a message that names a wrong element and the operations that write it."""
    names = [
        job.job.graph.operations[m.operation].id
        for m in job.placed.movements.values()
        if m.target == rank and m.write <= element < m.write + m.length
    ]
    of = f" of {' or '.join(names)}" if names else ""
    return f"job {job.job.name}: {member} has a wrong element {element}{of}"
