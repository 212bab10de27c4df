# SPDX-License-Identifier: Apache-2.0
"""Crux and what it is compared with, behind one interface."""

import numpy as np
import pytest

from controller.errors import PlanError
from controller.jobs import SCHEDULERS, Schedule, best_schedule, hash_paths, intensity, utilisation
from controller.jobs.optimal import horizon
from controller.jobs.schedulers import bottleneck_order, levels_by_rank
from controller.jobs.shifts import interleaving_shifts
from tests.controller.jobs.fabrics import RATES, drawn, fork, wire


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_schedule_has_a_path_for_each_flow_and_is_the_same_again(name: str) -> None:
    jobs = drawn(np.random.default_rng(7), 9, 4)
    result = SCHEDULERS[name](jobs, RATES, 8, 1)
    again = SCHEDULERS[name](jobs, RATES, 8, 1)
    for job, choice, other in zip(jobs, result.choices, again.choices, strict=True):
        assert job.candidates[np.arange(len(choice)), choice].all()
        assert choice.tolist() == other.tolist()
    assert result.levels.tolist() == again.levels.tolist()
    assert result.levels.max() < (8 if name not in ("crux-pa", "crux-ps-pa") else 9)
    assert SCHEDULERS[name]([], RATES, 8, 1).choices == ()


def test_the_order_by_bottlenecks() -> None:
    """On link 0, of 6 s, the job of 3 goes last; then link 1 is the busiest, and so on."""
    jobs = [wire("a", 8, 1.0, 1.0), wire("b", 8, 1.0, 2.0), wire("c", 8, 1.0, 3.0)]
    choices = [np.array([0])] * 3
    assert bottleneck_order(jobs, choices, RATES).tolist() == [0, 1, 2]
    jobs += [wire("d", 8, 1.0, 2.5, link=1), wire("e", 8, 1.0, 1.5, link=1)]
    assert bottleneck_order(jobs, [np.array([0])] * 5, RATES).tolist() == [0, 4, 1, 3, 2]
    assert levels_by_rank(np.array([2, 0, 1]), 2).tolist() == [1, 1, 0]


def test_what_goes_farther_goes_first() -> None:
    jobs = [wire("near", 8, 1.0, 1.0), fork("far", 8, 1.0, 1.0)]
    assert SCHEDULERS["topology-aware"](jobs, RATES, 8, 0).levels.tolist() == [1, 0]


def test_jobs_of_one_length_send_in_turns() -> None:
    """Each sends for half of the time; one half iteration apart both run as if alone."""
    jobs = [wire("a", 8, 1.0, 1.0), wire("b", 8, 1.0, 1.0), wire("c", 8, 1.18, 1.0)]
    result = SCHEDULERS["interleave"](jobs, RATES, 8, 0)
    assert result.groups.tolist() == [0, 0, -1]
    assert abs(result.shifts[0] - result.shifts[1]) == pytest.approx(1.0)
    pair = Schedule(
        result.choices[:2], result.levels[:2], result.groups[:2], result.turns[:2], result.shifts[:2]
    )
    assert utilisation(jobs[:2], pair, RATES, 200) == pytest.approx(0.5, abs=0.01)


def test_a_job_of_half_the_length_goes_round_twice() -> None:
    jobs = [wire("a", 8, 1.5, 0.5), wire("b", 8, 0.75, 0.25), wire("elsewhere", 8, 1.5, 0.5, link=3)]
    groups, turns, shifts = interleaving_shifts(jobs, [np.array([0])] * 3, RATES)
    assert groups.tolist() == [0, 0, -1]
    assert turns.tolist() == [1, 2, 1]
    result = Schedule((np.array([0]),) * 2, np.zeros(2, np.int64), groups[:2], turns[:2], shifts[:2])
    assert utilisation(jobs[:2], result, RATES, 400) == pytest.approx(0.75, abs=0.01)


def test_crux_comes_near_the_optimum_and_goes_before_the_hash() -> None:
    rng = np.random.default_rng(11)
    shares, better = [], 0
    for _ in range(3):
        jobs = drawn(rng, 3)
        seconds = horizon(jobs, RATES, 8)
        of = {
            name: utilisation(jobs, SCHEDULERS[name](jobs, RATES, 2, 0), RATES, seconds)
            for name in ("none", "crux")
        }
        shares.append(of["crux"] / utilisation(jobs, best_schedule(jobs, RATES, 2), RATES, seconds))
        better += of["crux"] >= of["none"]
    assert np.mean(shares) >= 0.97
    assert better >= 2


def test_a_large_job_is_not_slowed_by_a_small_one() -> None:
    jobs = [wire("small", 8, 0.3, 0.6), wire("large", 512, 1.0, 0.5)]
    result = SCHEDULERS["crux"](jobs, RATES, 8, 0)
    assert result.levels.tolist() == [1, 0]
    assert intensity(jobs[1], hash_paths(jobs[1]), RATES) == 1024


def test_a_link_without_a_rate_is_refused() -> None:
    with pytest.raises(PlanError, match="link 2"):
        SCHEDULERS["crux"]([wire("a", 8, 1.0, 1.0)], np.array([1.0, 1.0, 0.0]), 8, 0)
