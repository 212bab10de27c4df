# SPDX-License-Identifier: Apache-2.0
"""Allocate a demand to working ports, and add circuits on ports left unused by the demand.

If only whole pairs of switches fail, `allocate` keeps its guarantee for the remaining ports. Single failed
ports break the guarantee: fitting all circuits is then an edge colouring with forbidden colours, which is
NP-complete.
"""

import numpy as np

from controller.circuits.allocation import allocate
from controller.circuits.baselines.exact import allocate_most
from controller.circuits.demand import check_demand, trim_demand
from controller.circuits.flow import Ints
from controller.circuits.places import place_circuits
from controller.circuits.plan import DARK, CircuitPlan
from controller.errors import PlanError

__all__ = ["allocate_available", "fill_unused_ports"]

# Limits of the integer program.
_MAX_UNKNOWNS = 4000
_MAX_NODES = 10  # nodes of the solver's tree; mostly 0.1 s


def allocate_available(
    demand: Ints, standing: CircuitPlan, working: np.ndarray, worth: Ints | None = None
) -> CircuitPlan:
    """Return a plan with as many circuits of a demand, (P, P), as working ports allow; few circuits move.

    `trim_demand` first fits the demand to the working ports. The first of these methods that applies then
    allocates it:

    1. If only whole pairs of switches fail, `allocate` uses the remaining pairs.
    2. If all circuits can be placed one by one, they are.
    3. If the pairs without failed ports suffice, `allocate` uses only these pairs.
    4. If an integer program is small and soon solved, it maximises the circuits' worth (`allocate_most`).
    5. Otherwise, the circuits that can be placed one by one are the result.

    PlanError if the demand is too large even if all ports work.

    Args:
        demand: Number of circuits between Pods, (P, P), symmetric.
        standing: Previous plan.
        working: Usable ports, (H, K/2, P, 2): `working[h, k, i]` marks the even and the odd port of Pod i's
            spine h at pair k.
        worth: Weight of the circuits between Pods for `trim_demand`, (P, P); by default the demand.
    """
    demand = np.asarray(demand)
    spines, pairs, n = standing.maps.shape
    if working.shape != (spines, pairs, n, 2):
        raise PlanError(
            f"the working ports have shape {working.shape}",
            remedy=f"give an array of shape {(spines, pairs, n, 2)}",
        )
    check_demand(demand, 2 * spines * pairs)
    demand = trim_demand(demand, working.sum(axis=(0, 1, 3)), demand if worth is None else worth)
    whole: np.ndarray = np.asarray(working.all(axis=(2, 3)))
    some: np.ndarray = np.asarray(working.any(axis=(2, 3)))
    if (whole == some).all():
        return allocate(demand, spines, 2 * pairs, standing, working=whole)
    slots = np.flatnonzero(some)
    even, odd = working.reshape(-1, n, 2)[slots].transpose(2, 1, 0)
    old = _without_failed_ports(standing.maps.reshape(-1, n)[slots], even, odd)
    each = np.bincount(slots // pairs, minlength=spines)
    maps, done = place_circuits(demand, old, each[each > 0], either_way=True, working=(even, odd))
    if not done:
        if demand.sum(axis=1).max() <= 2 * whole.sum():
            return allocate(demand, spines, 2 * pairs, standing, working=whole)
        maps = _most_circuits(demand, maps, old, even, odd)
    all_maps = np.full((spines * pairs, n), DARK)
    all_maps[slots] = maps
    return CircuitPlan.of(all_maps.reshape(spines, pairs, n), standing)


def fill_unused_ports(
    plan: CircuitPlan, standing: CircuitPlan | None = None, *, working: np.ndarray | None = None
) -> CircuitPlan:
    """Return a plan with circuits added between its dark ports, as many as each pair of switches allows.

    Standing circuits between dark ports of `plan` stay. The remaining dark ports join Pods with few circuits
    first. To plan the next demand, pass the returned plan as `standing`.

    Args:
        plan: Circuits that a demand needs.
        standing: Previous plan.
        working: Usable pairs, (H, K/2), or usable ports, (H, K/2, P, 2); by default all work. Failed ports
            get no new circuit. If ports are given, a standing circuit at a failed port stays unless another
            circuit uses one of its ports.
    """
    from scipy.optimize import linear_sum_assignment

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
        row_index, other = linear_sum_assignment((has + apart)[np.ix_(even, odd)])
        fits = even[row_index] != odd[other]
        i, j = even[row_index][fits], odd[other][fits]
        row[i] = j
        np.add.at(has, (i, j), 1)
        np.add.at(has, (j, i), 1)
        if keeps and standing is not None:
            taken[j] = True
            old = standing.maps[h, k]
            dark = (row < 0) & (old >= 0) & ~taken[old]
            row[dark] = old[dark]
    return CircuitPlan.of(maps, standing)


def _without_failed_ports(maps: Ints, even: np.ndarray, odd: np.ndarray) -> Ints:
    """Return maps without the circuits at failed ports."""
    all_maps = np.full_like(maps, DARK)
    slot, row = np.nonzero(maps >= 0)
    works = even[row, slot] & odd[maps[slot, row], slot]
    all_maps[slot[works], row[works]] = maps[slot[works], row[works]]
    return all_maps


def _most_circuits(demand: Ints, placed: Ints, old: Ints, even: np.ndarray, odd: np.ndarray) -> Ints:
    """Return maps of `allocate_most`, or `placed` if the integer program is too large or too slow."""
    if np.count_nonzero(demand) * len(old) > _MAX_UNKNOWNS:
        return placed
    try:
        return allocate_most(demand, old, (even, odd), nodes=_MAX_NODES)
    except PlanError:  # no optimum is proven within the limit
        return placed
