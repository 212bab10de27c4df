# SPDX-License-Identifier: Apache-2.0
"""Every kind is proved and compared with the truth: so each must be found out when it is wrong."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import (
    all_to_all,
    broadcast,
    combine,
    dimension_wise,
    dispatch,
    experts,
    multi_ring,
    p2p,
    reduce,
    rings,
)
from emulation.traffic.schedule.data import compare, make_data, truth
from emulation.traffic.schedule.schedule import Combine, Schedule, Transfer, check, slice_schedule

KINDS = {
    "allreduce": dimension_wise((3, 4), 60),
    "rings": multi_ring(rings(8), 100),
    "reduce-scatter": dimension_wise((3, 4), 60, kind="reduce-scatter"),
    "all-gather": dimension_wise((3, 4), 60, kind="all-gather"),
    "all-to-all": all_to_all((3, 4), 6),
    "broadcast": broadcast((3, 4), 20, 5),
    "reduce": reduce((3, 4), 20, 5),
    "dispatch": dispatch((3, 4), 4, experts(12, 4)),
    "combine": combine((3, 4), 4, experts(12, 4)),
    "p2p": p2p(4, 20, [(0, 1), (1, 2), (2, 3)]),
}

every_kind = pytest.mark.parametrize("schedule", KINDS.values(), ids=KINDS)


@every_kind
def test_no_transfer_can_be_missed(schedule: Schedule) -> None:
    check(schedule)
    for removed in range(0, len(schedule.transfers), 5):
        rest = schedule.transfers[:removed] + schedule.transfers[removed + 1 :]
        with pytest.raises(EmulationError):
            check(replace(schedule, transfers=rest))


@every_kind
def test_nothing_else_may_be_changed(schedule: Schedule) -> None:
    """A range behind that of the goals, and one more transfer into it."""
    longer = replace(schedule, elements=schedule.elements + 4)
    check(longer)
    stray = Transfer(0, 0, 1, schedule.elements, 4, Combine.COPY)
    with pytest.raises(EmulationError, match="rank 1 ends with elements"):
        check(replace(longer, transfers=(*schedule.transfers, stray)))


@every_kind
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_comparison_accepts_the_truth_and_names_one_wrong_bit(schedule: Schedule, dtype: str) -> None:
    inputs = [make_data(rank, schedule.elements, dtype, 2) for rank in range(schedule.ranks)]
    sliced = slice_schedule(schedule)
    results = truth(sliced, inputs)
    assert compare(results, inputs, sliced).right
    results[3].view(np.uint32)[7] ^= 1
    comparison = compare(results, inputs, sliced)
    assert (comparison.right, comparison.wrong_ranks) == (False, 1)
    assert comparison.first.startswith("rank 3 element 7: ")


@every_kind
def test_comparison_does_not_trust_the_schedule(schedule: Schedule) -> None:
    inputs = [make_data(rank, schedule.elements, "float32", 2) for rank in range(schedule.ranks)]
    broken = slice_schedule(replace(schedule, transfers=schedule.transfers[:-1]))
    assert "schedule brings element" in compare(truth(broken, inputs), inputs, broken).first


@every_kind
def test_agents_end_as_they_must_bit_for_bit_whatever_the_order_of_frames(
    schedule: Schedule, run_job: Callable
) -> None:
    jobs = [
        run_job(schedule, slice_elements=7, dtype="float32", seed=seed, loss=0.02, jitter_ps=80_000)
        for seed in (1, 2)
    ]
    for job in jobs:
        assert compare(job.results, job.inputs, job.sliced).right
    assert [row.tobytes() for row in jobs[0].results] == [row.tobytes() for row in jobs[1].results]
