# SPDX-License-Identifier: Apache-2.0
"""Paths, priorities and levels: what each step promises, and how near it comes to the best."""

import numpy as np
import pytest

from controller.errors import PlanError
from controller.jobs import (
    Job,
    JobProfile,
    best_cut,
    best_schedule,
    bottleneck_seconds,
    compress,
    contention,
    correction,
    corrections,
    cut_weight,
    has_inversion,
    hash_paths,
    intensity,
    least_congested,
    priorities,
    ranking,
)
from controller.jobs.priority import LIMITS, priority_gains, reference_job
from tests.controller.jobs.fabrics import RATES, drawn, fork, wire


def shared(choices: tuple[np.ndarray, ...], jobs: list[Job], item: int, other: int) -> bool:
    links = [set(job.paths[0][int(choice[0])].tolist()) for job, choice in zip(jobs, choices, strict=True)]
    return bool(links[item] & links[other])


def test_the_most_intensive_never_meet_while_there_are_paths_apart() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        ways = int(rng.integers(2, 5))
        jobs = drawn(rng, 6, ways)
        value = [intensity(job, np.zeros(1, np.int64), RATES) for job in jobs]
        order = ranking(np.array(value))
        choices = least_congested(jobs, order.tolist(), RATES)
        first = order[:ways].tolist()
        assert not any(shared(choices, jobs, a, b) for a in first for b in first if a != b)


def test_flows_of_one_job_spread_over_all_paths_and_so_do_those_with_common_links() -> None:
    (choice,) = least_congested([fork("a", 8, 1.0, 1.0, ways=4, flows=8)], [0], RATES)
    assert np.bincount(choice).tolist() == [2, 2, 2, 2]
    # Four paths over two links up and two down.
    paths = np.array([[[up, 4 + down] for up in range(2) for down in range(2)]] * 4)
    (choice,) = least_congested([Job("a", 8, 1.0, np.ones(4), paths)], [0], RATES)
    assert bottleneck_seconds(Job("a", 8, 1.0, np.ones(4), paths), choice, RATES) == 2


@pytest.mark.parametrize("order", [[], [1], [0, 0], [0, 1, 2]])
def test_every_job_chooses_once(order: list[int]) -> None:
    jobs = [fork(name, 8, 1.0, 1.0, ways=2, flows=2) for name in ("a", "b")]
    with pytest.raises(PlanError, match="expected each of the 2 jobs once; give a permutation"):
        least_congested(jobs, order, RATES)


def test_without_jobs_there_is_no_best_schedule() -> None:
    with pytest.raises(PlanError, match="no job to schedule; give one or more jobs"):
        best_schedule([], RATES)


def test_a_hash_is_the_same_again_and_takes_paths_only() -> None:
    job = fork("a", 8, 1.0, 1.0, ways=4, flows=50)
    job = Job("a", 8, 1.0, job.amounts, np.where(np.arange(4)[None, :, None] < 3, job.paths, -1))
    taken = hash_paths(job, 1)
    assert set(taken.tolist()) == {0, 1, 2}
    assert hash_paths(job, 1).tolist() == taken.tolist()
    assert hash_paths(job, 2).tolist() != taken.tolist()


def test_the_papers_correction() -> None:
    """Figure 11: by going first the longer job gains 2 s of sending in 12 s, the shorter 3 s, so k is 1.5."""
    longer, shorter = JobProfile(2.0, {0: 2.0}), JobProfile(1.0, {0: 1.0})
    assert priority_gains(shorter, longer, 12.0) == (3, 2)
    assert correction(shorter, longer) == pytest.approx(1.5)


@pytest.mark.parametrize("times", [1.5, 2.0, 3.0, 5.0])
def test_of_equal_intensity_the_shorter_goes_first(times: float) -> None:
    jobs = [wire("long", 8, times, times), wire("short", 8, 1.0, 1.0)]
    value, intensities = priorities(jobs, (np.array([0]), np.array([0])), RATES)
    assert intensities[0] == intensities[1]
    assert value[1] > value[0]


def test_of_equal_intensity_what_is_hidden_goes_last() -> None:
    """Figure 12: the first job's sending is hidden in its computation, the second's is not."""
    jobs = [
        Job("1", 2, 4.0, np.array([1.0]), np.array([[[0]]]), 0.5, work=10.0),
        Job("2", 12, 2.0, np.array([3.0]), np.array([[[0]]]), 0.5, work=30.0),
    ]
    choices = (np.array([0]), np.array([0]))
    assert reference_job(jobs, choices, RATES) == 1
    value, intensities = priorities(jobs, choices, RATES)
    assert intensities[0] == intensities[1]
    assert value[1] > value[0]


def test_corrections_stay_in_their_limits_and_the_reference_has_none() -> None:
    rng = np.random.default_rng(1)
    jobs = drawn(rng, 8)
    choices = tuple(np.zeros(1, np.int64) for _ in jobs)
    result = corrections(jobs, choices, RATES)
    assert result[reference_job(jobs, choices, RATES)] == 1
    assert ((result >= LIMITS[0]) & (result <= LIMITS[1])).all()
    # Two that never meet for long lose nothing to each other.
    assert correction(JobProfile(1.0, {0: 0.0}), JobProfile(1.0, {0: 0.5})) == 1


def graph(rng: np.random.Generator, number: int) -> np.ndarray:
    links = 6
    uses = rng.random((number, links)) < 0.35
    return contention(uses, rng.permutation(number), rng.uniform(0.1, 10, number))


def test_compression_inverts_no_edge_and_is_near_the_best() -> None:
    rng = np.random.default_rng(5)
    shares = []
    for _ in range(60):
        weights = graph(rng, int(rng.integers(2, 8)))
        levels = int(rng.integers(1, 4))
        result = compress(weights, levels)
        assert not has_inversion(weights, result)
        assert result.max(initial=0) < levels
        most = cut_weight(weights, best_cut(weights, levels))
        assert cut_weight(weights, result) <= most + 1e-9
        shares.append(cut_weight(weights, result) / most if most else 1.0)
    assert min(shares) >= 0.97


def test_the_papers_example_of_compression() -> None:
    """Figure 13: jobs 1 and 2 share a link, 3 and 4 another: two levels lose nothing."""
    uses = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], bool)
    weights = contention(uses, np.arange(4), np.array([4.0, 3.0, 2.0, 1.0]))
    assert weights.sum() == 6
    assert cut_weight(weights, compress(weights, 2)) == 6
    assert cut_weight(weights, np.array([0, 1, 1, 1])) == 4  # the first alone, as Sincronia has it


def test_with_a_level_each_all_is_cut_and_a_cycle_is_refused() -> None:
    weights = graph(np.random.default_rng(2), 12)
    assert cut_weight(weights, compress(weights, 12)) == pytest.approx(weights.sum())
    assert compress(np.zeros((3, 3)), 1).tolist() == [0, 0, 0]
    assert compress(np.zeros((0, 0)), 2).tolist() == []
    with pytest.raises(PlanError, match="before another"):
        compress(np.array([[0.0, 1.0], [1.0, 0.0]]), 2)
    with pytest.raises(PlanError, match="0 levels"):
        compress(weights, 0)


def test_the_optimum_puts_apart_what_can_be_and_is_for_few() -> None:
    jobs = [fork("a", 64, 0.5, 1.5), fork("b", 64, 0.5, 1.5)]
    result = best_schedule(jobs, RATES, 2)
    assert not shared(result.choices, jobs, 0, 1)
    with pytest.raises(PlanError, match="schedules to try"):
        best_schedule(drawn(np.random.default_rng(0), 9, 4), RATES, 4)
