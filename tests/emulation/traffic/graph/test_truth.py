# SPDX-License-Identifier: Apache-2.0
"""The comparison source by source says what the comparison with all arrays of the truth says."""

from random import Random

import numpy as np
import pytest

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph import truth
from emulation.traffic.graph.lowering import JobGraph, SlicedGraph, lower
from emulation.traffic.graph.operations import Graph, Operation
from emulation.traffic.graph.truth import GraphInputs, compare_graph, graph_truth, moves_inputs_only

MEMBERS = ["npu0", "npu1", "npu2", "npu3"]


def flows(random: Random, name: str, most: int) -> JobGraph:
    operations = []
    for number in range(random.randint(1, most)):
        source, target = random.sample(MEMBERS, 2)
        operations.append(Operation(f"flow{number}", "send", source, target, random.randint(1, 200)))
    return JobGraph(name, Graph(name, tuple(operations)))


def sliced_flows(random: Random) -> SlicedGraph:
    return lower([flows(random, f"job{number}", 12) for number in range(2)], MEMBERS, 16)


@pytest.mark.parametrize("seed", range(10))
def test_flows_are_compared_without_the_truth(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    sliced = sliced_flows(random)
    assert moves_inputs_only(sliced)
    inputs = GraphInputs(sliced, random.choice(["int32", "float32"]), seed)
    results = graph_truth(sliced, inputs)
    for _ in range(random.randint(0, 3)):
        array = random.choice(results).view(np.uint32)
        array[random.randrange(array.size)] ^= 1
    by_source = compare_graph(results, inputs, sliced)
    monkeypatch.setattr(truth, "moves_inputs_only", lambda _: False)
    assert by_source == compare_graph(results, inputs, sliced)


def test_an_element_that_no_flow_writes_stays() -> None:
    sliced = sliced_flows(Random(3))
    inputs = GraphInputs(sliced, "int32", 3)
    results = graph_truth(sliced, inputs)
    read = next(iter(sliced.jobs[0].placed.movements.values()))
    results[read.source][read.data] ^= 1
    first, second = compare_graph(results, inputs, sliced)
    assert first.wrong_ranks == 1
    assert "wrong element" in first.first
    assert second.right


@pytest.mark.parametrize(
    "operations",
    [
        [Operation("sum", "send", "npu0", "npu1", 8, write=0, combine=Combine.REDUCE)],
        [
            Operation("a", "send", "npu0", "npu1", 8, write=0),
            Operation("b", "send", "npu2", "npu1", 8, write=4),
        ],
        [
            Operation("there", "send", "npu0", "npu1", 8, write=0),
            Operation("on", "send", "npu1", "npu2", 4, read=4),
        ],
        [
            Operation("there", "send", "npu0", "npu1", 8),
            Operation("on", "send", "npu1", "npu2", 8, read="there", after=("there",)),
        ],
    ],
    ids=["sum", "written twice", "read and written", "passed on"],
)
def test_other_graphs_need_the_truth(operations: list[Operation]) -> None:
    graph = Graph("small", tuple(operations))
    assert not moves_inputs_only(lower([JobGraph("job", graph)], graph.members, 16))


def test_inputs_are_made_from_the_seed_each_time() -> None:
    sliced = sliced_flows(Random(1))
    inputs = GraphInputs(sliced, "int32", 5)
    assert all(np.array_equal(array, inputs[rank]) for rank, array in enumerate(inputs))
    assert len(inputs[1:3]) == 2
    with pytest.raises(IndexError):
        inputs[len(MEMBERS)]


def test_own_data_of_sends_take_a_common_range() -> None:
    """A member's array grows with its longest send and the number of its sends, not with their sum."""
    operations = [Operation(f"flow{number}", "send", "npu0", "npu1", 4000) for number in range(100)]
    graph = Graph("flows", tuple(operations))
    sliced = lower([JobGraph("job", graph)], graph.members, 256)
    assert sliced.elements_of(0) == 1000 + 99
    assert sliced.elements_of(1) == 100 * 1000
    movements = sliced.jobs[0].placed.movements.values()
    assert len({movement.data for movement in movements}) == 100
    inputs = GraphInputs(sliced, "int32", 1)
    received = graph_truth(sliced, inputs)[1].reshape(100, 1000)
    assert len(np.unique(received[:, :3], axis=0)) == 100
