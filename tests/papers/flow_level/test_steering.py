# SPDX-License-Identifier: Apache-2.0
"""A scheduler on a running cluster: paths that are pinned, levels, shifts, and what it measures."""

from collections.abc import Sequence

import numpy as np
import pytest

from controller.jobs import SCHEDULERS, Schedule
from controller.jobs import Job as Known
from harness.errors import ModelError
from papers.flow_level.fluid import Fluid
from papers.flow_level.networks.pinned import Pinned
from papers.flow_level.pace import Counted, Order
from papers.flow_level.simulate import simulate
from papers.flow_level.steering import Steered, measured
from papers.flow_level.workload.jobs import Job, Phase, gradients
from papers.flow_level.workload.placement import Cluster
from tests.papers.flow_level.exact import Exact

PACES: dict[str, type[Exact | Fluid]] = {"exact": Exact, "fluid": Fluid}


def job(name: str, arrival: float, iterations: int, compute: float, send: float, npus: int = 16) -> Job:
    phase = Phase("gradients", send, gradients(npus // 8, 1))
    return Job(name, npus, arrival, iterations, compute, (phase,))


def narrow(seed: int = 0) -> Pinned:
    """Two servers a leaf, two spines; links of 8 ports: each of a job's directions fills one."""
    return Pinned(Cluster(1, 4, 16), spines=2, uplink=8.0, seed=seed)


def test_paths_are_those_of_a_clos() -> None:
    fabric = Pinned(Cluster(2, 2, 8), spines=3, cores=2)
    node = Job("near", 16, 0.0, 1, 1.0, (Phase("a", 1.0, np.array([[0, 8]])),))
    neighbour = Job("far", 16, 0.0, 1, 1.0, (Phase("a", 1.0, np.array([[0, 8]])),))
    fabric.admit(0, node, np.arange(16))
    fabric.admit(1, neighbour, np.r_[0:8, 16:24])
    paths = fabric.flows(0).paths[0]
    assert (paths >= 0).any(axis=1).tolist() == [True] * 3 + [False] * 3
    assert [(path >= 0).sum() for path in paths[:3]] == [2, 2, 2]
    paths = fabric.flows(1).paths[0]
    assert (paths >= 0).all()
    assert len({tuple(path) for path in paths.tolist()}) == 6
    # Leaf 0's links up, leaf 2's links down.
    assert sorted({path[0] for path in paths.tolist()}) == [0, 1, 2]
    assert sorted({path[3] - 12 for path in paths.tolist()}) == [6, 7, 8]
    assert np.unique(paths[:, 1]).size == np.unique(paths[:, 2]).size == 6


def test_a_flow_goes_where_it_is_pinned() -> None:
    fabric = narrow()
    item = job("a", 0.0, 1, 1.0, 1.0)
    fabric.admit(0, item, np.r_[0:8, 16:24])
    before = fabric.version
    fabric.pin(0, np.ones(16, np.int64))
    assert fabric.version == before + 1
    links, loads = fabric.loads(0)[0]
    assert loads.tolist() == [8.0] * 4
    assert (links % 2 == 1).all()
    fabric.pin(0, np.ones(16, np.int64))
    assert fabric.version == before + 1
    with pytest.raises(ModelError, match="cores"):
        Pinned(Cluster(2, 2, 8), spines=2)


def test_connections_share_what_a_flow_sends() -> None:
    fabric = Pinned(Cluster(1, 4, 16), spines=2, connections=2)
    fabric.admit(0, job("a", 0.0, 1, 1.0, 1.0), np.r_[0:8, 16:24])
    assert len(fabric.flows(0).amounts) == 32
    assert fabric.flows(0).amounts.sum() == pytest.approx(16)
    _, loads = fabric.loads(0)[0]
    assert loads.sum() == pytest.approx(32)  # 16 flows up, 16 down


@pytest.mark.parametrize("mode", PACES)
def test_a_scheduler_keeps_a_large_job_from_being_slowed(mode: str) -> None:
    """One server of each is below one leaf, whose link up is as wide as one job."""
    jobs = [job("large", 0.0, 60, 1.0, 1.0, 40), job("small", 0.0, 60, 0.5, 0.9, 24)]
    result = {}
    for name in ("none", "crux"):
        fabric = Pinned(Cluster(1, 4, 16), spines=1, uplink=8.0)
        steering = Steered(fabric, SCHEDULERS[name], window=0.0)
        done = simulate(jobs, fabric, "first-fit", steering=steering, pace=PACES[mode](fabric))
        result[name] = {record.job.name: record.slowdown for record in done.jobs}
    assert result["none"]["large"] > 1.1
    assert result["crux"]["large"] == pytest.approx(1.0, abs=1e-6)
    assert result["crux"]["small"] > 1.1


class Spy:
    """Remembers what it is told of jobs."""

    def __init__(self) -> None:
        self.told: dict[str, tuple[float, float, float]] = {}

    def __call__(self, jobs: Sequence[Known], rates: np.ndarray, levels: int, seed: int) -> Schedule:
        for item in jobs:
            self.told[item.name] = (item.compute, float(item.amounts.max()), item.overlap)
        return SCHEDULERS["crux"](jobs, rates, levels, seed)


@pytest.mark.parametrize("mode", PACES)
def test_what_is_known_of_a_job_was_measured(mode: str) -> None:
    """Both say that they are of the last class; one hides a part of its sending, and that shows."""
    phase = Phase("gradients", 0.6, gradients(2, 1))
    jobs = [
        Job("same", 16, 0.0, 200, 1.0, (phase,), priority=7),
        Job("other", 16, 5.0, 200, 0.8, (phase,), overlap=0.25, priority=7),
    ]
    spy = Spy()
    # Leaves of one server, spines enough for all.
    fabric = Pinned(Cluster(1, 4, 8), spines=8)
    simulate(jobs, fabric, steering=Steered(fabric, spy, window=30.0), pace=PACES[mode](fabric))
    assert spy.told["same"] == pytest.approx((1.0, 0.6, 0.0), abs=1e-6)
    assert spy.told["other"] == pytest.approx((0.8, 0.6, 0.25), abs=1e-6)


def test_a_job_is_measured_before_it_is_known() -> None:
    spy = Spy()
    fabric = Pinned(Cluster(1, 4, 8), spines=8)
    short = job("short", 0.0, 10, 1.0, 1.0)
    simulate([short], fabric, steering=Steered(fabric, spy, window=30.0))
    assert spy.told == {}  # it ended before
    slow = job("slow", 0.0, 3, 50.0, 1.0)
    simulate([slow], fabric, steering=Steered(fabric, spy, window=30.0), pace=Exact(fabric))
    assert spy.told["slow"][0] == 50.0  # in its second window, when an iteration had ended


def test_what_counters_say() -> None:
    began, ended = Counted(10, 5, 5, 5), Counted(25, 15, 15, 5 + 8)
    assert measured(began, ended) == pytest.approx((1.0, 0.3))


@pytest.mark.parametrize("mode", PACES)
def test_a_job_that_is_held_leaves_when_its_time_is_over(mode: str) -> None:
    phase = Phase("gradients", 1.0, gradients(2, 1))
    held = Job("held", 16, 1.0, 1000, 1.0, (phase,), held=21.0)
    fabric = Pinned(Cluster(1, 4, 8), spines=1, uplink=8.0)
    outcome = simulate([held, job("next", 2.0, 1, 1.0, 1.0, 32)], fabric, pace=PACES[mode](fabric))
    item, other = outcome.jobs
    assert (item.start, item.end, other.start) == (1.0, 22.0, 22.0)
    assert item.iterations == pytest.approx(10.5, abs=0.51)
    assert outcome.jobs[0].slowdown == pytest.approx(1, abs=0.06)


def test_shifts_let_jobs_of_one_length_send_in_turns() -> None:
    """Both fill the link for half of their time."""

    class Turns:
        def enter(self, key: int, job: Job, now: float, pace: object) -> None:
            self.keys = {*getattr(self, "keys", ()), key}

        def leave(self, key: int) -> None:
            self.keys.discard(key)

        def due(self) -> float:
            return np.inf

        def orders(self, now: float, pace: object) -> dict[int, Order]:
            return {key: Order(group=0, late=key / 2) for key in self.keys}

    # Three servers each; one of each is below the leaf in the middle, whose link up is as wide as one job.
    jobs = [job("a", 0.0, 40, 1.0, 1.0, 24), job("b", 0.0, 40, 1.0, 1.0, 24)]
    for pace in PACES.values():
        fabric = Pinned(Cluster(1, 3, 16), spines=1, uplink=8.0)
        together = simulate(jobs, fabric, "first-fit", pace=pace(fabric))
        apart = simulate(jobs, fabric, "first-fit", steering=Turns(), pace=pace(fabric))
        assert together.utilisation < 0.45
        assert apart.utilisation == pytest.approx(0.5, abs=0.02)
