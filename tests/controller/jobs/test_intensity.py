# SPDX-License-Identifier: Apache-2.0
"""W, t and I on cases done by hand; Theorem 1; what a job of the timeline gets done."""

import numpy as np
import pytest

from controller.errors import PlanError
from controller.jobs import (
    Job,
    JobProfile,
    Schedule,
    bottleneck_seconds,
    intensity,
    link_loads,
    simulate,
    utilisation,
)
from tests.controller.jobs.fabrics import RATES, fork, wire


def test_traffic_by_link_and_the_slowest_of_them() -> None:
    """Two flows of 3 and 1 over link 0, of which the second goes on over link 2, at 2 a second."""
    job = Job("a", 16, 4.0, np.array([3.0, 1.0]), np.array([[[0, -1], [1, -1]], [[0, 2], [1, 2]]]))
    rates = np.array([1.0, 1.0, 0.25])
    together, apart = np.array([0, 0]), np.array([0, 1])
    assert link_loads(job, together, 3).tolist() == [4, 0, 1]
    assert link_loads(job, apart, 3).tolist() == [3, 1, 1]
    assert bottleneck_seconds(job, together, rates) == 4
    assert bottleneck_seconds(job, apart, rates) == 4  # link 2: 1 at a quarter a second
    assert bottleneck_seconds(job, apart, np.ones(3)) == 3
    assert intensity(job, together, np.ones(3)) == 64 / 4
    assert intensity(job, apart, np.ones(3)) == 64 / 3


def test_work_in_flop_and_jobs_that_send_nothing() -> None:
    job = Job("a", 10, 2.0, np.array([2.0]), np.array([[[0]]]), work=10e9)
    assert intensity(job, np.array([0]), RATES) == 5e9
    silent = Job("b", 8, 1.0, np.zeros(0), np.zeros((0, 1, 1), np.int64))
    assert bottleneck_seconds(silent, np.zeros(0, np.int64), RATES) == 0
    assert intensity(silent, np.zeros(0, np.int64), RATES) == np.inf


@pytest.mark.parametrize("levels", [(0, 1, 2), (2, 1, 0), (0, 0, 0)])
def test_theorem_1_intensity_sent_is_work_done(levels: tuple[int, ...]) -> None:
    """F_T / U_T is within 1 % of 1 after a thousand iterations on one link, whoever goes first."""
    jobs = [JobProfile(2.0, {0: 1.5}), JobProfile(0.7, {0: 0.9}, overlap=0.5), JobProfile(1.1, {0: 0.4})]
    gpus = np.array([64, 8, 32])
    seconds = 1000 * max(job.iteration for job in jobs)
    ran = simulate(jobs, levels, seconds)
    intensities = gpus * [job.compute / job.sending for job in jobs]
    assert intensities @ ran.sent / (gpus @ ran.computed) == pytest.approx(1, abs=0.01)


def test_the_papers_first_example() -> None:
    """Figure 11: 37.5 % of the accelerators' time with the longer job first, 41.7 % with the shorter."""
    jobs = [wire("1", 10, 2.0, 2.0), wire("2", 10, 1.0, 1.0)]
    choices = (np.array([0]), np.array([0]))
    for levels, share in (([0, 1], 0.375), ([1, 0], 5 / 12)):
        schedule = Schedule.of(choices, np.array(levels))
        assert utilisation(jobs, schedule, RATES, 1200) == pytest.approx(share, abs=1e-3)


def test_equal_levels_share_and_an_endless_wait_is_none() -> None:
    """Both want the link from 1 on: each sends its second in two."""
    ran = simulate([JobProfile(1.0, {0: 1.0}), JobProfile(1.0, {0: 1.0})], (0, 0), 3.0)
    assert ran.iterations.tolist() == [1, 1]
    assert ran.sent == pytest.approx([1, 1])
    # The second sends half as much over link 0 as over link 1, and is slowed only there.
    ran = simulate([JobProfile(1.0, {0: 1.0}), JobProfile(1.0, {0: 0.5, 1: 1.0})], (0, 1), 2.0)
    assert ran.sent == pytest.approx([1, 0])
    ran = simulate([JobProfile(1.0, {0: 0.5, 1: 1.0}), JobProfile(1.0, {0: 1.0})], (0, 1), 2.0)
    assert ran.sent == pytest.approx([1, 0.5])


def test_who_begins_late_does_nothing_before() -> None:
    ran = simulate([JobProfile(1.0, {0: 1.0}, start_delay=1.0), JobProfile(1.0, {0: 1.0})], (0, 0), 3.0)
    assert ran.computed.tolist() == [1, 2]
    assert ran.sent.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: wire("a", 0, 1.0, 1.0), "0 GPUs"),
        (lambda: wire("a", 8, 1.0, 1.0, overlap=2.0), "overlap"),
        (lambda: wire("a", 8, 1.0, 1.0, link=-1), "flow 0 has no path"),
        (lambda: Job("a", 8, 1.0, np.ones(2), np.zeros((1, 1, 1), np.int64)), "2 amounts"),
        (lambda: wire("a", 8, 1.0, -1.0), "flow 0 cannot carry -1 bytes"),
        (lambda: simulate([JobProfile(1.0, {})], (0, 0), 1.0), "2 levels were given for 1 jobs"),
        (lambda: simulate([JobProfile(0.0, {})], (0,), 1.0), "iterations of job 0 take 0 s"),
    ],
)
def test_what_cannot_be_is_refused(make: object, told: str) -> None:
    with pytest.raises(PlanError, match=told):
        make()  # type: ignore[operator]


def test_flows_of_one_job_meet_each_other() -> None:
    job = fork("a", 8, 1.0, 1.0, flows=2)
    assert bottleneck_seconds(job, np.array([0, 0]), RATES) == 2
    assert bottleneck_seconds(job, np.array([0, 1]), RATES) == 1
