# SPDX-License-Identifier: Apache-2.0
"""Demands between Pods realised by cross wiring, and how little moves when they change."""

import math

import numpy as np
import pytest

from controller import PlanError
from controller.circuits import (
    CircuitPlan,
    Moves,
    allocate,
    allocate_by_spine,
    check_l2,
    check_maps,
    symmetric_split,
)
from controller.circuits.allocation import Method
from controller.circuits.flow import Ints
from papers.lumoscore.load import Trace
from tests.controller.circuits.demands import feasible, full


def check_plan(plan: CircuitPlan, demand: Ints, shape: tuple[int, int, int], within: int = 2) -> None:
    """All of it, on ports that exist, spread over the spines, and every port hears whom it talks to."""
    check_maps(plan.maps, shape)
    check_l2(plan.maps)
    assert (plan.counts == plan.counts.transpose(0, 2, 1)).all()
    assert (plan.counts.sum(axis=0) == demand).all()
    assert 2 * plan.total == demand.sum()
    assert (np.abs(plan.counts * shape[0] - demand) < within * shape[0]).all()


def test_every_feasible_demand_is_realised_whole() -> None:
    rng = np.random.default_rng(13)
    for at in range(320):
        pods, spines, ports = int(rng.integers(2, 14)), int(rng.integers(1, 6)), 2 * int(rng.integers(1, 7))
        make = full if at % 2 and pods > 2 else feasible
        demand = make(rng, pods, spines * ports)
        check_plan(allocate(demand, spines, ports), demand, (spines, ports // 2, pods))


@pytest.mark.parametrize("method", ["flow", "scratch", "greedy", "exact"])
def test_a_change_of_everything_is_realised_whole(method: Method) -> None:
    rng = np.random.default_rng(17)
    for _ in range(4 if method == "exact" else 40):
        pods, spines, ports = int(rng.integers(2, 9)), int(rng.integers(1, 5)), 2 * int(rng.integers(1, 5))
        before = allocate(full(rng, pods, spines * ports), spines, ports)
        demand = full(rng, pods, spines * ports)
        plan = allocate(demand, spines, ports, before, method, seconds=math.inf)
        check_plan(plan, demand, (spines, ports // 2, pods))
        assert plan.moves.removed + plan.moves.kept == before.total


def test_one_job_less_moves_nothing_else() -> None:
    for seed in range(6):
        trace = Trace(12, 32, seed)
        plan = allocate(trace.demand, 4, 8)
        assert allocate(trace.demand, 4, 8, plan).moves == Moves(0, 0, plan.total)
        job = np.zeros_like(trace.demand)
        i, j = np.argwhere(trace.demand)[0]
        job[i, j] = job[j, i] = 1
        assert allocate(trace.demand - job, 4, 8, plan).moves == Moves(1, 0, plan.total - 1)


def test_reconfigurations_are_close_to_the_fewest() -> None:
    """Over the exact optimum; `python -m bench.circuits` has more of them, and how they are distributed."""
    ratios = []
    for pods, spines, ports in ((4, 2, 4), (6, 2, 8), (8, 4, 4), (12, 2, 8), (16, 2, 8)):
        for seed in range(5):
            trace = Trace(pods, spines * ports, seed)
            plan = allocate(trace.demand, spines, ports)
            for _ in range(2):
                plan = allocate(trace.change(), spines, ports, plan)
            demand = trace.change()
            best = allocate(demand, spines, ports, plan, "exact", seconds=math.inf).moves.added
            ours = allocate(demand, spines, ports, plan).moves.added
            assert ours >= best >= np.maximum(demand - plan.counts.sum(axis=0), 0).sum() // 2
            ratios.append(ours / best if best else 1.0 + ours)
    assert np.mean(ratios) <= 1.2


def test_few_move_in_a_large_cluster() -> None:
    trace = Trace(64, 128, 1)
    plan = allocate(trace.demand, 8, 16)
    created = least = 0
    demand = trace.demand
    for _ in range(5):
        demand = trace.change()
        least += int(np.maximum(demand - plan.counts.sum(axis=0), 0).sum()) // 2
        plan = allocate(demand, 8, 16, plan)
        check_plan(plan, demand, (8, 8, 64))
        created += plan.moves.added
    assert least <= created <= 2 * least + 20
    assert allocate(demand, 8, 16, plan, "scratch").moves.added > 10 * created


def test_pairs_that_do_not_work_stay_dark() -> None:
    rng = np.random.default_rng(19)
    for _ in range(30):
        spines, pairs = int(rng.integers(2, 6)), int(rng.integers(1, 5))
        working = rng.random((spines, pairs)) < 0.7
        working[0, 0] = True
        before = allocate(feasible(rng, 7, 2 * spines * pairs), spines, 2 * pairs)
        demand = feasible(rng, 7, 2 * int(working.sum()))
        for standing in (None, before):
            plan = allocate(demand, spines, 2 * pairs, standing, working=working)
            check_maps(plan.maps, (spines, pairs, 7))
            assert (plan.counts.sum(axis=0) == demand).all()
            assert (plan.maps[~working] == -1).all()
            share = working.sum(axis=1) / working.sum()
            assert (np.abs(plan.counts - demand * share[:, None, None]) < 4).all()
    lost = np.ones((2, 2), bool)
    lost[1] = False
    with pytest.raises(
        PlanError,
        match="Pod 0 asks for 5 circuits, but has 4 ports to optical switches; lower row 0 by 1, and 1",
    ):
        allocate(np.array([[0, 5], [5, 0]]), 2, 4, working=lost)


def test_a_demand_that_says_which_spine_gets_what_it_says() -> None:
    rng = np.random.default_rng(23)
    for _ in range(30):
        spines, pairs, pods = int(rng.integers(1, 5)), int(rng.integers(1, 6)), int(rng.integers(2, 10))
        counts = np.array([feasible(rng, pods, 2 * pairs) for _ in range(spines)])
        plan = allocate_by_spine(counts, 2 * pairs)
        assert (plan.counts == counts).all()
        other = counts.copy()
        other[0] = feasible(rng, pods, 2 * pairs)
        after = allocate_by_spine(other, 2 * pairs, plan)
        check_maps(after.maps, (spines, pairs, pods))
        assert (after.counts == other).all()
        assert (after.maps[1:] == plan.maps[1:]).all()
    with pytest.raises(
        PlanError,
        match="spine 1: Pod 0 asks for 3 circuits, but has 2 ports to optical switches; lower row 0 by",
    ):
        allocate_by_spine(np.array([[[0, 2], [2, 0]], [[0, 3], [3, 0]]]), 2)


def test_what_is_no_fabric_is_refused() -> None:
    with pytest.raises(PlanError, match="ports in pairs"):
        allocate(np.zeros((2, 2), int), 2, 3)
    with pytest.raises(PlanError, match=r"the demand has shape \(\), but must be a square matrix"):
        allocate(np.array(4), 2, 4)
    with pytest.raises(
        PlanError, match=r"the working pairs have shape \(2, 4\); give an array of shape \(2, 2\)"
    ):
        allocate(np.zeros((2, 2), int), 2, 4, working=np.ones((2, 4), bool))
    other = allocate(np.zeros((3, 3), int), 2, 4)
    with pytest.raises(
        PlanError, match=r"the maps have shape \(2, 2, 3\); give an array of shape \(2, 2, 2\)"
    ):
        allocate(np.zeros((2, 2), int), 2, 4, other)
    with pytest.raises(PlanError, match="needs all 4 pairs to work, but 2 do"):
        allocate(np.zeros((2, 2), int), 2, 4, method="exact", working=np.eye(2, dtype=bool))


def test_a_plan_cannot_be_written_to() -> None:
    plan = allocate(symmetric_split(np.zeros((2, 2), int)), 1, 2)
    with pytest.raises(ValueError, match="read-only"):
        plan.maps[0, 0, 0] = 1
