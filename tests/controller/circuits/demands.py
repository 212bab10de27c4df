# SPDX-License-Identifier: Apache-2.0
"""Random demands between Pods that their ports can serve."""

import numpy as np

from controller.circuits import DARK, fill_spare
from controller.circuits.flow import Ints

__all__ = ["carried", "feasible", "full"]


def feasible(rng: np.random.Generator, pods: int, ports: int) -> Ints:
    """Row sums up to `ports`; some Pods want nothing, some pairs of Pods a lot."""
    demand = np.zeros((pods, pods), np.int64)
    left = rng.integers(0, ports + 1, pods)
    for _ in range(3 * pods):
        i, j = rng.integers(0, pods, 2)
        if i != j:
            more = rng.integers(0, min(left[i], left[j]) + 1)
            demand[i, j] += more
            demand[j, i] += more
            left[[i, j]] -= more
    return demand


def full(rng: np.random.Generator, pods: int, ports: int) -> Ints:
    """No port left over, `pods * ports` being even."""
    while True:
        demand = fill_spare(feasible(rng, pods, ports), ports)
        if (demand.sum(axis=1) == ports).all():
            return demand


def carried(maps: Ints) -> Ints:
    """How many circuits of (slots, N) maps there are from each Pod's even ports to each other's odd ones."""
    n = maps.shape[-1]
    slot, row = np.nonzero(maps != DARK)
    found = np.zeros((n, n), np.int64)
    np.add.at(found, (row, maps[slot, row]), 1)
    return found
