# SPDX-License-Identifier: Apache-2.0
"""Jobs over time: exact on cases done by hand, and fluid beside exact."""

from collections.abc import Callable

import numpy as np
import pytest

from harness.errors import ModelError
from papers.flow_level.fluid import Fluid
from papers.flow_level.networks.clos import Clos, Fabric, Ideal
from papers.flow_level.networks.optical import Lumos, Wiring
from papers.flow_level.rates import Ints
from papers.flow_level.simulate import Outcome, simulate
from papers.flow_level.workload.jobs import Job, Phase
from papers.flow_level.workload.placement import Cluster
from papers.flow_level.workload.traces import Entry, jobs_of
from tests.papers.flow_level.exact import Exact
from tests.papers.flow_level.flows import routes

PACES: dict[str, type[Exact | Fluid]] = {"exact": Exact, "fluid": Fluid}


class Wire(Fabric):
    """All flows of all jobs over one link."""

    def __init__(self, capacity: float = 1.0) -> None:
        super().__init__(Cluster(1, 4, 8), "wire", np.array([capacity]))

    def admit(self, key: int, job: Job, npus: Ints) -> float:
        self._routes[key] = tuple(routes([[(0, 1.0)]], [len(phase.pairs)]) for phase in job.phases)
        return 0.0


class Fading(Wire):
    """A wire whose link is dark for a second after the arrival of each job."""

    def admit(self, key: int, job: Job, npus: Ints) -> float:
        self.capacities = np.array([0.0])
        return super().admit(key, job, npus) + 1.0

    def settle(self) -> None:
        self.capacities = np.array([1.0])


def job(name: str, arrival: float, compute: float, send: float, iterations: int = 1, **more: float) -> Job:
    phases = (Phase("send", send, np.array([[0, 1]])),) if send else ()
    return Job(
        name,
        8,
        arrival,
        iterations,
        compute,
        phases,
        overlap=more.get("overlap", 0.0),
        priority=int(more.get("priority", 0)),
    )


def ends(jobs: list[Job], fabric: Fabric, mode: str = "exact") -> dict[str, float]:
    outcome = simulate(jobs, fabric, pace=PACES[mode](fabric))
    return {record.job.name: record.end for record in outcome.jobs}


def test_two_jobs_that_send_at_once_halve_their_rates() -> None:
    """B comes while a sends: both at half until a is done, at 3; b then sends its last second alone."""
    result = ends([job("a", 0, 1, 1.5), job("b", 1, 1, 1.5)], Wire())
    assert result == pytest.approx({"a": 3.0, "b": 4.0})
    result = ends([job("a", 0, 0, 2), job("b", 1, 0, 2)], Wire())
    assert result == pytest.approx({"a": 3.0, "b": 4.0})


def test_the_first_class_is_not_slowed() -> None:
    jobs = [job("low", 0, 0, 2, priority=1), job("high", 0.5, 0, 1)]
    assert ends(jobs, Wire()) == pytest.approx({"low": 3.0, "high": 1.5})


def test_what_overlaps_is_hidden() -> None:
    """Sending begins at 1 of 4, and takes 2 or 5 of the second half."""
    assert ends([job("a", 0, 4, 2, overlap=0.75)], Wire()) == pytest.approx({"a": 4.0})
    assert ends([job("a", 0, 4, 5, overlap=0.75)], Wire()) == pytest.approx({"a": 6.0})
    assert ends([job("a", 0, 4, 5, 3, overlap=0.75)], Wire()) == pytest.approx({"a": 18.0})


def test_phases_follow_one_another_and_rates_are_those_of_flows() -> None:
    pairs = np.array([[0, 1], [1, 2]])
    phases = (Phase("two", 1.0, pairs), Phase("one", 1.0, pairs[:1]))
    both = Job("a", 8, 0.0, 2, 0.5, phases)
    assert ends([both], Wire()) == pytest.approx({"a": 7.0})
    assert ends([both], Wire(2.0)) == pytest.approx({"a": 5.0})


@pytest.mark.parametrize("mode", PACES)
def test_jobs_wait_in_the_order_in_which_they_came(mode: str) -> None:
    """B needs all of it and waits for a; c would fit, but came later."""
    cluster = Cluster(1, 2, 8)
    jobs = [
        Job("a", 8, 0.0, 1, 5.0),
        Job("b", 16, 1.0, 1, 2.0),
        Job("c", 8, 2.0, 1, 1.0),
        Job("d", 8, 7.0, 1, 1.0),
    ]
    fabric = Ideal(cluster)
    result = simulate(jobs, fabric, pace=PACES[mode](fabric))
    assert [(record.job.name, record.start, record.end) for record in result.jobs] == [
        ("a", 0, 5),
        ("b", 5, 7),
        ("c", 7, 8),
        ("d", 7, 8),
    ]
    assert result.mean("completion") == pytest.approx((5 + 6 + 6 + 1) / 4)
    assert result.mean("slowdown") == pytest.approx(1)
    assert result.utilisation == pytest.approx(1)


@pytest.mark.parametrize("mode", PACES)
def test_a_job_alone_takes_what_it_takes_alone(mode: str) -> None:
    item = job("a", 3, 2.0, 1.0, 7, overlap=0.25)
    assert ends([item], Wire(), mode) == pytest.approx({"a": 3 + item.alone})


@pytest.mark.parametrize("mode", PACES)
def test_dark_links_hold_jobs_up_for_as_long_as_they_are_dark(mode: str) -> None:
    """A sends all the time and stands still from 4 to 5, when b comes; b only computes."""
    jobs = [job("a", 0, 0, 9), job("b", 4, 2, 0)]
    assert ends(jobs, Fading(), mode) == pytest.approx({"a": 11.0, "b": 6.0})


def test_a_link_that_never_comes_back_is_told() -> None:
    with pytest.raises(ModelError, match="1 jobs make no progress, among them a"):
        simulate([job("a", 0, 0, 1)], Wire(0.0))


def test_a_job_that_nothing_has_room_for_is_told() -> None:
    with pytest.raises(ModelError, match=r"job a: 32 NPUs in blocks of 32 do not fit on the empty cluster"):
        simulate([Job("a", 32, 0.0, 1, 1.0, unit=32)], Ideal(Cluster(2, 3, 8)))


@pytest.mark.parametrize("mode", PACES)
def test_jobs_without_anything_to_do_end_as_they_come(mode: str) -> None:
    assert ends([Job("a", 8, 2.0, 3, 0.0), Job("b", 8, 2.0, 1, 1.0)], Wire(), mode) == {"a": 2.0, "b": 3.0}


def some(seed: int, overlap: float = 0.0) -> tuple[Job, ...]:
    """Eight jobs of some fifty iterations, half of which they send, on a cluster of 128 NPUs."""
    rng = np.random.default_rng(seed)
    entries = []
    arrival = 0.0
    for number in range(8):
        npus = int(rng.choice([8, 16, 32, 64]))
        servers = npus // 8
        stages = int(rng.choice([item for item in (1, 2, 4) if servers % item == 0]))
        group = 8 * int(rng.choice([item for item in (1, 2, 4) if servers % item == 0]))
        seconds = float(rng.uniform(30, 80))
        arrival += float(rng.exponential(8))
        entries.append(
            Entry(
                job=f"job{number}",
                arrival=arrival,
                npus=npus,
                seconds=seconds,
                iterations=int(seconds / rng.uniform(0.7, 1.5)),
                stages=stages,
                group=group,
                gradients=0.25 if servers > stages else 0.0,
                experts=0.2 if group > 8 else 0.0,
                pipeline=0.05 if stages > 1 else 0.0,
                overlap=overlap,
            )
        )
    return jobs_of(entries)


CROWDED: dict[str, Callable[[Cluster], Fabric]] = {
    "clos": lambda cluster: Clos(cluster),
    "clos, five tries": lambda cluster: Clos(cluster, tries=5),
    "leaf-centric": lambda cluster: Lumos(cluster, tau=1),
    "pod-centric": lambda cluster: Lumos(cluster, Wiring.pod),
}


def crowded(jobs: tuple[Job, ...], fabric: str, policy: str, mode: str) -> Outcome:
    network = CROWDED[fabric](Cluster(4, 2, 16))
    return simulate(jobs, network, policy, pace=PACES[mode](network))


@pytest.mark.long("clos-0.0", "pod-centric-0.3", "clos, five tries-0.3")
@pytest.mark.parametrize(
    ("fabric", "overlap"),
    [("clos", 0.0), ("clos, five tries", 0.3), ("leaf-centric", 0.0), ("pod-centric", 0.3)],
)
def test_fluid_is_close_to_exact_where_jobs_meet_on_most_links(fabric: str, overlap: float) -> None:
    """Scattered over a cluster they slow each other by a fifth and more; means differ by a few per cent."""
    slowed, off, jobs_off = [], [], []
    for seed in (0, 1):
        fluid, exact = (crowded(some(seed, overlap), fabric, "random", mode) for mode in ("fluid", "exact"))
        slowed.append(exact.mean("slowdown"))
        off.append(fluid.mean("completion") / exact.mean("completion") - 1)
        jobs_off += [a.slowdown / b.slowdown - 1 for a, b in zip(fluid.jobs, exact.jobs, strict=True)]
    assert np.mean(slowed) > 1.1
    assert abs(np.mean(off)) < 0.06
    # Of single jobs more: they fall into step with others, or out of it.
    assert np.abs(jobs_off).mean() < 0.1


@pytest.mark.parametrize("fabric", ["clos", "pod-centric"])
def test_fluid_is_exact_where_a_job_meets_only_itself(fabric: str) -> None:
    fluid, exact = (crowded(some(2), fabric, "packed", mode) for mode in ("fluid", "exact"))
    assert [job.slowdown for job in fluid.jobs] == pytest.approx(
        [job.slowdown for job in exact.jobs], rel=4e-3
    )
    assert [job.end for job in fluid.jobs] == pytest.approx([job.end for job in exact.jobs], rel=4e-3)


def test_throughput_is_what_is_left_of_a_link_on_average() -> None:
    """Each sends half of its time alone; then the other is met as often as it sends."""
    wire = Wire()
    pace = Fluid(wire)
    for key in (0, 1):
        item = job(str(key), 0, 1, 1, 100)
        wire.admit(key, item, np.arange(8))
        pace.add(key, item)
        if not key:
            assert 100 / pace.next_in() == pytest.approx(0.5)
    # Both send the share d of their time, in which they get 1 - d / 2, so that d = 1 / (2 - d / 2).
    share = 2 - np.sqrt(2)
    done = 10 * (1 - share / 2) / (2 - share / 2)
    pace.next_in()
    assert pace.advance(10.0) == []
    assert [pace.counted(key).iterations for key in (0, 1)] == pytest.approx([done, done], rel=0.01)
    pace.remove(1)
    assert (100 - pace.counted(0).iterations) / pace.next_in() == pytest.approx(0.5)


def test_two_classes_in_step_meet_less_than_fluid_says() -> None:
    """Both send half of their time. a is not slowed; b in step with it waits once and never again.

    Out of step, as fluid has it, half of the time b finds the link taken: three seconds an iteration instead
    of two, until a ends at 800 with b at 266.7 iterations, of which the rest go twice as fast: 1066.7.
    """
    jobs = [job("a", 0, 1, 1, 400), job("b", 0.0, 1, 1.0, 400, priority=1)]
    assert ends(jobs, Wire(), "exact") == pytest.approx({"a": 800, "b": 801})
    assert ends(jobs, Wire(), "fluid") == pytest.approx({"a": 800, "b": 800 + 2 * (400 - 800 / 3)})


@pytest.mark.parametrize("mode", PACES)
def test_one_seed_gives_one_outcome(mode: str) -> None:
    def run(seed: int) -> tuple[float, ...]:
        fabric = Clos(Cluster(4, 2, 16), seed=seed)
        pace = Exact(fabric) if mode == "exact" else Fluid(fabric, seed)
        return tuple(item.end for item in simulate(some(3)[:5], fabric, "random", seed, pace=pace).jobs)

    assert run(1) == run(1)
    assert run(1) != run(2)
