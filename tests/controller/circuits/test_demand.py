# SPDX-License-Identifier: Apache-2.0
"""Valid demands, and ports that no demand uses."""

from typing import Any

import numpy as np
import pytest

from controller import PlanError
from controller.circuits import (
    allocate,
    check_demand,
    check_l2,
    check_maps,
    fill_unused_ports,
    pod_demand,
    saturate_demand,
)
from tests.controller.circuits.demands import feasible

LINE = np.array([[0, 3, 0], [3, 0, 2], [0, 2, 0]])


def test_the_largest_row_that_is_too_large_is_named() -> None:
    check_demand(LINE, 5)
    with pytest.raises(PlanError, match=r"Pod 1 asks for 5 circuits, but has 4 .*lower row 1 by 1"):
        check_demand(LINE, 4)
    with pytest.raises(PlanError, match=r"Pod 1 asks for 5 .*lower row 1 by 3, and 1 other row too"):
        check_demand(LINE, 2)


def test_demands_that_cannot_be_are_refused() -> None:
    cases: list[tuple[Any, str]] = [
        (
            LINE + np.triu(LINE),
            "the demand is 6 circuits from Pod 0 to Pod 1, but 3 back; ask for the same number in both",
        ),
        (LINE - 3, "is -3"),
        (
            LINE + np.eye(3, dtype=int),
            "Pod 0 asks for 1 circuits to itself; set the diagonal to zero: traffic inside a Pod needs",
        ),
        (LINE[:2], "a row and a column"),
        (LINE / 2, "whole numbers"),
    ]
    for wrong, words in cases:
        with pytest.raises(PlanError, match=words):
            check_demand(wrong, 99)


def test_spare_ports_are_filled_evenly_and_as_many_as_can_be() -> None:
    even = saturate_demand(np.zeros((5, 5), int), 8)
    assert (even == 2 * (1 - np.eye(5))).all()
    rng = np.random.default_rng(2)
    for _ in range(100):
        ports = int(rng.integers(1, 20))
        demand = feasible(rng, int(rng.integers(2, 12)), ports)
        filled = saturate_demand(demand, ports)
        check_demand(filled, ports)
        assert (filled >= demand).all()
        before, after = (np.sort(ports - item.sum(axis=1)) for item in (demand, filled))
        largest, rest = before[-1], before[:-1].sum()
        assert after.sum() == max(before.sum() % 2, largest - rest)


def test_what_stays_in_a_pod_asks_for_no_circuit() -> None:
    leaves = np.array([[0, 4, 1, 0], [4, 0, 0, 2], [1, 0, 0, 3], [0, 2, 3, 0]])
    assert pod_demand(leaves, 2).tolist() == [[0, 3], [3, 0]]
    assert pod_demand(np.stack([leaves, 2 * leaves]), 2)[1].tolist() == [[0, 6], [6, 0]]


def test_dark_ports_are_lit_and_what_was_lit_stays_unless_it_is_in_the_way() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        pods, spines, ports = int(rng.integers(2, 10)), int(rng.integers(1, 4)), 2 * int(rng.integers(1, 5))
        plan = allocate(feasible(rng, pods, spines * ports), spines, ports)
        lit = fill_unused_ports(plan)
        check_maps(lit.maps, plan.maps.shape)
        check_l2(lit.maps)
        assert (lit.maps[plan.maps >= 0] == plan.maps[plan.maps >= 0]).all()
        dark = (lit.maps < 0).sum(axis=2)
        assert dark.max() <= 1  # a Pod whose two ports were left
        assert fill_unused_ports(plan, lit).moves.added == 0
        other = allocate(feasible(rng, pods, spines * ports), spines, ports, plan)
        after = fill_unused_ports(other, lit)
        check_maps(after.maps, plan.maps.shape)
        assert (after.maps[other.maps >= 0] == other.maps[other.maps >= 0]).all()
        assert after.moves.kept >= other.moves.kept
