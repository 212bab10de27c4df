# SPDX-License-Identifier: Apache-2.0
"""Connected components of nodes by number. SciPy takes longer to import than a plan of a small fabric."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["component_numbers"]


def component_numbers(count: int, tails: NDArray[np.integer], heads: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return, by node, the least node number in its connected component; edges join in both directions."""
    least = np.arange(count)
    while True:
        nearer = least.copy()
        np.minimum.at(nearer, tails, least[heads])
        np.minimum.at(nearer, heads, least[tails])
        nearer = nearer[nearer]  # a node whose number is that of another node takes over that node's number
        if np.array_equal(nearer, least):
            return least
        least = nearer
