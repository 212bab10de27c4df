# SPDX-License-Identifier: Apache-2.0
import itertools
from dataclasses import replace

import numpy as np
import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import bidirectional_dimension_order
from emulation.traffic.collectives.rings import allreduce_ring
from emulation.traffic.frames.values import ElementType
from emulation.traffic.host.agents import Agent, Parts, transport_of
from emulation.traffic.host.spec import agent_specs
from emulation.traffic.schedule import data
from emulation.traffic.schedule.data import (
    agent_arrays,
    checked_by_sum,
    compare,
    fold,
    make_data,
    make_inputs,
    random_elements,
    truth,
)
from emulation.traffic.schedule.schedule import Combine, Goal, Schedule, Transfer, slice_schedule
from tests.oracle.make import make_agents

SLICED = slice_schedule(bidirectional_dimension_order((2, 4), 100))


def test_data_depend_on_seed_and_rank_alone() -> None:
    item = make_data(3, 50, "float32", 9)
    assert item.tobytes() == make_data(3, 50, "float32", 9).tobytes()
    assert item.tobytes() != make_data(4, 50, "float32", 9).tobytes()
    assert item.tobytes() != make_data(3, 50, "float32", 10).tobytes()


def test_other_element_types_are_refused() -> None:
    with pytest.raises(EmulationError, match="float16"):
        make_data(0, 1, "float16", 1)


def test_fold_adds_from_the_lowest_rank_up_wherever_its_own_place_is() -> None:
    arrays = [make_data(rank, 500, "float32", 1) for rank in range(5)]
    expected = (((arrays[0] + arrays[1]) + arrays[2]) + arrays[3]) + arrays[4]
    for me in range(5):
        before = [array.tobytes() for array in arrays]
        own = arrays[me].copy()
        fold(own, me, [(rank, arrays[rank]) for rank in range(5) if rank != me])
        assert own.tobytes() == expected.tobytes()
        assert [array.tobytes() for array in arrays] == before
    # The order matters, or this test would prove nothing.
    assert any(
        sum((arrays[rank] for rank in order), np.zeros(500, np.float32)).tobytes() != expected.tobytes()
        for order in itertools.permutations(range(5))
    )


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_comparison_accepts_the_truth_and_names_one_wrong_bit(dtype: str) -> None:
    inputs = [make_data(rank, 100, dtype, 2) for rank in range(8)]
    results = [row.copy() for row in truth(SLICED, inputs)]
    assert compare(results, inputs, SLICED).right
    results[5].view(np.uint32)[42] ^= 1
    comparison = compare(results, inputs, SLICED)
    assert (comparison.right, comparison.wrong_ranks) == (False, 1)
    assert comparison.first.startswith("rank 5 element 42: ")


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_comparison_does_not_trust_the_schedule(dtype: str) -> None:
    broken = Schedule("one-way", 2, 10, (Transfer(0, 0, 1, 0, 10, Combine.COPY),))
    inputs = [make_data(rank, 10, dtype, 2) for rank in range(2)]
    sliced = slice_schedule(broken)
    assert "schedule brings element 0 of rank 0 to" in compare(truth(sliced, inputs), inputs, sliced).first


def test_a_sum_proves_an_allreduce_of_whole_arrays_of_integers() -> None:
    whole = slice_schedule(allreduce_ring(range(4), 96))
    assert checked_by_sum(whole, "int32")
    assert not checked_by_sum(whole, "float32")  # its sums depend on their order
    three = replace(whole.schedule, goals=(Goal("allreduce", (0, 1, 2), (((0, 96),),)),))
    part = replace(whole.schedule, goals=(Goal("allreduce", (0, 1, 2, 3), (((0, 95),),)),))
    other = replace(whole.schedule, goals=(Goal("all-gather", (0, 1, 2, 3), (((0, 24),),) * 4),))
    assert not any(checked_by_sum(slice_schedule(schedule), "int32") for schedule in (three, part, other))
    inputs = make_inputs(4, 96, "int32", 5)
    expected = truth(whole, inputs)
    assert all(array.tobytes() == np.sum(inputs, axis=0, dtype=np.int32).tobytes() for array in expected)
    assert compare(expected, inputs, whole).right
    expected[3][95] += 1
    assert compare(expected, inputs, whole).first.startswith("rank 3 element 95: ")


@pytest.mark.parametrize("elements", [0, 1, 2, 7, 8, 9, 15, 16, 1000, 1001])
def test_the_engine_draws_what_numpy_draws(elements: int) -> None:
    """Results of scenarios depend on these elements; numpy's stream of integers is part of their format."""
    random = np.random.default_rng((3, 5))
    expected = random.integers(-(1 << 31), 1 << 31, elements, dtype=np.int32)
    assert make_data(5, elements, "int32", 3).tobytes() == expected.tobytes()
    total = np.full(elements, 7, np.uint32)
    random_elements(5, elements, 3).add_to(total)
    assert total.tobytes() == (expected.view(np.uint32) + np.uint32(7)).tobytes()
    with pytest.raises(ValueError, match="the array has 3 elements; give an array of"):
        random_elements(5, elements, 3).fill(np.empty(3, np.uint32))


def test_threads_change_neither_arrays_nor_comparison() -> None:
    whole = slice_schedule(allreduce_ring(range(5), 95))
    inputs = data.Inputs(5, 95, "int32", 5)
    addresses = range(1, 6)
    for threads in (1, 3, 7):
        agents = make_agents("native", whole, inputs, addresses, threads=threads)
        assert [agent.result.tobytes() for agent in agents] == [array.tobytes() for array in inputs]
    wrong = truth(whole, inputs)
    for threads in (3, 7):  # more threads than ranks, too
        assert compare(wrong, data.Inputs(5, 95, "int32", 5), whole, threads).right
    wrong[4][3] += 1
    assert compare(wrong, inputs, whole, 3) == compare(wrong, inputs, whole)
    assert compare(wrong, inputs, whole, 3).wrong_ranks == 1


def test_an_array_of_the_engine_has_one_agent() -> None:
    whole = slice_schedule(allreduce_ring(range(2), 96))
    (array, _) = agent_arrays(make_inputs(2, 96, "int32", 5))
    (spec, _) = agent_specs(whole, make_inputs(2, 96, "int32", 5), (1, 2))
    part = Parts(spec).of(0, ElementType.INT32)
    transport = transport_of(spec.transport)
    Agent(spec, part, array, transport)
    with pytest.raises(ValueError, match="another agent has this array"):
        Agent(spec, part, array, transport)
    floats = make_inputs(2, 96, "float32", 5)
    assert agent_arrays(floats) is floats


def test_large_inputs_are_made_anew_and_stay_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = make_inputs(4, 96, "float32", 6)
    assert kept[1] is kept[1]
    monkeypatch.setattr(data, "_KEPT_BYTES", 100)
    large = data.Inputs(4, 96, "float32", 6)
    assert large[1] is not large[1]
    assert [array.tobytes() for array in large] == [array.tobytes() for array in kept]
    assert [array.tobytes() for array in large[1:3]] == [array.tobytes() for array in kept[1:3]]
    assert len(large) == 4
    with pytest.raises(ValueError, match="read-only"):
        large[-1][0] = 1
    with pytest.raises(IndexError):
        large[4]


def test_a_proof_that_is_kept_serves_its_own_schedule_and_inputs_only() -> None:
    """Variants share a proof where inputs and schedule are equal; arrays that may change never do."""
    mesh = slice_schedule(bidirectional_dimension_order((2, 2), 96))
    ring = slice_schedule(allreduce_ring(range(4), 96))
    inputs = make_inputs(4, 96, "int32", 5)
    assert make_inputs(4, 96, "int32", 5) is inputs
    with pytest.raises(ValueError, match="read-only"):
        inputs[0][0] = 1
    ended = truth(mesh, inputs)
    assert compare(ended, inputs, mesh).right
    ended[2][7] += 1
    wrong = compare(ended, inputs, mesh)
    assert (wrong.right, wrong.wrong_ranks, wrong.first[:16]) == (False, 1, "rank 2 element 7")
    assert compare(truth(ring, inputs), inputs, ring).right
    others = [array.copy() for array in inputs]
    assert compare(truth(mesh, others), others, mesh).right
    others[1][0] += 1
    assert not compare(truth(mesh, inputs), others, mesh).right
