# SPDX-License-Identifier: Apache-2.0
"""Circuits that follow jobs when light goes and comes back, and when jobs end or wait for others."""

from collections.abc import Callable
from pathlib import Path

import pytest

from emulation.control.reconfiguration_record import ReconfigurationRecord
from harness.report.document import to_json
from harness.report.figures.circuits import between_pods, lacks_words
from harness.report.results import conclude
from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.runner import observe, run
from harness.scenario.loader import load
from topologies.families.lumos.core import check_wiring

Write = Callable[[str], Path]

# Pod 0 has eight ports to optical switches and sends as much to Pod 1 as to Pod 2: four circuits each, as
# they are built.
HEAD = """\
name: small
topology:
  {name: lumos, pods: 3, leaves: 1, spines: 2, accelerators: 4, hb_size: 2, ports: 4, nic_gbps: 100,
   reconfiguration_us: 2}
routing: {strategy: shortest, peers: job}
link: {credit_bytes: 1048576, detect_us: 0.5}
control: {circuits: per-job, processing_us: 0.5, drain_us: 8}
transport: {window: 8, ack_every: 2, initial_rto_us: 100, min_rto_us: 60}
collective: {kind: all-to-all, algorithm: direct, elements: 131072, payload_bytes: 4096}
jobs:
  - {name: one, collective: {members: [gpu0, gpu1, gpu4, gpu5]}}
  - {name: two, collective: {members: [gpu2, gpu3, gpu8, gpu9]}}
"""
ASKED = {(0, 1): 4, (0, 2): 4}


def seen(write: Write, faults: str, head: str = HEAD) -> Observation:
    """One run, whose data is right."""
    result = observe(prepare(*load(write(head + faults)))[0], 1)
    assert (result.correct_nodes, result.first_wrong) == (result.nodes, "")
    return result


def after(change: ReconfigurationRecord) -> dict[tuple[int, int], int]:
    """Circuits with light between Pods that somebody asked for."""
    check_wiring(change.after)
    result = between_pods(change.after, change.dark)
    return {pods: result[pods] for pods in ASKED}


def about(result: Observation, words: str) -> ReconfigurationRecord:
    (change,) = (item for item in result.reconfigurations if item.why.startswith(words))
    return change


@pytest.mark.parametrize(
    ("fault", "dead"), [("port: ocs1p1:1", "ocs1p1:1-"), ("switch: spine1.0", "ocs0p")], ids=["port", "spine"]
)
def test_a_demand_is_realised_on_what_an_optical_port_or_a_spine_leaves(write: Write, fault: str, dead: str):
    """Pod 1 uses four of its eight ports, so that any four will do."""
    result = seen(write, f"faults: [{{at_us: 8, {fault}}}]\n")
    change = about(result, "no light at ")
    assert between_pods(change.before) == {**ASKED, (1, 2): 4}
    assert after(change) == ASKED
    assert change.lacks == ()
    assert change.hitless
    assert change.at_ps == 9_000_000
    assert any(name.startswith(dead) for name in change.torn)
    # The other job moves, too, and loses nothing: what is lost was on its way over what failed.
    item, two = result.jobs
    assert item.retransmitted > two.retransmitted == 0


def test_what_fails_while_routes_leave_circuits_waits_for_the_next_change(write: Write):
    """The second port goes dark when spines have not yet got the tables that their controllers go by."""
    result = seen(write, "faults: [{at_us: 8, port: 'ocs1p1:1'}, {at_us: 10, port: 'ocs0p0:1'}]\n")
    first, second = (item for item in result.reconfigurations if item.why.startswith("no light at "))
    assert first.at_ps < 10_500_000 < first.stands_ps <= second.at_ps
    assert after(second) == ASKED
    assert second.lacks == ()
    assert result.jobs[1].retransmitted == 0


def test_a_whole_optical_switch_fails_and_the_loss_is_named_until_it_is_back(write: Write):
    faults = "faults: [{at_us: 8, switch: ocs0p1}, {at_us: 24, switch: ocs0p1, event: up}]\n"
    scenario, document = load(write(HEAD + faults))
    ready = prepare(scenario, document)
    done = run(ready, 1)
    results = done.runs["run"].observation
    assert (results.correct_nodes, results.first_wrong) == (8, "")
    removed, back = about(results, "no light at "), about(results, "light again at ")
    # Pod 0 has lost two of its eight ports; each of the two jobs gives up a circuit.
    assert after(removed) == {(0, 1): 3, (0, 2): 3}
    assert [str(lack) for lack in removed.lacks] == [
        "job one has 3 of 4 circuits between Pods 0 and 1",
        "job two has 3 of 4 circuits between Pods 0 and 2",
    ]
    assert after(back) == ASKED
    assert back.lacks == ()
    words = lacks_words(results.reconfigurations)
    assert len(words) == 2
    assert words[1].endswith("no job lacks circuits any more")
    result = conclude(scenario, 1, "embedded", done.runs)
    assert '"has": 3' in to_json(result)
    assert (result.of("run", "circuits_missing"), result.of("run", "circuits_missing_at_end")) == (2, 0)


def test_a_circuit_that_carries_nothing_between_ports_that_have_light(write: Write):
    """Both ports are left out, because the faulty port cannot be told; the circuit stays in its place."""
    circuit = "ocs0p0:0-4"
    result = seen(
        write,
        f"faults: [{{at_us: 8, circuit: '{circuit}'}}, {{at_us: 24, circuit: '{circuit}', event: up}}]\n",
    )
    removed, back = about(result, "no light at "), about(result, "light again at ")
    assert removed.dark == (circuit,)
    assert circuit in removed.kept
    assert sum(lack.wanted - lack.has for lack in removed.lacks) == 1
    assert after(back) == ASKED
    assert (back.dark, back.lacks) == ((), ())


def test_circuits_of_a_job_that_ends_go_to_those_that_are_left(write: Write):
    short = HEAD.replace("gpu8, gpu9]", "gpu8, gpu9], elements: 8192")
    result = seen(write, "", short)
    change = about(result, "two ends")
    assert change.hitless
    assert after(change) == {(0, 1): 8, (0, 2): 0}
    # No circuit of the first job moved, and none when it ended, too: nobody was left to need any.
    assert set(change.torn).isdisjoint(
        link.name for link in change.before.links_between("spine0.0", "spine1.0")
    )
    assert len(result.reconfigurations) == 2
    assert result.traffic.lost_with_link == result.traffic.dropped_by_switch == 0


def test_a_job_without_circuits_waits_for_one_that_ends(write: Write):
    """Pod 0 has two ports: the first job's circuits to Pods 1 and 2 leave none for Pod 3."""
    head = (
        HEAD.replace("pods: 3", "pods: 4").replace("spines: 2", "spines: 1").replace("ports: 4", "ports: 2")
    )
    head = head[: head.index("jobs:")] + (
        "jobs:\n"
        "  - {name: one, collective: {members: [gpu0, gpu1, gpu4, gpu5, gpu8, gpu9], elements: 49152}}\n"
        "  - {name: two, at_us: 14, collective: {members: [gpu2, gpu3, gpu12, gpu13], elements: 8192}}\n"
        "  - {name: three, at_us: 14, collective: {members: [gpu6, gpu7, gpu10, gpu11], elements: 8192}}\n"
    )
    result = seen(write, "", head)
    item, two, three = result.jobs
    assert item.begun_ps < three.begun_ps < item.begun_ps + item.completion_ps < two.begun_ps
    change = about(result, "two begins")
    assert change.stands_ps == two.begun_ps
    assert between_pods(change.before)[0, 3] == 0
    assert between_pods(change.after)[0, 3] > 0
    assert result.traffic.lost_with_link == result.traffic.dropped_by_switch == 0


def test_a_pod_that_is_cut_off_is_named_and_the_other_job_goes_on(write: Write):
    faults = "faults: [{at_us: 8, switch: spine1.0}, {at_us: 8, switch: spine1.1}]\n"
    result = observe(prepare(*load(write(HEAD + faults)))[0], 1)
    item, two = result.jobs
    assert (two.correct_nodes, two.retransmitted) == (4, 0)
    assert item.correct_nodes < item.nodes
    assert result.cut_off.startswith("no route joins gpu0 to gpu4")
    change = about(result, "no light at ")
    assert [str(lack) for lack in change.lacks] == ["job one has 0 of 4 circuits between Pods 0 and 1"]
    assert after(change)[0, 2] >= 4
