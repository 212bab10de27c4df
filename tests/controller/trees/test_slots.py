# SPDX-License-Identifier: Apache-2.0
"""Cells of switches are given once at a time, and blocks of later jobs have larger numbers."""

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.errors import PlanError
from controller.trees.slots import CELLS, TREES, Allotment, SlotPool
from controller.trees.tree import SwitchTree

TREE = SwitchTree("s", {"s": ("a", "b"), "a": ("n0", "n1"), "b": ("n2", "n3")}, {})
OTHER = SwitchTree("t", {"t": ("b", "c"), "b": ("n2", "n3"), "c": ("n4", "n5")}, {})


def test_capacities_are_those_of_the_program() -> None:
    text = (Path(__file__).parents[3] / "p4" / "include" / "reduction.p4").read_text()
    sizes = {name: int(number) for name, number in re.findall(r"#define (REDUCE_\w+) (\d+)", text)}
    assert (sizes["REDUCE_CELLS"], sizes["REDUCE_TREES"]) == (CELLS, TREES)


def widest_gap(given_now: list[Allotment], switch: str) -> int:
    used = {old.bases[switch] + cell for old in given_now if switch in old.bases for cell in range(old.cells)}
    free = "".join(" x"[cell in used] for cell in range(64))
    return max(map(len, free.split("x")))


@given(seed=st.integers(0, 1 << 32))
def test_no_cell_is_given_twice_and_numbers_of_blocks_grow(seed: int) -> None:
    random = Random(seed)
    pool = SlotPool(cells=64)
    given_now: list[Allotment] = []
    highest = {switch: 0 for tree in (TREE, OTHER) for switch in tree.children}
    for _ in range(40):
        if given_now and random.random() < 0.5:
            back = given_now.pop(random.randrange(len(given_now)))
            blocks = random.randrange(1, 100)
            pool.take_back(back.number, blocks)
            for switch in back.tree.children:
                highest[switch] = max(highest[switch], back.first_block + blocks - 1)
            continue
        tree, window = random.choice((TREE, OTHER)), 1 << random.randrange(5)
        try:
            new = pool.give(tree, window)
        except PlanError:
            assert any(widest_gap(given_now, switch) < 2 * window for switch in tree.children)
            continue
        assert all(new.first_block > highest[switch] for switch in tree.children)
        for old in given_now:
            assert old.number != new.number
            for switch in old.bases.keys() & new.bases.keys():
                apart = old.bases[switch] + old.cells <= new.bases[switch]
                assert apart or new.bases[switch] + new.cells <= old.bases[switch]
        given_now.append(new)


def test_what_cannot_be_given_is_refused_by_name() -> None:
    pool = SlotPool(cells=8)
    with pytest.raises(
        PlanError, match="a window of 3 slots is not a power of two; give a power of two, such as 16"
    ):
        pool.give(TREE, 3)
    pool.give(TREE, 4)
    with pytest.raises(
        PlanError, match="b has no 2 adjacent free cells for another tree: 0 of 8 are free, 1 of"
    ):
        pool.give(OTHER, 1)
    with pytest.raises(PlanError, match="tree 7 has no slots"):
        pool.take_back(7, 1)
    with pytest.raises(PlanError, match="number 4294967296 of its last block is above"):
        pool.take_back(0, 1 << 32)
