# SPDX-License-Identifier: Apache-2.0
"""Linear programs: solutions and dual values against SciPy, programs without a solution, cached solutions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from controller.paths.shares.linear_program import Solution, SparseMatrix, minimise


@given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.integers(1, 20))
def test_least_cost_of_a_cover_and_its_price(costs, amount):
    size = len(costs)
    matrix = SparseMatrix([0] * size, range(size), [1.0] * size)
    solution = minimise(np.array(costs, float), matrix, [amount], [np.inf])
    expected = linprog(costs, [[-1.0] * size], [-amount], method="highs")
    assert solution.x is not None
    assert solution.row_duals is not None
    assert costs @ solution.x == pytest.approx(expected.fun)
    assert solution.x.sum() == pytest.approx(amount)
    assert solution.row_duals == pytest.approx(-expected.ineqlin.marginals)


def test_entries_may_come_in_any_order():
    matrix = SparseMatrix([1, 0, 1], [1, 0, 0], [4.0, 2.0, 1.0])  # 2 x0 = 6, x0 + 4 x1 = 7
    solution = minimise(np.ones(2), matrix, [6, 7], [6, 7])
    assert solution.x == pytest.approx([3, 1])


def test_an_impossible_program_says_so():
    solution = minimise(np.ones(1), SparseMatrix([0, 1], [0, 0], [1.0, 1.0]), [2, -np.inf], [np.inf, 1])
    assert solution.x is None
    assert "nfeasible" in solution.status


def test_equal_programs_are_solved_once_and_no_others():
    cost, matrix = np.array([1.0, 2.0]), SparseMatrix([0, 1, 1], [0, 0, 1], [1.0, 1.0, 1.0])
    lower, upper = [1.0, 3.0], [np.inf, 4.0]
    solution = minimise(cost, matrix, lower, upper)
    assert minimise(cost.copy(), replace(matrix, rows=np.array([0, 1, 1])), tuple(lower), upper) is solution
    others: list[Solution] = [
        minimise(np.array([1.0, 0.5]), matrix, lower, upper),
        minimise(cost, replace(matrix, rows=[1, 0, 1]), lower, upper),
        minimise(cost, replace(matrix, columns=[0, 1, 0]), lower, upper),
        minimise(cost, replace(matrix, values=[1.0, 1.0, 2.0]), lower, upper),
        minimise(cost, matrix, [1.0, 2.0], upper),
        minimise(cost, matrix, lower, [2.0, 4.0]),
    ]
    assert len({id(other) for other in (solution, *others)}) == 7
    assert solution.x is not None
    with pytest.raises(ValueError, match="read-only"):
        solution.x[0] = 7


def test_few_solutions_are_kept():
    programs = [(np.ones(1), SparseMatrix([0], [0], [1.0]), [number], [np.inf]) for number in range(40)]
    solutions = [minimise(*program) for program in programs]
    assert minimise(*programs[-1]) is solutions[-1]
    first = minimise(*programs[0])
    assert first is not solutions[0]
    assert first.x == solutions[0].x
