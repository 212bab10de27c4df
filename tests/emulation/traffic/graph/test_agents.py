# SPDX-License-Identifier: Apache-2.0
"""Random graphs carried out by agents in Python and in C++: equal frames, right data, tasks in order."""

from random import Random

import pytest

from emulation.traffic.graph.lowering import JobGraph, SlicedGraph, lower
from emulation.traffic.graph.operations import Graph, Operation
from emulation.traffic.graph.truth import GraphInputs, compare_graph
from emulation.traffic.host.transport import TransportParameters
from tests.emulation.traffic.conftest import MemoryWire
from tests.emulation.traffic.graph.random_graphs import US, random_graph
from tests.emulation.traffic.host.test_twins import Twin
from tests.oracle.agent import Agent
from tests.oracle.make import make_agents

MEMBERS = [f"npu{number}" for number in range(5)]
ADDRESSES = [0x40 + 3 * rank for rank in range(5)]


@pytest.mark.parametrize("seed", range(25))
def test_twins(seed: int) -> None:
    random = Random(seed)
    jobs = [
        JobGraph(f"job{number}", random_graph(random, MEMBERS, random.choice([3, 20, 60])), number * 3 * US)
        for number in range(random.choice([1, 1, 2]))
    ]
    sliced = lower(jobs, MEMBERS, random.choice([4, 16, 64]))
    inputs = GraphInputs(sliced, random.choice(["int32", "float32"]), seed)
    parameters = TransportParameters(window=random.choice([1, 4, 64]), ack_every=1)
    kinds = [
        make_agents(hosts, sliced, inputs, ADDRESSES, job=7, transport=parameters)
        for hosts in ("python", "native")
    ]
    twins = [Twin(pair, random, random.choice([0, 0.003]), 0) for pair in zip(*kinds, strict=True)]
    wire = MemoryWire(
        twins,  # type: ignore[arg-type]
        seed=seed,
        loss=random.choice([0, 0.05]),
        duplication=0.02,
        jitter_ps=random.choice([0, 5 * US]),
    )
    wire.run()
    for twin in twins:
        twin.assert_equal()
        assert twin.python.done
        assert list(twin.native.times) == twin.python.times  # type: ignore[union-attr]
    results = [twin.native.result for twin in twins]
    assert [comparison.first for comparison in compare_graph(results, inputs, sliced)] == [""] * len(jobs)
    for agent in kinds[0]:
        assert isinstance(agent, Agent)
        assert all(0 <= opened <= ended for opened, ended in agent.times)


def run(operations: list[Operation], slice_elements: int = 16) -> tuple[SlicedGraph, list[Agent]]:
    graph = Graph("small", tuple(operations))
    sliced = lower([JobGraph("job", graph)], graph.members, slice_elements)
    inputs = GraphInputs(sliced, "int32", 1)
    addresses = [0x40 + rank for rank in range(len(graph.members))]
    agents = [Agent(rank, sliced, data, addresses) for rank, data in enumerate(inputs)]
    MemoryWire(agents).run()
    assert all(comparison.right for comparison in compare_graph([a.result for a in agents], inputs, sliced))
    return sliced, agents


def span(sliced: SlicedGraph, agents: list[Agent], name: str) -> tuple[int, int]:
    job = sliced.jobs[0]
    number = job.job.graph.number[name]
    (rank, first), (end_rank, last) = job.begins[number], job.ends[number]
    return agents[rank].times[first][0], agents[end_rank].times[last][1]


def test_an_operation_waits_for_ends_delay_time_and_computation() -> None:
    sliced, agents = run(
        [
            Operation("first", "send", "a", "b", 4096),
            Operation("work", "compute", "b", compute_ps=7 * US, after=("first",)),
            Operation("back", "send", "b", "a", 4096, after=("work",), delay_ps=3 * US),
            Operation("late", "send", "b", "a", 4, at_ps=50 * US),
            Operation("last", "send", "a", "b", 4, after=("back",), compute_ps=2 * US),
        ]
    )
    first, work, back = (span(sliced, agents, name) for name in ("first", "work", "back"))
    assert work == (first[1], first[1] + 7 * US)
    assert back[0] == work[1] + 3 * US
    assert span(sliced, agents, "late")[0] == 50 * US
    assert span(sliced, agents, "last")[0] == back[1]
    assert span(sliced, agents, "last")[1] > back[1] + 2 * US


def test_a_unit_computes_one_thing_at_a_time() -> None:
    sliced, agents = run(
        [
            Operation("a", "compute", "n", compute_ps=4 * US),
            Operation("b", "compute", "n", compute_ps=4 * US),
            Operation("c", "compute", "n", compute_ps=4 * US, unit=1),
            Operation("s", "send", "n", "m", 4),
        ]
    )
    assert [span(sliced, agents, name) for name in "abc"] == [(0, 4 * US), (4 * US, 8 * US), (0, 4 * US)]
    assert agents[0].finished_ps == 8 * US


def test_elements_are_read_where_a_send_has_put_them_slice_by_slice() -> None:
    sliced, agents = run(
        [
            Operation("first", "send", "a", "b", 40960),
            Operation("second", "send", "b", "c", 40960, read="first"),
        ]
    )
    first, second = span(sliced, agents, "first"), span(sliced, agents, "second")
    assert second[1] < first[1] + (first[1] - first[0]) // 4, "the second flows with the first"


def test_of_two_changes_of_an_element_the_later_in_the_list_stays() -> None:
    changes = [
        Operation("slow", "send", "a", "c", 4096, write=0, at_ps=30 * US),
        Operation("fast", "send", "b", "c", 4096, write=0),
    ]
    sliced, agents = run(changes)
    assert span(sliced, agents, "fast")[1] >= span(sliced, agents, "slow")[0]
