# SPDX-License-Identifier: Apache-2.0
"""Senders and receivers, times of iterations, and placement of jobs."""

import numpy as np
import pytest

from controller.jobs.job import iteration_seconds
from harness.errors import ModelError
from papers.flow_level.workload.jobs import SERVER, Job, Phase, experts, gradients, pipeline
from papers.flow_level.workload.placement import POLICIES, Cluster, Placement

SMALL = Cluster(2, 3, 16)


@pytest.mark.parametrize(("servers", "stages"), [(2, 1), (8, 1), (8, 4), (16, 2), (6, 3)])
def test_gradients_go_round_rings_that_load_both_ways_alike(servers: int, stages: int) -> None:
    pairs = gradients(servers, stages)
    # Every NPU sends one flow and receives one, to an NPU of its number.
    assert sorted(pairs[:, 0]) == sorted(pairs[:, 1]) == list(range(servers * SERVER))
    assert (pairs[:, 0] % SERVER == pairs[:, 1] % SERVER).all()
    between = np.zeros((servers, servers), int)
    np.add.at(between, (pairs[:, 0] // SERVER, pairs[:, 1] // SERVER), 1)
    assert (between == between.T).all()
    # As many rings as stages, and each is one: following it comes back after all of its servers.
    following = dict(pairs.tolist())
    rank, seen = 0, []
    while rank not in seen:
        seen.append(rank)
        rank = following[rank]
    assert len(seen) == servers // stages


def test_a_stage_alone_has_no_gradients_to_send() -> None:
    assert len(gradients(4, 4)) == 0


def test_rounds_of_experts_reach_everybody_of_the_group_once() -> None:
    reached = {tuple(pair) for shift in (1, 2, 3) for pair in experts(8, 4, shift).tolist()}
    servers = {(a // SERVER, b // SERVER) for a, b in reached}
    assert servers == {(a, b) for a in range(8) for b in range(8) if a != b and a // 4 == b // 4}
    assert len(reached) == 3 * 8 * SERVER


def test_stages_send_to_the_next_which_is_close_by() -> None:
    pairs = pipeline(8, 4) // SERVER
    assert {tuple(sorted(pair)) for pair in pairs.tolist()} == {(n, n + 1) for n in (0, 1, 2, 4, 5, 6)}
    assert len(pairs) == 6 * SERVER


@pytest.mark.parametrize(
    ("compute", "sending", "overlap", "whole"),
    [(3, 2, 0, 5), (3, 2, 0.5, 3.5), (3, 2, 1, 3), (1, 2, 1, 2), (3, 0, 0.2, 3)],
)
def test_overlap_hides_what_is_sent_before_the_arithmetic_ends(
    compute: float, sending: float, overlap: float, whole: float
) -> None:
    assert iteration_seconds(compute, sending, overlap) == pytest.approx(whole)


def test_a_job_alone_takes_its_iterations_one_after_the_other() -> None:
    job = Job("a", 16, 0.0, 4, 1.5, (Phase("gradients", 0.5, gradients(2, 1)),))
    assert job.alone == pytest.approx(8.0)
    with pytest.raises(ModelError, match="job b cannot have 0 NPUs"):
        Job("b", 0, 0.0, 1, 1.0)


def taken(placement: Placement, npus: int, unit: int = SERVER) -> np.ndarray:
    place = placement.take(npus, unit)
    assert place is not None
    return place


@pytest.mark.parametrize("policy", POLICIES)
def test_nobody_gets_what_is_taken_and_all_comes_back(policy: str) -> None:
    rng = np.random.default_rng(3)
    placement = Placement(SMALL, policy, seed=1)
    held: list[np.ndarray] = []
    for _ in range(300):
        if held and rng.random() < 0.5:
            placement.give_back(held.pop(int(rng.integers(len(held)))))
            continue
        place = placement.take(int(rng.choice([1, 2, 4, 8, 16, 32])))
        if place is not None:
            held.append(place)
        every = np.concatenate(held) if held else np.zeros(0)
        assert len(set(every.tolist())) == len(every)
        assert placement.free == SMALL.size - len(every)
    for place in held:
        placement.give_back(place)
    assert len(taken(placement, SMALL.size)) == SMALL.size


def test_packed_takes_the_tightest_leaf_then_one_pod() -> None:
    placement = Placement(SMALL)
    first = taken(placement, 8)
    assert set(SMALL.leaf_of(first)) == {0}
    # The rest of leaf 0 fits, and fits best.
    assert set(SMALL.leaf_of(taken(placement, 8))) == {0}
    # Two leaves: of the Pod with less room, which still has two.
    assert set(SMALL.leaf_of(taken(placement, 32))) == {1, 2}
    wide = taken(placement, 48)
    assert set(SMALL.leaf_of(wide)) == {3, 4, 5}
    assert placement.take(8) is None
    placement.give_back(first)
    assert set(SMALL.leaf_of(taken(placement, 8))) == {0}


def test_blocks_stay_in_a_pod() -> None:
    cluster = Cluster(2, 3, 8)
    placement = Placement(cluster)
    assert placement.take(32, 32) is None
    place = taken(placement, 32, 16)
    assert np.bincount(place // 24).tolist() == [16, 16]


def test_parts_of_servers_fill_up_before_another_is_broken() -> None:
    placement = Placement(SMALL)
    places = [taken(placement, 4), taken(placement, 2), taken(placement, 2), taken(placement, 4)]
    assert [int(place[0]) // SERVER for place in places] == [0, 0, 0, 1]
    placement.give_back(places[1])
    assert set(taken(placement, 2)) == set(places[1])


def test_random_goes_anywhere_and_first_fit_does_not() -> None:
    spread = np.unique(SMALL.leaf_of(taken(Placement(SMALL, "random", seed=2), 48)))
    first = np.unique(SMALL.leaf_of(taken(Placement(SMALL, "first-fit"), 48)))
    assert len(spread) > 3
    assert first.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("npus", "words"), [(97, "cluster of 96"), (12, "whole servers")])
def test_what_no_cluster_could_hold_is_refused(npus: int, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        Placement(SMALL).take(npus)


def test_names_of_policies_are_told() -> None:
    with pytest.raises(ModelError, match="take packed, first-fit, random"):
        Placement(SMALL, "tidy")
