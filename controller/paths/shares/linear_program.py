# SPDX-License-Identifier: Apache-2.0
"""Sparse linear programs, solved by HiGHS.

HiGHS has its own Python package; `scipy.optimize` has the same solver, but importing it takes longer than a
small run. Most programs have several optimal solutions, and each version of HiGHS may return a different one.
So pyproject.toml fixes the version, and results do not depend on the machine.

The latest solutions are cached, because variants of a scenario often have the same program.
"""

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Solution", "SparseMatrix", "minimise"]

Floats = NDArray[np.float64]

_CACHED = 32
"""Largest number of cached solutions; a solution of the largest program takes some 2 MB."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparseMatrix:
    """Entries of a matrix: rows, columns and values, in any order; each (row, column) at most once."""

    rows: ArrayLike
    columns: ArrayLike
    values: ArrayLike


@final
@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Solution of a linear program: values of the variables, and dual values of the rows, both read-only.

    If there is no solution, `x` and `row_duals` are None, and `status` says why.
    """

    x: Floats | None
    row_duals: Floats | None
    status: str


def minimise(cost: Floats, matrix: SparseMatrix, lower: ArrayLike, upper: ArrayLike) -> Solution:
    """Minimise `cost @ x` for x >= 0 with `lower <= matrix @ x <= upper`; equal programs are solved once."""
    program = _Program(
        np.asarray(cost, np.float64),
        np.asarray(matrix.rows, np.int64),
        np.asarray(matrix.columns, np.int64),
        np.asarray(matrix.values, np.float64),
        np.asarray(lower, np.float64),
        np.asarray(upper, np.float64),
    )
    key = program.digest()
    # Threads that need the same program at the same time may solve it twice, with the same solution.
    solution = _solutions.pop(key, None) or _solve(program)
    _solutions[key] = solution
    while len(_solutions) > _CACHED:
        _solutions.popitem(last=False)
    return solution


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Program:
    """All numbers of a linear program, as arrays."""

    cost: Floats
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Floats
    lower: Floats
    upper: Floats

    def digest(self) -> bytes:
        """Return a hash of all numbers; no two programs of a process share it."""
        digest = blake2b(digest_size=32)
        for array in (self.cost, self.rows, self.columns, self.values, self.lower, self.upper):
            digest.update(len(array).to_bytes(8, "little"))
            digest.update(np.ascontiguousarray(array).data)
        return digest.digest()


_solutions: OrderedDict[bytes, Solution] = OrderedDict()


def _solve(program: _Program) -> Solution:
    columns, rows = len(program.cost), len(program.lower)
    order = np.lexsort((program.rows, program.columns))
    import highspy  # takes longer to import than a small plan

    model: Any = highspy.HighsLp()  # the stubs declare lists only; arrays are faster
    model.num_col_, model.num_row_ = columns, rows
    model.col_cost_ = program.cost
    model.col_lower_, model.col_upper_ = np.zeros(columns), np.full(columns, highspy.kHighsInf)
    model.row_lower_, model.row_upper_ = program.lower, program.upper
    entries = model.a_matrix_
    entries.num_col_, entries.num_row_ = columns, rows
    entries.format_ = highspy.MatrixFormat.kColwise
    entries.start_ = np.searchsorted(program.columns[order], np.arange(columns + 1))
    entries.index_ = program.rows[order]
    entries.value_ = program.values[order]
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("presolve", "on"), ("simplex_strategy", 1)):
        solver.setOptionValue(option, value)
    solver.passModel(model)
    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        return Solution(None, None, solver.modelStatusToString(status))
    solution = solver.getSolution()
    return Solution(_read_only(solution.col_value), _read_only(solution.row_dual), "optimal")


def _read_only(values: ArrayLike) -> Floats:
    array = np.array(values, np.float64)
    array.setflags(write=False)
    return array
