# SPDX-License-Identifier: Apache-2.0
"""C = A + A.T, and A in even parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller import PlanError
from controller.circuits import even_split, symmetric_split
from controller.circuits.flow import Ints
from tests.controller.circuits.demands import feasible


def halved(part: Ints, whole: Ints) -> bool:
    return bool((np.abs(2 * part - whole) <= 1).all())


def check_split(demand: Ints) -> None:
    a = symmetric_split(demand)
    assert (a + a.T == demand).all()
    assert (a >= 0).all()
    assert halved(a, demand)
    assert halved(a.sum(axis=0), demand.sum(axis=0))
    assert halved(a.sum(axis=1), demand.sum(axis=1))


def test_a_thousand_random_demands_split_exactly() -> None:
    rng = np.random.default_rng(7)
    for _ in range(1000):
        check_split(feasible(rng, int(rng.integers(1, 24)), int(rng.integers(1, 40))))


@given(st.integers(1, 9), st.data())
def test_any_symmetric_matrix_splits(n: int, data: st.DataObject) -> None:
    upper = np.zeros((n, n), np.int64)
    at = np.triu_indices(n, 1)
    upper[at] = data.draw(st.lists(st.integers(0, 9), min_size=len(at[0]), max_size=len(at[0])))
    check_split(upper + upper.T)


def test_a_large_sparse_one_takes_no_loop_over_its_edges() -> None:
    rng = np.random.default_rng(3)
    upper = np.triu(rng.integers(0, 4, (1500, 1500)), 1)
    check_split(upper + upper.T)


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 8])
def test_parts_are_even_in_every_entry_row_and_column(parts: int) -> None:
    rng = np.random.default_rng(parts)
    for _ in range(40):
        n = int(rng.integers(1, 14))
        matrix = rng.integers(0, 12, (n, n)) * (rng.random((n, n)) < rng.random())
        result = even_split(matrix, parts)
        assert (result.sum(axis=0) == matrix).all()
        for part, whole in (
            (result, matrix),
            (result.sum(axis=1), matrix.sum(axis=0)),
            (result.sum(axis=2), matrix.sum(axis=1)),
        ):
            assert (part >= whole // parts).all()
            assert (part <= -(-whole // parts)).all()


def test_no_parts_and_halves_of_circuits_are_refused() -> None:
    with pytest.raises(PlanError, match="a matrix cannot be divided into 0 parts; ask for one part or more"):
        even_split(np.zeros((2, 2), int), 0)
    with pytest.raises(PlanError, match="whole numbers"):
        even_split(np.full((2, 2), 0.5), 2)
    with pytest.raises(PlanError, match="from 0 to 1 is -1"):
        even_split(np.array([[0, -1], [0, 0]]), 2)
