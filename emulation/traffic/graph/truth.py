# SPDX-License-Identifier: Apache-2.0
"""Arrays that a graph leaves behind, worked out operation by operation, without slices, levels or frames."""

from collections.abc import Sequence

import numpy as np

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.lowering import Lowered, SlicedGraph
from emulation.traffic.schedule.data import Array, Comparison, make_data

__all__ = ["compare_graph", "graph_inputs", "graph_truth"]


def graph_inputs(sliced: SlicedGraph, dtype: str, seed: int) -> tuple[Array, ...]:
    """Return the initial arrays of all ranks: random elements, so that a stale element shows."""
    ranks = range(sliced.schedule.ranks)
    inputs = tuple(make_data(rank, sliced.elements_of(rank), dtype, seed) for rank in ranks)
    for array in inputs:
        array.setflags(write=False)
    return inputs


def graph_truth(sliced: SlicedGraph, inputs: Sequence[Array]) -> list[Array]:
    """Return the final array of every rank: the operations carried out one after the other, in their order.

    A send reads its elements in its own place of the order; a receive puts them down in the place of the
    receive. int32 wraps; a sum of float32 has the order of the operations.
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
            taken = rows[movement.source][movement.read : movement.read + movement.length].copy()
            if movement.receive >= 0:
                on_the_way[number] = taken
                continue
        elif number in senders:
            movement = job.placed.movements[senders[number]]
            taken = on_the_way.pop(senders[number])
        else:
            continue
        place = rows[movement.target][movement.write : movement.write + movement.length]
        if movement.combine is Combine.REDUCE:
            np.add(place, taken, out=place)
        else:
            place[:] = taken


def compare_graph(
    results: Sequence[Array], inputs: Sequence[Array], sliced: SlicedGraph
) -> tuple[Comparison, ...]:
    """Compare the final arrays with the truth, bit for bit; return a comparison for each job's part."""
    expected = graph_truth(sliced, inputs)
    comparisons = []
    for job in sliced.jobs:
        wrong, first = 0, ""
        for rank, (start, length) in job.placed.areas.items():
            result, right = (
                array[start : start + length].view(np.uint32) for array in (results[rank], expected[rank])
            )
            differs = np.flatnonzero(result != right)
            if differs.size:
                wrong += 1
                first = first or _described(job, sliced.members[rank], rank, start + int(differs[0]))
        comparisons.append(Comparison(not wrong, wrong, first))
    return tuple(comparisons)


def _described(job: Lowered, member: str, rank: int, element: int) -> str:
    """Return which operation put a wrong element where it is."""
    names = [
        job.job.graph.operations[m.operation].id
        for m in job.placed.movements.values()
        if m.target == rank and m.write <= element < m.write + m.length
    ]
    of = f" of {' or '.join(names)}" if names else ""
    return f"job {job.job.name}: {member} has a wrong element {element}{of}"
