# SPDX-License-Identifier: Apache-2.0
import re
from dataclasses import replace

import numpy as np
import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import allreduce_ring, bidirectional_dimension_order, mesh_ring
from emulation.traffic.schedule.data import make_data, truth
from emulation.traffic.schedule.schedule import (
    Combine,
    Phase,
    Schedule,
    Transfer,
    check_allreduce,
    demand,
    neighbours,
    slice_schedule,
)

REDUCE, COPY = Combine.REDUCE, Combine.COPY


def exchange() -> Schedule:
    """Two ranks swap their whole arrays in one step and add."""
    return Schedule("exchange", 2, 10, (Transfer(0, 0, 1, 0, 10, REDUCE), Transfer(0, 1, 0, 0, 10, REDUCE)))


def test_cells_end_where_transfers_end_and_slices_fill_them() -> None:
    schedule = Schedule("parts", 3, 20, (Transfer(0, 0, 1, 0, 12, COPY), Transfer(0, 1, 2, 8, 12, COPY)))
    sliced = slice_schedule(schedule, 3)
    assert sliced.cells == ((0, 8), (8, 4), (12, 8))
    assert sliced.slices == (
        (0, 3, 0), (3, 3, 0), (6, 2, 0), (8, 3, 1), (11, 1, 1), (12, 3, 2), (15, 3, 2), (18, 2, 2),
    )  # fmt: skip


def test_a_bound_inside_a_shifted_transfer_is_one_at_its_other_end_too() -> None:
    transfers = (Transfer(0, 0, 1, 0, 10, COPY, shift=20), Transfer(1, 1, 2, 20, 4, COPY, shift=-14))
    sliced = slice_schedule(Schedule("moved", 3, 30, transfers), 100)
    ends = {offset for offset, _ in sliced.cells}
    # 24, an end of the second, is 4 at the source of the first; 6 of the second's target is 20 and 26 there.
    assert ends == {0, 4, 6, 10, 20, 24, 26}


def test_a_bound_travels_along_a_chain_of_shifts() -> None:
    chain = [Transfer(step, step, step + 1, 10 * step, 10, COPY, shift=10) for step in range(3)]
    schedule = Schedule("chain", 5, 40, (*chain, Transfer(3, 3, 4, 30, 3, COPY)))
    assert [offset for offset, _ in slice_schedule(schedule).cells] == [0, 3, 10, 13, 20, 23, 30, 33]


def test_plan_counts_contributions_and_says_what_waits_for_them() -> None:
    schedule = bidirectional_dimension_order((2, 2), 8)
    plans = slice_schedule(schedule, 8).plans
    own = plans[0][0]  # the piece rank 0 reduces in the X-first half
    assert own.phases == (Phase(0, REDUCE, (1,)), Phase(1, REDUCE, (2,)))
    assert [sorted((send.step, send.peer) for send in group) for group in own.releases] == [
        [],
        [],
        [(2, 2), (3, 1)],
    ]
    other = plans[0][1]  # goes to rank 2 when rank 1 has added to it
    assert [send.peer for send in other.releases[1]] == [2]
    assert other.phases == (Phase(0, REDUCE, (1,)), Phase(2, COPY, (2,)))


@pytest.mark.parametrize("dims", [(2, 4), (3, 3), (4, 4), (8, 8), (1, 5), (2, 1)])
def test_both_schedules_are_allreduces(dims: tuple[int, int]) -> None:
    check_allreduce(bidirectional_dimension_order(dims, 1000))
    check_allreduce(allreduce_ring(mesh_ring(dims), 1000))


@pytest.mark.parametrize("elements", [1, 3, 31])
def test_arrays_smaller_than_the_mesh_still_reduce(elements: int) -> None:
    check_allreduce(bidirectional_dimension_order((4, 4), elements))
    check_allreduce(allreduce_ring(mesh_ring((4, 4)), elements))


def test_exchange_is_an_allreduce_because_both_send_what_they_held_before_the_step() -> None:
    check_allreduce(exchange())


@pytest.mark.parametrize(
    "schedule", [bidirectional_dimension_order((4, 4), 64), allreduce_ring(mesh_ring((2, 4)), 64)]
)
def test_no_transfer_can_be_missed(schedule: Schedule) -> None:
    for removed in range(0, len(schedule.transfers), 7):
        rest = schedule.transfers[:removed] + schedule.transfers[removed + 1 :]
        with pytest.raises(EmulationError, match="without"):
            check_allreduce(replace(schedule, transfers=rest))


def test_a_wrong_step_is_found() -> None:
    schedule = allreduce_ring(mesh_ring((2, 4)), 64)
    early = replace(schedule.transfers[20], step=0)
    with pytest.raises(EmulationError):
        check_allreduce(
            replace(schedule, transfers=(*schedule.transfers[:20], early, *schedule.transfers[21:]))
        )


def test_a_contribution_added_twice_is_found() -> None:
    transfers = (*exchange().transfers, Transfer(1, 1, 0, 3, 2, REDUCE))
    with pytest.raises(
        EmulationError, match=r"rank 0 adds to elements 3 to 4 from rank 1 values that it already"
    ):
        check_allreduce(Schedule("twice", 2, 10, transfers))


def test_elements_put_in_the_wrong_place_are_found() -> None:
    transfers = (*exchange().transfers, Transfer(1, 0, 1, 0, 4, REDUCE, shift=4))
    with pytest.raises(EmulationError, match=r"rank 1 ends with elements 4 to 7 mixed"):
        check_allreduce(Schedule("moved", 2, 10, transfers))


@pytest.mark.parametrize(
    ("transfer", "reason"),
    [
        (Transfer(0, 0, 2, 0, 1, COPY), "a rank is not from 0 to 1"),
        (Transfer(0, 1, 1, 0, 1, COPY), "itself"),
        (Transfer(0, 0, 1, 8, 3, COPY), "not a range"),
        (Transfer(0, 0, 1, 0, 0, COPY), "not a range"),
        (Transfer(0, 0, 1, 4, 4, COPY, shift=3), "not a range"),
        (Transfer(0, 0, 1, 4, 4, COPY, shift=-5), "not a range"),
        (Transfer(1 << 16, 0, 1, 0, 1, COPY), "the step is not"),
    ],
)
def test_impossible_transfers_are_refused(transfer: Transfer, reason: str) -> None:
    with pytest.raises(EmulationError, match=re.escape(reason)):
        Schedule("bad", 2, 10, (transfer,))


@pytest.mark.parametrize(
    "second",
    [Transfer(0, 2, 1, 4, 2, COPY), Transfer(0, 2, 1, 4, 2, REDUCE), Transfer(0, 0, 1, 4, 2, COPY)],
)
def test_a_range_copied_and_something_else_in_one_step_is_refused(second: Transfer) -> None:
    with pytest.raises(EmulationError, match=r"rank 1 gets elements 4 to 5 2 times"):
        slice_schedule(Schedule("bad", 3, 10, (Transfer(0, 0, 1, 0, 10, COPY), second)))


def test_truth_is_the_sum_in_the_schedules_order() -> None:
    inputs = [make_data(rank, 96, "float32", 3) for rank in range(4)]
    halves = truth(slice_schedule(bidirectional_dimension_order((2, 2), 96)), inputs)
    x_first = (inputs[0] + inputs[1]) + (inputs[2] + inputs[3])
    y_first = (inputs[0] + inputs[2]) + (inputs[1] + inputs[3])
    assert halves[3].tobytes() == np.concatenate([x_first[:48], y_first[48:]]).tobytes()
    ring = truth(slice_schedule(allreduce_ring((0, 1, 2, 3), 96)), inputs)
    assert ring[0][:24].tobytes() == (((inputs[0] + inputs[1]) + inputs[2]) + inputs[3])[:24].tobytes()


def test_demand_is_what_the_links_must_carry() -> None:
    names = [f"npu{rank}" for rank in range(64)]
    schedule = bidirectional_dimension_order((8, 8), 1 << 14)
    load = demand(schedule, names)
    data = 4 << 14
    assert len(load) == 64 * 14
    assert set(load.values()) == {2 * (data // 16 + data // 128)}
    assert ("npu0", "npu9") not in load
    assert neighbours(schedule, 9) == (1, 8, 10, 11, 12, 13, 14, 15, 17, 25, 33, 41, 49, 57)
