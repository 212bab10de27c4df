# SPDX-License-Identifier: Apache-2.0
"""Circuits that follow jobs: what moves, what does not feel it, and what is refused."""

import random
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from controller.circuits.transition import (
    allocate_crossconnects,
    circuit_shares,
    crossconnects_for,
    keep_common_circuits,
    pod_traffic,
    unserved_pods,
)
from controller.errors import PlanError
from harness.errors import ScenarioError
from harness.report.document import to_json
from harness.report.figures.circuits import between_pods, circuits_svg, reconfiguration_words
from harness.report.page import report_html
from harness.report.results import conclude
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe, run
from harness.scenario.loader import load
from topologies import lumos
from topologies.families.lumos.core import check_wiring
from topologies.transform.circuits import with_maps

Write = Callable[[str], Path]

HEAD = """\
name: small
topology:
  {name: lumos, pods: 3, leaves: 1, spines: 2, accelerators: 8, hb_size: 2, ports: 4, reconfiguration_us: 5}
routing: {strategy: shortest, peers: job}
link: {credit_bytes: 1048576, detect_us: 0.5}
control: {circuits: per-job, processing_us: 0.5, drain_us: 4}
transport: {initial_rto_us: 400, min_rto_us: 200}
collective: {kind: all-to-all, algorithm: direct, elements: 65536, payload_bytes: 1024}
"""
JOBS = """\
jobs:
  - {name: first, collective: {members: [gpu0..gpu3, gpu8..gpu11], elements: 262144}}
  - {name: second, at_us: 15, collective: {members: [gpu4..gpu7, gpu16..gpu19]}}
"""


def prepared(write: Write, text: str) -> Prepared:
    return prepare(*load(write(text)))[0]


def small():
    return lumos(3, 1, 2, accelerators=8, hb_size=2, ports=4)


def test_traffic_between_pods_goes_both_ways_and_not_inside():
    fabric = small()
    traffic = pod_traffic(fabric, {("gpu0", "gpu8"): 10, ("gpu9", "gpu1"): 5, ("gpu0", "gpu1"): 99})
    assert traffic.tolist() == [[0, 15, 0], [15, 0, 0], [0, 0, 0]]


def test_shares_are_in_proportion_and_nobody_is_left_out():
    traffic = np.array([[0, 300, 1], [300, 0, 0], [1, 0, 0]])
    result = circuit_shares(traffic, 8)
    assert result.tolist() == result.T.tolist()
    assert result[0, 2] == 1
    assert result[0, 1] == 6
    assert result.sum(axis=1).max() <= 8
    assert not circuit_shares(np.zeros((3, 3), np.int64), 8).any()


def test_circuits_go_where_the_traffic_is_and_the_wiring_allows_them():
    fabric = small()
    wanted = crossconnects_for(fabric, {("gpu0", "gpu8"): 1000})
    created = with_maps(fabric, wanted)
    check_wiring(created)
    assert between_pods(created)[0, 1] == 8
    assert between_pods(created)[0, 2] == 0
    # Asked again, nothing moves.
    assert crossconnects_for(created, {("gpu0", "gpu8"): 1000}) == wanted
    kept = {link.name for link in keep_common_circuits(fabric, wanted).links}
    assert kept == {link.name for link in fabric.links} & {link.name for link in created.links}


def test_pods_without_a_circuit_are_those_of_the_allocation():
    """Four Pods of eight ports with random jobs, and some optical switches dark."""
    fabric, chosen = lumos(4, 1, 2, accelerators=8, hb_size=2, ports=4), random.Random(41)
    outcomes = Counter[str]()
    for _ in range(40):
        pairs = chosen.sample(list(permutations(range(4), 2)), chosen.randint(1, 12))
        demand = {(f"gpu{8 * a}", f"gpu{8 * b}"): chosen.randint(1, 1000) for a, b in pairs}
        names = chosen.sample([switch.name for switch in fabric.optical], chosen.choice([0, 2, 3]))
        dark = frozenset((name, port) for name in names for port in range(8))
        unserved = unserved_pods(fabric, pod_traffic(fabric, demand), dark)
        assert np.array_equal(unserved, allocate_crossconnects(fabric, demand, dark).unserved)
        outcomes["some" if unserved.any() else "none"] += 1
    assert len(outcomes) == 2
    narrow = lumos(4, 1, 1, accelerators=8, hb_size=2, ports=2)
    everyone = {(f"gpu{8 * a}", f"gpu{8 * b}"): 1 for a, b in permutations(range(4), 2)}
    with pytest.raises(PlanError, match="Pod 0 asks for 3 circuits, but has 2 ports"):
        unserved_pods(narrow, pod_traffic(narrow, everyone))


def test_circuits_move_under_a_running_job_that_feels_nothing(write: Write):
    seen = observe(prepared(write, HEAD + JOBS), 1)
    assert (seen.correct_nodes, seen.first_wrong) == (16, "")
    first, second = seen.jobs
    begun, moved, back = seen.reconfigurations
    assert [item.why for item in seen.reconfigurations] == ["first begins", "second begins", "second ends"]
    assert all(item.hitless and item.lacks == item.dark == () for item in seen.reconfigurations)
    assert moved.torn
    assert moved.created
    # The change fell into the first job, and the second waited for it.
    assert first.begun_ps < moved.at_ps < first.begun_ps + first.completion_ps
    assert second.begun_ps == moved.stands_ps > moved.at_ps == 15_000_000
    assert seen.traffic.lost_with_link == seen.traffic.dropped_by_switch == 0
    assert first.retransmitted == second.retransmitted == 0
    assert set(moved.kept) | set(moved.torn) >= set(begun.created)
    assert between_pods(moved.after)[0, 2] > between_pods(moved.before)[0, 2]
    assert between_pods(back.after) == between_pods(begun.after)


def test_a_job_whose_circuits_stand_gets_its_routes_and_begins(write: Write):
    """All three come at once: the second has the first's Pods, and the third waits behind both."""
    jobs = """\
jobs:
  - {name: first, collective: {members: [gpu0..gpu1, gpu8..gpu9], elements: 16384}}
  - {name: second, collective: {members: [gpu2..gpu3, gpu10..gpu11], elements: 16384}}
  - {name: third, collective: {members: [gpu4..gpu5, gpu12..gpu13], elements: 16384}}
"""
    seen = observe(prepared(write, HEAD + jobs), 1)
    assert (seen.correct_nodes, seen.first_wrong) == (12, "")
    assert len(seen.reconfigurations) == 1
    first, second, third = seen.jobs
    assert first.begun_ps == second.begun_ps == third.begun_ps == seen.reconfigurations[0].stands_ps
    assert seen.traffic.dropped_by_switch == seen.traffic.lost_with_link == 0
    assert not any(job.retransmitted for job in seen.jobs)


@pytest.mark.long
def test_without_time_to_drain_frames_are_lost_and_come_again(write: Write):
    text = HEAD.replace("drain_us: 4", "drain_us: 0").replace("initial_rto_us: 400, min_rto_us: 200", "")
    seen = observe(prepared(write, text + JOBS), 1)
    assert (seen.correct_nodes, seen.first_wrong) == (16, "")
    assert seen.traffic.lost_with_link + seen.traffic.dropped_by_switch > 0
    assert seen.jobs[0].retransmitted > 0


def test_the_report_and_the_file_say_what_moved(write: Write):
    scenario, document = load(write(HEAD + JOBS))
    ready = prepare(scenario, document)
    done = run(ready, 1)
    result = conclude(scenario, 1, "embedded", done.runs)
    page = report_html(scenario, result, ready[0].fabric, done.runs, "railyard run")
    for change in done.runs["run"].observation.reconfigurations:
        assert circuits_svg(change.before, change.after) in page
        assert reconfiguration_words(change) in page
    assert "<h2>Each job" in page
    assert '"reconfigurations"' in to_json(result)
    assert len(result.reconfigurations["run"]) == 3


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("peers: job", "peers: all"), "leaves pairs that no job uses without a path"),
        (("circuits: per-job", "circuits: often"), "control.circuits: 'often' is not known"),
        (("ports: 4", "ports: 4, wiring: uniform"), "needs another wiring than uniform"),
    ],
)
def test_what_is_refused(write: Write, change: tuple[str, str], why: str):
    with pytest.raises(ScenarioError) as caught:
        prepared(write, HEAD.replace(*change) + JOBS)
    assert why in str(caught.value)


def test_circuits_follow_nobody_on_a_fabric_without_optical_switches(write: Write):
    text = (
        "name: small\ntopology: {name: rail-only, domains: 2, hb_size: 2}\nrouting: {peers: job}\n"
        "control: {circuits: per-job}\ncollective: {kind: all-gather}\n"
    )
    with pytest.raises(ScenarioError, match="optical switch"):
        prepared(write, text)


def test_a_job_without_an_allocation_is_refused_with_its_line_before_the_run(write: Write) -> None:
    text = HEAD.replace("pods: 3, leaves: 1, spines: 2", "pods: 4, leaves: 1, spines: 1")
    text = text.replace("ports: 4", "ports: 2") + JOBS.replace(
        "gpu0..gpu3, gpu8..gpu11]", "gpu0, gpu8, gpu20, gpu24]"
    )
    with pytest.raises(ScenarioError, match=r"scenario.yaml:10: circuits cannot serve the job first: Pod"):
        prepared(write, text)


def test_a_job_that_waits_for_its_circuits_says_how_long(write: Write) -> None:
    scenario, document = load(write(HEAD + JOBS))
    result = conclude(scenario, 1, "embedded", run(prepare(scenario, document), 1).runs)
    assert result.of("run", "second.waited_us") == result.of("run", "second.start_us") - 15
    assert result.of("run", "second.waited_us") > 5  # the time of a reconfiguration


# The circuits of the first job pass to the second from 20.1 us on: 4 us to drain, 5 us dark, 1 us to be seen.
SHARED = """\
jobs:
  - {name: first, collective: {members: [gpu0..gpu3, gpu16..gpu19], elements: 32768}}
  - {name: running, collective: {members: [gpu4..gpu7, gpu8..gpu11], elements: 524288}}
  - {name: late, at_us: AT, collective: {members: [gpu12..gpu15, gpu20..gpu23], elements: 16384}}
"""


@pytest.mark.parametrize(
    ("at_us", "most_us"),
    [
        pytest.param(21, 0, id="nothing has moved yet"),
        pytest.param(26, 10, id="mirrors turn"),
        pytest.param(29.8, 10.5, id="circuits have light"),
    ],
)
def test_an_arrival_does_not_wait_for_the_change_after_a_departure(
    write: Write, at_us: float, most_us: float
) -> None:
    scenario, document = load(write(HEAD + SHARED.replace("AT", str(at_us))))
    result = conclude(scenario, 1, "embedded", run(prepare(scenario, document), 1).runs)
    assert result.passed
    assert result.of("run", "late.waited_us") <= most_us
    assert result.of("run", "lost_frames") == result.of("run", "dropped_frames") == 0
