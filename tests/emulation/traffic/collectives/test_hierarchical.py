# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import broadcast, combine, dispatch, experts, reduce, tree
from emulation.traffic.schedule.schedule import check

MESHES = [(4,), (4, 4), (2, 3, 4)]


@pytest.mark.parametrize("dims", MESHES)
@pytest.mark.parametrize("direct", [False, True])
def test_every_kind_does_what_it_says(dims: tuple[int, ...], direct: bool) -> None:
    check(broadcast(dims, 10, 3, direct=direct))
    check(reduce(dims, 10, 3, direct=direct))
    ranks = broadcast(dims, 10).ranks
    chosen = experts(ranks, 3)
    check(dispatch(dims, 5, chosen, direct=direct))
    check(combine(dims, 5, chosen, direct=direct))


def test_a_board_gets_one_copy_and_hands_it_on() -> None:
    schedule = broadcast((8, 8), 10, 9)
    between = [t for t in schedule.transfers if t.source // 8 != t.target // 8]
    assert [(t.source, t.target % 8, t.step) for t in between] == [(9, 1, 0)] * 7
    assert {t.step for t in schedule.transfers if t.source // 8 == t.target // 8} == {1}
    assert sorted(t.target for t in schedule.transfers) == [rank for rank in range(64) if rank != 9]


def test_a_board_reduces_before_it_sends() -> None:
    schedule = reduce((8, 8), 10, 9)
    assert Counter(t.step for t in schedule.transfers) == {0: 8 * 7, 1: 7}
    assert {t.target for t in schedule.transfers if t.step == 1} == {9}


def test_the_leader_is_one_that_is_to_have_it_anyway_and_near() -> None:
    # Of board 1 the targets are 8 + 2 and 8 + 5; rank 0 has no line to either, rank 2 to the first.
    assert tree((8, 8), 0, [10, 13]) == [(0, 0, 10), (1, 10, 13)]
    assert tree((8, 8), 5, [10, 13]) == [(0, 5, 13), (1, 13, 10)]
    assert {node for _, node, _ in tree((8, 8), 0, [3, 10, 13])} == {0, 10}


def test_experts_are_drawn_once_and_without_favour() -> None:
    chosen = experts(64, 8)
    assert chosen == experts(64, 8)
    assert chosen != experts(64, 8, seed=2)
    assert all(len({*of, rank}) == 9 for rank, of in chosen.items())
    busy = Counter(target for of in chosen.values() for target in of)
    assert max(busy.values()) < 20


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(EmulationError, match="experts"):
        experts(4, 4)
    with pytest.raises(EmulationError, match="two ranks"):
        broadcast((1,), 4)
    with pytest.raises(EmulationError, match="not a rank from 0 to 15"):
        broadcast((4, 4), 4, 16)
