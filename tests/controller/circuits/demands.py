# SPDX-License-Identifier: Apache-2.0
"""Random demands between Pods that their ports can serve, and what maps carry."""

import numpy as np

from controller.circuits import DARK
from controller.circuits.flow import Ints
from papers.lumoscore.load import feasible, full

__all__ = ["carried", "feasible", "full"]


def carried(maps: Ints) -> Ints:
    """Count the circuits of (slots, N) maps from each Pod's even ports to each other Pod's odd ports."""
    n = maps.shape[-1]
    slot, row = np.nonzero(maps != DARK)
    result = np.zeros((n, n), np.int64)
    np.add.at(result, (row, maps[slot, row]), 1)
    return result
