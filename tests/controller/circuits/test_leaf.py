# SPDX-License-Identifier: Apache-2.0
"""Links from leaves to spines, where leaves are looked at and where they are not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller import PlanError
from controller.circuits import (
    allocate,
    allocate_by_spine,
    leaf_plan,
    leaf_spine_load,
    leaf_split,
    pod_centric_split,
    pod_demand,
    saturate_demand,
)
from tests.controller.circuits.demands import feasible, full


@given(st.integers(2, 10), st.integers(1, 5), st.sampled_from([2, 4]), st.integers(0, 2**32 - 1))
def test_no_link_is_overloaded_by_any_legal_demand(leaves: int, spines: int, tau: int, seed: int) -> None:
    demand = feasible(np.random.default_rng(seed), leaves, spines * tau)
    for load in (demand, saturate_demand(demand, spines * tau)):
        split = leaf_split(load, spines, tau)
        assert (split.sum(axis=0) == load).all()
        assert (split == split.transpose(0, 2, 1)).all()
        assert leaf_spine_load(split).max(initial=0) <= tau


def test_one_link_a_spine_is_overloaded_by_one_at_most() -> None:
    rng = np.random.default_rng(1)
    worst = [leaf_spine_load(leaf_split(full(rng, 7, 6), 6, 1)).max() for _ in range(30)]
    assert max(worst) == 2


def test_pods_alone_polarise_where_leaves_do_not() -> None:
    """Two Pods of two leaves, two spines, tau 2: each leaf wants all four of its links to one other leaf."""
    demand = np.zeros((4, 4), int)
    demand[[0, 1, 2, 3], [2, 3, 0, 1]] = 4
    counts = allocate(pod_demand(demand, 2), 2, 4).counts
    assert counts[:, 0, 1].tolist() == [4, 4]
    by_pod = pod_centric_split(demand, 2, counts)
    assert (by_pod.sum(axis=0) == demand).all()
    assert (pod_demand(by_pod, 2) == counts).all()
    assert leaf_spine_load(by_pod).max() == 4  # on two links
    assert leaf_spine_load(leaf_split(demand, 2, 2)).max() == 2


def test_hashing_overloads_links_of_most_full_demands() -> None:
    rng = np.random.default_rng(37)
    over = 0
    for _ in range(20):
        demand = full(rng, 12, 8)  # three leaves a Pod, four spines, tau 2
        counts = allocate(pod_demand(demand, 3), 4, 6).counts
        by_pod = pod_centric_split(demand, 3, counts, rng)
        assert (by_pod.sum(axis=0) == demand).all()
        over += leaf_spine_load(by_pod).max() > 2
        split = leaf_split(demand, 4, 2)
        assert leaf_spine_load(split).max() <= 2
        assert (allocate_by_spine(pod_demand(split, 3), 6).counts == pod_demand(split, 3)).all()
    assert over > 10


def test_a_plan_of_leaves_moves_little_and_keeps_the_bound() -> None:
    rng = np.random.default_rng(41)
    demand = feasible(rng, 16, 8)
    plan = leaf_plan(demand, 4, 2)
    for _ in range(10):
        i, j = np.argwhere(np.triu(demand))[rng.integers(np.count_nonzero(np.triu(demand)))]
        demand = demand.copy()
        demand[i, j] -= 1
        demand[j, i] -= 1
        after = leaf_plan(demand, 4, 2, plan)
        assert (after.moves.removed, after.moves.added) == (1, 0)
        assert leaf_spine_load(after.counts).max() <= 2
        plan = after


def test_a_leaf_that_wants_too_much_is_named() -> None:
    demand = np.array([[0, 5], [5, 0]])
    with pytest.raises(PlanError, match="leaf 0 asks for 5 circuits, but has 4 links to spines"):
        leaf_split(demand, 2, 2)
    with pytest.raises(PlanError, match="even number of links of a leaf to a spine, 2 or more; got 1"):
        leaf_plan(demand, 8, 1)
    with pytest.raises(PlanError, match="5 flows between Pods 0 and 1 have 4 circuits"):
        pod_centric_split(demand, 1, np.array([[[0, 4], [4, 0]]]))
