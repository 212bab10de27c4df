# SPDX-License-Identifier: Apache-2.0
"""Collectives in switches under loss, repetition and reordering: results by arithmetic, or a named loss."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulation.errors import EmulationError
from emulation.traffic.collectives.declaration import Request
from emulation.traffic.collectives.in_switches import switch_tree
from emulation.traffic.frames.layers import LPH, NTH, RDH, SRH, Ether
from emulation.traffic.frames.values import NLP_REDUCTION, VALUE_BYTES, Combining, ReductionKind, mac
from emulation.traffic.schedule.goals import Goal
from emulation.traffic.tree.wire import FRAME_BYTES, ReductionFields, read_frame, write_frame
from emulation.traffic.tree.work import work_of
from tests.emulation.traffic.tree.worlds import World
from tests.oracle.slot_machine import combined

CNA = st.integers(0, 0xFFFF)


@given(
    fields=st.builds(
        ReductionFields,
        kind=st.sampled_from(ReductionKind).map(int),
        tree=CNA,
        block=st.integers(0, (1 << 32) - 1),
        scna=CNA,
        dcna=CNA,
        operation=st.sampled_from(Combining).map(int),
        wide=st.booleans(),
        wrapped=st.booleans(),
        owner=CNA,
        scale=CNA,
        values=st.sampled_from((b"", bytes(range(256)))),
        vl=st.integers(0, 15),
        route=st.none() | st.integers(0, 255),
    )
)
def test_frames_are_those_of_the_layers(fields: ReductionFields) -> None:
    frame = write_frame(fields)
    assert read_frame(frame) == fields
    route = () if fields.route is None else (SRH(bitmap=0x800, instr=[fields.route]),)
    layered = Ether(dst=mac(fields.dcna), src=mac(fields.scna)) / LPH(vl=fields.vl)
    for header in route:
        layered /= header
    layered /= NTH(scna=fields.scna, dcna=fields.dcna, nlp=NLP_REDUCTION)
    layered /= RDH(
        kind=fields.kind,
        operation=fields.operation,
        wide=fields.wide,
        filled=bool(fields.values),
        wrapped=fields.wrapped,
        tree=fields.tree,
        owner=fields.owner,
        scale=fields.scale,
        block=fields.block,
    )
    assert bytes(layered / fields.values) == frame
    assert Ether(frame)[RDH].block == fields.block


@pytest.mark.parametrize("cut", [1, VALUE_BYTES])
def test_a_frame_that_is_cut_is_junk(cut: int) -> None:
    frame = write_frame(ReductionFields(0, 1, 1, 2, 3, values=bytes(VALUE_BYTES)))
    assert len(frame) == FRAME_BYTES
    assert read_frame(frame[:-cut]) == "length"


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_every_collective_is_exact_under_loss_repetition_and_reordering(seed: int) -> None:
    world = World(seed, loss=0.05, repeat=0.05)
    assert world.run()
    assert world.wrong() == []


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_members_go_on_with_another_tree_when_a_switch_dies_or_forgets(seed: int) -> None:
    world = World(seed, loss=0.02, repeat=0.05)
    assert world.run(restarts=2, deaths=2)
    assert world.wrong() == []


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_without_another_tree_a_loss_is_named(seed: int) -> None:
    world = World(seed, loss=0.02, repeat=0.05)
    world.replaces = False
    done = world.run(deaths=1)
    assert world.wrong() == []
    assert done or any(member.failed for member in world.members)


@pytest.mark.long
def test_five_hundred_random_scenarios() -> None:
    moved = 0
    for seed in range(500):
        world = World(seed, loss=0.05 * (seed % 3) / 2, repeat=0.03, window=None)
        assert world.run(restarts=seed % 2, deaths=seed % 3), seed
        assert world.wrong() == [], seed
        moved += world.moves
    assert moved > 50


def test_frames_are_sent_once_where_none_is_lost() -> None:
    world = World(5)
    assert world.run()
    stats = [member.stats for member in world.members]
    assert {each.sent for each in stats} == {each.received for each in stats}
    assert not any(each.junk for each in stats)


def test_a_sum_that_leaves_its_range_is_reported() -> None:
    most = np.full(64, 2**31 - 1, ">i4").tobytes()
    first_is_one = np.eye(1, 64, dtype=">i4").tobytes()
    values, wrapped = combined(most, first_is_one, Combining.SUM, False)
    assert wrapped
    assert np.frombuffer(values, ">i4")[:2].tolist() == [-(2**31), 2**31 - 1]


def test_a_collective_without_sums_is_refused() -> None:
    with pytest.raises(EmulationError, match="switches carry out no all-to-all"):
        work_of(Goal("all-to-all", (0, 1), (((0, 4),), ((4, 4),))), 1)


def test_blocks_cover_the_array_once() -> None:
    (goal,) = switch_tree("reduce-scatter").build(Request((3,), 1000)).goals
    work = work_of(goal, 2)
    covered = sorted((block.start, block.stop) for blocks in work.by_tree for block in blocks)
    assert covered[0][0] == 0
    assert covered[-1][1] == 1000
    assert all(stop == start for (_, stop), (start, _) in pairwise(covered))
    assert {block.owner for blocks in work.by_tree for block in blocks} == {0, 1, 2}
