# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import (
    Placed,
    all_to_all,
    at_once,
    bidirectional_dimension_order,
    broadcast,
    combine,
    compose,
    direct,
    dispatch,
    experts,
    in_sequence,
    lines,
    on_groups,
    pipeline,
)
from emulation.traffic.schedule.data import compare, make_data, truth
from emulation.traffic.schedule.schedule import Schedule, check, slice_schedule

PARTS = (
    on_groups(direct(4, 64), lines((4, 4), (0,)), 16),
    on_groups(direct(4, 48, "all-gather"), lines((4, 4), (1,)), 16),
    all_to_all((4, 4), 2),
    pipeline((4, 4), 8),
    bidirectional_dimension_order((4, 4), 64),
)


def test_lines_are_groups_that_differ_in_some_dimensions_alone() -> None:
    assert lines((2, 3), (0,)) == [(0, 1), (2, 3), (4, 5)]
    assert lines((2, 3), (1,)) == [(0, 2, 4), (1, 3, 5)]
    assert lines((2, 2, 2), (0, 2)) == [(0, 1, 4, 5), (2, 3, 6, 7)]
    assert lines((2, 2, 2), (2, 0)) == [(0, 4, 1, 5), (2, 6, 3, 7)]
    assert lines((2, 3), (0, 1)) == [(0, 1, 2, 3, 4, 5)]
    with pytest.raises(EmulationError, match="dimensions"):
        lines((2, 3), (2,))


@pytest.mark.parametrize("put", [in_sequence, at_once])
def test_a_mixture_does_what_each_of_its_parts_does(put: Callable[..., Schedule]) -> None:
    schedule = put("mixture", PARTS)
    check(schedule)
    assert schedule.elements == (64 if put is in_sequence else 64 + 48 + 32 + 8 + 64)
    assert schedule.steps == (2 + 1 + 2 + 1 + 4 if put is in_sequence else 4)


@pytest.mark.parametrize("put", [in_sequence, at_once])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_mixture_run_by_agents_ends_as_it_must(
    put: Callable[..., Schedule], dtype: str, run_job: Callable
) -> None:
    jobs = [
        run_job(put("mixture", PARTS), slice_elements=5, dtype=dtype, seed=seed, loss=loss, jitter_ps=90_000)
        for seed, loss in ((1, 0.0), (2, 0.02))
    ]
    for job in jobs:
        assert compare(job.results, job.inputs, job.sliced).right
    # Whatever the order in which frames came.
    assert [row.tobytes() for row in jobs[0].results] == [row.tobytes() for row in jobs[1].results]


def test_what_one_leaves_the_next_begins_with() -> None:
    chosen = experts(16, 3)
    there_and_back = in_sequence("moe", [dispatch((4, 4), 2, chosen), combine((4, 4), 2, chosen)])
    check(there_and_back)
    inputs = [make_data(rank, 32, "int32", 1) for rank in range(16)]
    ended = truth(slice_schedule(there_and_back), inputs)
    for rank in range(16):
        own = slice(2 * rank, 2 * rank + 2)
        assert (ended[rank][own] == 4 * inputs[rank][own]).all()  # its own and three experts'


def test_parts_that_disturb_each_other_are_found() -> None:
    both = compose("both", 16, 64, [Placed(PARTS[0]), Placed(PARTS[3], offset=2)])
    with pytest.raises(EmulationError):
        check(both)
    check(compose("apart", 16, 72, [Placed(PARTS[0]), Placed(PARTS[3], offset=64)]))


def test_other_ranks_stand_for_those_of_a_part() -> None:
    schedule = compose("moved", 6, 20, [Placed(broadcast((2, 2), 10, 1), (5, 0, 3, 2), offset=10, step=3)])
    check(schedule)
    assert {t.step for t in schedule.transfers} == {3, 4}
    assert {t.source for t in schedule.transfers if t.step == 3} == {0}
    with pytest.raises(EmulationError, match="needs 4 distinct ranks, got"):
        compose("short", 6, 10, [Placed(broadcast((2, 2), 10), (0, 1, 2))])
    with pytest.raises(EmulationError, match="has no collective"):
        at_once("nothing", [])
