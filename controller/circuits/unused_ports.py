# SPDX-License-Identifier: Apache-2.0
"""Dark ports of a plan lit where they are, so that what nobody asked for never moves what somebody did."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from controller.circuits.plan import CircuitPlan

__all__ = ["fill_unused_ports"]


def fill_unused_ports(
    plan: CircuitPlan, standing: CircuitPlan | None = None, *, working: np.ndarray | None = None
) -> CircuitPlan:
    """The plan with circuits between ports that it leaves dark, as many in each pair of switches as can be.

    What `standing` has between two of them stays. Other ports are joined so that few circuits come between
    Pods that have many. `plan` is the demand's; to light that of the next demand, give what this returns as
    `standing`. With `working` as `realise_left` has it, ports that do not work get no circuit, but keep one
    whose ports nobody else has a use for.
    """
    maps = plan.maps.copy()
    spines, pairs, n = maps.shape
    has = plan.counts.sum(axis=0)
    apart = np.full((n, n), 0.0)
    np.fill_diagonal(apart, 1e9)
    if working is None:
        working = np.ones((spines, pairs), bool)
    if keeps := working.ndim > 2:
        ports = working
    else:
        ports = np.broadcast_to(working[:, :, None, None], (spines, pairs, n, 2))
    for h, k in np.ndindex(spines, pairs):
        row = maps[h, k]
        works = ports[h, k]
        taken = np.zeros(n, bool)
        taken[row[row >= 0]] = True
        if standing is not None:
            old = standing.maps[h, k]
            stays = (row < 0) & (old >= 0) & ~taken[old] & works[:, 0] & works[old, 1]
            row[stays] = old[stays]
            taken[row[stays]] = True
            np.add.at(has, (np.flatnonzero(stays), row[stays]), 1)
            np.add.at(has, (row[stays], np.flatnonzero(stays)), 1)
        even, odd = np.flatnonzero((row < 0) & works[:, 0]), np.flatnonzero(~taken & works[:, 1])
        one, other = linear_sum_assignment((has + apart)[np.ix_(even, odd)])
        fits = even[one] != odd[other]
        i, j = even[one][fits], odd[other][fits]
        row[i] = j
        np.add.at(has, (i, j), 1)
        np.add.at(has, (j, i), 1)
        if keeps and standing is not None:
            taken[j] = True
            old = standing.maps[h, k]
            dark = (row < 0) & (old >= 0) & ~taken[old]
            row[dark] = old[dark]
    return CircuitPlan.of(maps, standing)
