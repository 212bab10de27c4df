# SPDX-License-Identifier: Apache-2.0
"""A matrix shared out evenly: over the spines of a Pod, above all."""

import numpy as np

from controller.circuits.bisection import bisect
from controller.circuits.demand import check_matrix
from controller.circuits.entries import Entries
from controller.circuits.flow import Ints
from controller.errors import PlanError

__all__ = ["even_split"]


def even_split(matrix: Ints, parts: int) -> Ints:
    """(parts, N, N) that sum up to a matrix (N, N) of whole numbers, as even as whole numbers are.

    Every entry, row sum and column sum of each part is the share of one in `parts`, rounded up or down.
    Halved again and again rather than peeled off one by one: the bounds are those of LumosCore, the flows
    fewer. PlanError without parts.
    """
    if parts < 1:
        raise PlanError(f"a matrix in {parts} parts", remedy="ask for one part or more")
    matrix = check_matrix(matrix)
    entries = Entries.of(matrix[None])
    first = np.zeros(1, np.int64)
    return bisect(entries, len(matrix), [1] * parts, first=first, limited=False).dense(parts, len(matrix))
