# SPDX-License-Identifier: Apache-2.0
"""Collectives as graphs: the same arrays as the schedule in lockstep, and bounds that no run beats."""

import numpy as np
import pytest

from emulation.traffic.collectives import (
    all_to_all,
    allreduce_ring,
    bidirectional_dimension_order,
    broadcast,
    mesh_ring,
    reduce,
)
from emulation.traffic.graph.bounds import graph_bounds_ps, longest_chain
from emulation.traffic.graph.document import read_graph
from emulation.traffic.graph.lowering import JobGraph, lower
from emulation.traffic.graph.of_schedule import graph_of_schedule
from emulation.traffic.graph.truth import graph_truth
from emulation.traffic.schedule.data import make_inputs, truth
from emulation.traffic.schedule.schedule import Schedule, slice_schedule

SCHEDULES = [
    bidirectional_dimension_order((2, 4), 1001),
    allreduce_ring(mesh_ring((2, 4)), 800),
    all_to_all((2, 4), 33),
    broadcast((2, 4), 257, 3),
    reduce((2, 4), 257, 3),
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.name)
def test_the_graph_of_a_collective_has_its_result(schedule: Schedule) -> None:
    members = [f"npu{rank}" for rank in range(schedule.ranks)]
    graph = graph_of_schedule(schedule, members)
    sliced = lower([JobGraph("job", graph)], members, 64)
    inputs = make_inputs(schedule.ranks, schedule.elements, "int32", 3)
    sized = [data[: sliced.elements_of(rank)] for rank, data in enumerate(inputs)]
    expected = truth(slice_schedule(schedule), inputs)
    for rank, row in enumerate(graph_truth(sliced, sized)):
        assert np.array_equal(row, expected[rank][: row.size])


def test_the_longest_chain() -> None:
    graph = read_graph(
        {
            "operations": [
                {"id": "s", "send": 1000, "from": "a", "to": "b"},
                {"id": "w", "compute_us": 2, "on": "b", "after": ["s"], "delay_us": 1},
                {"id": "t", "send": 1000, "from": "b", "to": "c", "after": ["w"]},
                {"id": "other", "compute_us": 4, "on": "c"},
            ]
        }
    )
    rates = {"a": 8e9, "b": 4e9, "c": 8e9}
    # A byte takes 2 ns at the rate of b: 2 us, then 1 and 2 us, then 2 us.
    assert longest_chain(graph, rates) == (7 * 10**6, ("s", "w", "t"))
    assert max(graph_bounds_ps(graph, rates).values()) == 7 * 10**6
