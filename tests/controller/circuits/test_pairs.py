# SPDX-License-Identifier: Apache-2.0
"""One group's circuits, against the integer program."""

import math

import numpy as np
import pytest

from controller import PlanError
from controller.circuits import (
    Moves,
    assign_exact,
    assign_greedy,
    assign_pairs,
    check_maps,
    count_moves,
    symmetric_split,
)
from tests.controller.circuits.demands import carried, feasible


def test_every_method_realises_all_of_it_in_partial_permutations() -> None:
    rng = np.random.default_rng(11)
    for _ in range(60):
        n, pairs = int(rng.integers(2, 12)), int(rng.integers(1, 9))
        before = assign_pairs(symmetric_split(feasible(rng, n, 2 * pairs)), pairs)
        matrix = symmetric_split(feasible(rng, n, 2 * pairs))
        for method in (assign_pairs, assign_greedy):
            maps = method(matrix, pairs, before)
            check_maps(maps, (pairs, n))
            assert (carried(maps) == matrix).all()


def test_with_two_pairs_no_program_keeps_more() -> None:
    rng = np.random.default_rng(5)
    kept = []
    for _ in range(40):
        n = int(rng.integers(3, 17))
        before = assign_pairs(symmetric_split(feasible(rng, n, 4)), 2)
        matrix = symmetric_split(feasible(rng, n, 4))
        ours, best = assign_pairs(matrix, 2, before), assign_exact(matrix, 2, before, seconds=math.inf)
        assert (carried(best) == matrix).all()
        assert count_moves(before, ours) == count_moves(before, best)
        kept.append(count_moves(before, best).kept)
    assert max(kept) > 0


def test_with_more_pairs_few_move_that_need_not() -> None:
    rng = np.random.default_rng(9)
    ratios = []
    for _ in range(25):
        n, pairs = int(rng.integers(4, 13)), 4
        demand = feasible(rng, n, 2 * pairs)
        before = assign_pairs(symmetric_split(demand), pairs)
        matrix = symmetric_split(feasible(rng, n, 2 * pairs))
        ours = count_moves(before, assign_pairs(matrix, pairs, before))
        best = count_moves(before, assign_exact(matrix, pairs, before, seconds=math.inf))
        assert ours.added >= best.added
        if best.added:
            ratios.append(ours.added / best.added)
    assert np.mean(ratios) <= 1.2


def test_what_is_wanted_as_before_stays() -> None:
    rng = np.random.default_rng(1)
    matrix = symmetric_split(feasible(rng, 9, 12))
    maps = assign_pairs(matrix, 6)
    assert (assign_pairs(matrix, 6, maps) == maps).all()
    less = matrix.copy()
    less[np.nonzero(matrix)[0][0], np.nonzero(matrix)[1][0]] -= 1
    assert count_moves(maps, assign_pairs(less, 6, maps)) == Moves(removed=1, added=0, kept=int(less.sum()))


def test_a_program_that_reaches_its_limit_says_so() -> None:
    rng = np.random.default_rng(4)
    before = assign_pairs(symmetric_split(feasible(rng, 24, 32)), 16)
    with pytest.raises(
        PlanError,
        match="the exact program with 768 unknowns has no proven optimum within 0 nodes; allow more time",
    ):
        assign_exact(symmetric_split(feasible(rng, 24, 32)), 16, before, nodes=0)


def test_too_many_circuits_and_impossible_maps_are_refused() -> None:
    with pytest.raises(PlanError, match="column 1 asks for 2 circuits, more than the 1 pairs of"):
        assign_pairs(np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]]), 1)
    for matrix, words in (
        ([[0, -1, 1], [0, 0, 0], [0, 0, 0]], "the demand from 0 to 1 is -1"),
        ([[1, 0, 0], [0, 0, 0], [0, 0, 0]], "Pod 0 asks for 1 circuits to itself"),
        ([[0, 1, 0], [0, 0, 0]], r"the demand has shape \(2, 3\)"),
    ):
        with pytest.raises(PlanError, match=words):
            assign_pairs(np.array(matrix), 1)
    for maps, words in (
        ([[1, -1, 1]], "pair 0 joins 2 Pods to the odd port of Pod 1"),
        ([[0, -1, -1]], "joins Pod 0 to itself"),
        (
            [[3, -1, -1]],
            "a circuit leads to Pod 3, which does not exist; give a Pod from 0 to 2, or -1 for a dark",
        ),
        ([[1, -1]], "shape"),
    ):
        with pytest.raises(PlanError, match=words):
            assign_pairs(np.zeros((3, 3), int), 1, np.array(maps))
