# SPDX-License-Identifier: Apache-2.0
"""Whole runs on HPN in virtual time: bundles come up, cables and ToRs fail, and no frame changes planes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.runner import observe, run
from harness.scenario.loader import load
from tests.oracle.make import Hosts, embedded

Write = Callable[[str], Path]

SCENARIO = """\
name: small
topology: {{name: hpn, segments: {segments}, hosts: 2, rails: 2, aggs: 2{topology}}}
collective: {{kind: allreduce, algorithm: dimension-wise, elements: 16384, payload_bytes: 1024}}
routing: {{strategy: hashed, peers: job}}
link: {{detect_us: 0.5}}
control: {{processing_us: 0.5, {control}}}
transport: {{window: 32, initial_rto_us: 10, min_rto_us: 10}}
faults: [{faults}]
"""
LACP = "lacp_us: 2"
CABLE = "{at_us: 2, link: gpu0-tor0.0.0}"


@pytest.fixture
def seen(write: Write) -> Callable[..., Observation]:
    def look(faults: str = "", topology: str = "", control: str = LACP, segments: int = 2) -> Observation:
        text = SCENARIO.format(faults=faults, topology=topology, control=control, segments=segments)
        (ready,) = prepare(*load(write(text)))
        return observe(ready, 1)

    return look


Seen = Callable[..., Observation]


def test_the_job_waits_for_bundles(seen: Seen) -> None:
    bare, bonded = seen(control="hello_multiplier: 3"), seen()
    assert bare.correct_nodes == bonded.correct_nodes == bonded.nodes
    # Two LACPDUs each way over 50 ns of cable, then the ToRs' processing.
    assert 600_000 < bonded.completion_ps - bare.completion_ps < 1_000_000
    assert bonded.traffic.dropped_by_switch == bonded.traffic.retransmitted == 0


@pytest.mark.parametrize(
    "tors",
    [
        "{port_offset: 0}, {port_offset: 0}",
        '{system: "02:00:00:00:aa:00", port_offset: 0}, {system: "02:00:00:00:bb:00", port_offset: 300}',
    ],
    ids=["equal port numbers", "two systems"],
)
def test_with_wrong_identities_of_tors_a_nic_uses_one_port(write: Write, tors: str) -> None:
    control = f"{LACP}, lacp_tors: [{tors}]"
    text = SCENARIO.format(faults="", topology="", control=control, segments=1).replace("16384", "131072")
    (ready,) = prepare(*load(write(text)))
    result = observe(ready, 1)
    first, second = (result.link_usage[f"gpu0-tor0.0.{number}"][0].frames for number in range(2))
    assert result.correct_nodes == result.nodes
    # LACPDUs, and frames sent before the controllers give the second ports up.
    assert second < first / 4


def test_an_address_of_a_group_is_no_system(write: Write) -> None:
    text = SCENARIO.format(
        faults="",
        topology="",
        control=f'{LACP}, lacp_tors: [{{system: "01:00:5e:00:01:01", port_offset: 0}}, {{port_offset: 300}}]',
        segments=1,
    )
    with pytest.raises(ScenarioError, match="is a multicast address"):
        load(write(text))


@pytest.mark.long("before it came up", "silence")
@pytest.mark.parametrize(
    "faults",
    [
        CABLE,
        "{at_us: 2, switch: tor0.0.0}",
        "{at_us: 2, link: gpu0-tor0.0.0, event: loss, percent: 100}",
        "{at_us: 0.01, link: gpu0-tor0.0.0}",
    ],
    ids=["cable", "ToR", "silence", "before it came up"],
)
def test_a_job_on_two_tors_goes_on(seen: Seen, faults: str) -> None:
    result = seen(faults)
    assert (result.correct_nodes, result.first_wrong, result.cut_off) == (result.nodes, "", "")
    assert result.cross_plane_frames == 0
    cut, kept = (sum(result.link_bytes[f"gpu0-tor0.0.{number}"]) for number in range(2))
    assert kept > cut


def test_a_job_on_one_tor_halts(seen: Seen) -> None:
    result = seen(CABLE.replace("2,", "0.5,"), ", tors: single", "hello_multiplier: 3", segments=1)
    assert result.correct_nodes < result.nodes
    assert result.cut_off.startswith("gpu0 has lost the network between domains")
    assert result.cross_plane_frames is None


def test_a_backup_host_of_the_segment_takes_the_place_of_one(seen: Seen) -> None:
    result = seen("{at_us: 2, gpu: gpu1}", ", backup: 1")
    assert (result.correct_nodes, result.first_wrong) == (result.nodes, "")
    (took,) = result.takeovers
    assert sorted([(took.npu, took.spare), *took.along]) == [("gpu0", "spare0"), ("gpu1", "spare1")]


BOTH_CABLES = "{at_us: 2, link: gpu0-tor0.0.0}, {at_us: 2, link: gpu0-tor0.0.1}"


@pytest.mark.parametrize(
    ("hosts", "control"), [("native", "lacp_us: 10"), ("python", "lacp_us: 10"), ("native", "hello_us: 10")]
)
def test_a_gpu_without_cables_ends_the_run_long_before_its_senders_give_up(
    write: Write, hosts: Hosts, control: str
) -> None:
    text = SCENARIO.format(faults=BOTH_CABLES, topology="", control=control, segments=2)
    prepared = prepare(*load(write(text)))
    seen = next(iter(run(prepared, 1, choice=embedded(hosts)).runs.values())).observation
    assert seen.cut_off.startswith("gpu0 ")
    assert "no data has arrived" in seen.cut_off
    # Ten timeouts, each twice as long as the one before, take 20 ms.
    assert seen.completion_ps < 1_000_000_000


def test_a_run_waits_for_a_repair_to_come(seen: Seen) -> None:
    repair = "{at_us: 250, link: gpu0-tor0.0.0, event: up}"
    after = seen(faults=f"{BOTH_CABLES}, {repair}", control="lacp_us: 10")
    assert after.cut_off == ""
    assert after.correct_nodes == after.nodes
