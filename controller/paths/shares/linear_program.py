# SPDX-License-Identifier: Apache-2.0
"""Sparse linear programs, solved by HiGHS.

HiGHS has its own Python package; `scipy.optimize` has the same solver, but importing it takes longer than a
small run. Most programs have several optimal solutions, and each version of HiGHS may return a different one.
So pyproject.toml fixes the version, and results do not depend on the machine.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Solution", "SparseMatrix", "minimise"]

Floats = NDArray[np.float64]


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
    """Solution of a linear program: values of the variables, and dual values of the rows.

    If there is no solution, `x` and `row_duals` are None, and `status` says why.
    """

    x: Floats | None
    row_duals: Floats | None
    status: str


def minimise(cost: Floats, matrix: SparseMatrix, lower: ArrayLike, upper: ArrayLike) -> Solution:
    """Minimise `cost @ x` for x >= 0 with `lower <= matrix @ x <= upper`."""
    lower, upper = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    rows, columns = np.asarray(matrix.rows), np.asarray(matrix.columns)
    order = np.lexsort((rows, columns))
    import highspy  # takes longer to import than a small plan

    program: Any = highspy.HighsLp()  # the stubs declare lists only; arrays are faster
    program.num_col_, program.num_row_ = len(cost), len(lower)
    program.col_cost_ = cost
    program.col_lower_, program.col_upper_ = np.zeros(len(cost)), np.full(len(cost), highspy.kHighsInf)
    program.row_lower_, program.row_upper_ = lower, upper
    entries = program.a_matrix_
    entries.num_col_, entries.num_row_ = len(cost), len(lower)
    entries.format_ = highspy.MatrixFormat.kColwise
    entries.start_ = np.searchsorted(columns[order], np.arange(len(cost) + 1))
    entries.index_ = rows[order]
    entries.value_ = np.asarray(matrix.values, np.float64)[order]
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("presolve", "on"), ("simplex_strategy", 1)):
        solver.setOptionValue(option, value)
    solver.passModel(program)
    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        return Solution(None, None, solver.modelStatusToString(status))
    solution = solver.getSolution()
    return Solution(np.array(solution.col_value), np.array(solution.row_dual), "optimal")
