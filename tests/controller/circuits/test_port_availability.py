# SPDX-License-Identifier: Apache-2.0
"""Demands on what ports that fail leave: whole where that can be, and fairly where it cannot."""

import numpy as np
import pytest

from controller import PlanError
from controller.circuits import (
    CircuitPlan,
    allocate,
    allocate_available,
    check_l2,
    check_maps,
    fill_unused_ports,
)
from controller.circuits.demand import trim_demand
from controller.circuits.flow import Ints
from tests.controller.circuits.demands import feasible, full


def works(plan: CircuitPlan, working: np.ndarray) -> bool:
    """Return whether every circuit ends at working ports."""
    return all(
        bool(working[h, k, i, 0] and working[h, k, plan.maps[h, k, i], 1])
        for h, k, i in np.argwhere(plan.maps >= 0)
    )


def standing(rng: np.random.Generator, pods: int, spines: int, ports: int) -> CircuitPlan:
    return fill_unused_ports(allocate(feasible(rng, pods, spines * ports), spines, ports))


def test_what_pods_have_no_ports_for_is_given_up_where_most_is_left() -> None:
    demand = np.array([[0, 6, 2], [6, 0, 2], [2, 2, 0]])
    left = trim_demand(demand, np.array([5, 8, 8]), demand)
    assert left.tolist() == [[0, 3, 2], [3, 0, 2], [2, 2, 0]]
    # By what they are worth: the circuits of the third Pod carry next to nothing.
    worth = np.array([[0, 100, 1], [100, 0, 1], [1, 1, 0]])
    assert trim_demand(demand, np.array([5, 8, 8]), worth)[0].tolist() == [0, 4, 1]
    # The last one between two Pods goes last.
    assert trim_demand(demand, np.array([2, 8, 8]), demand)[0].tolist() == [0, 1, 1]
    assert trim_demand(demand, np.array([1, 8, 8]), demand)[0].sum() == 1
    assert trim_demand(demand, np.array([0, 8, 8]), demand)[0].sum() == 0


def test_nearly_all_that_ports_suffice_for_is_realised_whatever_fails() -> None:
    rng = np.random.default_rng(31)
    asked = got = 0
    for draw in range(15):
        pods, spines, ports = int(rng.integers(3, 7)), int(rng.integers(1, 4)), 2 * int(rng.integers(1, 4))
        demand: Ints = (full if draw % 2 else feasible)(rng, pods, spines * ports)
        before = standing(rng, pods, spines, ports)
        working = np.ones((spines, ports // 2, pods, 2), bool)
        match draw % 3:
            case 0:
                working = rng.random(working.shape) < 0.95
            case 1:
                working[0, :, int(rng.integers(pods))] = False  # a spine
            case _:
                working[0, 0] = False  # an optical switch
        plan = allocate_available(demand, before, working)
        check_maps(plan.maps, before.maps.shape)
        check_l2(plan.maps)
        assert works(plan, working)
        assert (plan.counts.sum(axis=0) <= demand).all()
        fits = trim_demand(demand, working.sum(axis=(0, 1, 3)), demand)
        if draw % 3 == 2:
            assert (plan.counts.sum(axis=0) == fits).all()
        asked, got = asked + int(fits.sum()), got + int(plan.counts.sum())
        lit = fill_unused_ports(plan, before, working=working)
        check_maps(lit.maps, before.maps.shape)
        assert ((lit.maps == plan.maps) | (plan.maps < 0)).all()
        # What does not work is joined as it was, or not at all.
        new = (lit.maps >= 0) & (lit.maps != before.maps)
        assert all(
            working[h, k, i, 0] and working[h, k, lit.maps[h, k, i], 1] for h, k, i in np.argwhere(new)
        )
    assert 0.97 * asked < got <= asked


def test_circuits_between_ports_that_work_stay() -> None:
    """A port of a Pod with others to spare: one circuit is made, and no other moves."""
    demand = np.array([[0, 2, 2], [2, 0, 0], [2, 0, 0]])
    before = allocate(demand, 2, 4)
    h, k, i = np.argwhere(before.maps == 1)[0]
    working = np.ones((2, 2, 3, 2), bool)
    working[h, k, 1, 1] = False
    plan = allocate_available(demand, before, working)
    assert (plan.counts.sum(axis=0) == demand).all()
    assert plan.moves.kept >= before.total - 2
    assert i == 0


def test_dark_ports_keep_the_circuit_that_nobody_else_has_a_use_for() -> None:
    demand = np.array([[0, 2], [2, 0]])
    before = allocate(demand, 1, 2)
    working = np.ones((1, 1, 2, 2), bool)
    working[0, 0, 0, 0] = working[0, 0, 1, 1] = False
    plan = allocate_available(demand, before, working)
    assert plan.total == 1
    assert fill_unused_ports(plan, before, working=working).maps.tolist() == before.maps.tolist()


def test_what_is_too_much_even_if_all_worked_is_refused() -> None:
    before = allocate(np.zeros((2, 2), int), 1, 2)
    with pytest.raises(
        PlanError,
        match="Pod 0 asks for 3 circuits, but has 2 ports to optical switches; lower row 0 by 1, and 1",
    ):
        allocate_available(np.array([[0, 3], [3, 0]]), before, np.ones((1, 1, 2, 2), bool))
    with pytest.raises(PlanError, match="the working ports have shape"):
        allocate_available(np.zeros((2, 2), int), before, np.ones((1, 1), bool))
