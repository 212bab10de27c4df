# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import numpy as np
import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import (
    all_to_all,
    all_to_all_bound_ps,
    direct_all_to_all,
    p2p,
    pipeline,
    send_bound_ps,
)
from emulation.traffic.schedule.data import make_data, truth
from emulation.traffic.schedule.schedule import Combine, check, demand, slice_schedule

MESHES = [(4,), (2, 2), (3, 4), (1, 3), (8, 8), (2, 3, 4), (2, 2, 2, 2)]


@pytest.mark.parametrize("dims", MESHES)
@pytest.mark.parametrize("block", [1, 3, 8])
def test_every_block_comes_to_its_rank(dims: tuple[int, ...], block: int) -> None:
    check(all_to_all(dims, block))


@pytest.mark.parametrize("dims", [(8, 8), (4, 4), (3, 5), (8, 8, 2)])
def test_every_channel_of_a_dimension_carries_n_over_k_blocks(dims: tuple[int, ...]) -> None:
    block = 2 * len(dims)
    schedule = all_to_all(dims, block)
    load = demand(schedule, list(map(str, range(schedule.ranks))), 1)
    strides = np.cumprod([1, *dims[:-1]])
    for (source, target), amount in load.items():
        apart = abs(int(source) - int(target))
        d = max(d for d, stride in enumerate(strides) if apart >= stride)
        assert amount == schedule.ranks // dims[d] * block
    assert len(load) == schedule.ranks * sum(size - 1 for size in dims)


def test_both_halves_are_under_way_in_every_step() -> None:
    schedule = all_to_all((8, 8), 2)
    by_step = Counter((t.step, abs(t.source - t.target) < 8) for t in schedule.transfers)
    moved = Counter()
    for t in schedule.transfers:
        moved[t.step, abs(t.source - t.target) < 8] += t.length
    assert len(by_step) == 4
    assert set(moved.values()) == {64 * 7 * 8}


def test_one_partition_goes_x_first() -> None:
    schedule = all_to_all((3, 4), 5, orders=[(0, 1)])
    check(schedule)
    assert {abs(t.source - t.target) < 3 for t in schedule.transfers if t.step == 0} == {True}


def test_blocks_are_transposed() -> None:
    inputs = [make_data(rank, 4 * 3, "int32", 1) for rank in range(4)]
    for schedule in (direct_all_to_all(4, 3), all_to_all((4,), 3)):
        check(schedule)
        ended = truth(slice_schedule(schedule), inputs)
        for i in range(4):
            for j in range(4):
                assert (ended[j][3 * i : 3 * i + 3] == inputs[i][3 * j : 3 * j + 3]).all()


def test_a_chain_of_sends_goes_all_at_once() -> None:
    schedule = p2p(4, 6, [(0, 1), (1, 2), (2, 0)])
    check(schedule)
    inputs = [make_data(rank, 6, "int32", 1) for rank in range(4)]
    ended = truth(slice_schedule(schedule), inputs)
    assert [row.tobytes() for row in ended] == [inputs[rank].tobytes() for rank in (2, 0, 1, 3)]


def test_a_pipeline_has_a_first_and_a_last_stage() -> None:
    schedule = pipeline((2, 3), 4)
    check(schedule)
    assert [(t.source, t.target) for t in schedule.transfers] == [(0, 2), (1, 3), (2, 4), (3, 5)]
    across = pipeline((2, 3), 4, along=0)
    assert [(t.source, t.target) for t in across.transfers] == [(0, 1), (2, 3), (4, 5)]
    assert {t.op for t in across.transfers} == {Combine.COPY}


def test_bounds() -> None:
    # m/B is one second here.
    assert all_to_all_bound_ps((8, 8), 1 << 20, (8 << 20, 8 << 20)) == pytest.approx(8e12)
    assert all_to_all_bound_ps((8, 4), 1 << 20, (8 << 20, 8 << 20)) == pytest.approx(8e12)
    assert all_to_all_bound_ps((8, 4), 1 << 20, (8 << 20, 16 << 20)) == pytest.approx(4e12)
    assert send_bound_ps(1 << 20, 7 * (8 << 20)) == pytest.approx(1e12 / 7)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(EmulationError, match="one element"):
        all_to_all((4, 4), 0)
    with pytest.raises(EmulationError, match="each of 2 dimensions once"):
        all_to_all((4, 4), 2, orders=[(0, 0)])
    with pytest.raises(EmulationError, match="no pairs"):
        p2p(4, 6, [])
