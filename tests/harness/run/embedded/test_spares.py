# SPDX-License-Identifier: Apache-2.0
"""Whole runs in which NPUs and switches fail where there are spare NPUs, in virtual time."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.report.document import to_json
from harness.report.results import conclude
from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.runner import observe, run
from harness.scenario.loader import load
from harness.scenario.metrics import SPARE_METRICS
from harness.scenario.study import Study
from harness.sweeps.conduct import results_of
from harness.sweeps.plan import plan_study
from harness.sweeps.table import passed, record_of
from topologies.families.registry import build
from topologies.transform.spares import Replacement, replaced

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]

HEAD = """\
name: small
topology: {{name: ub-pod, dims: [2, 2, 2, 1], planes: 1, uplink_lanes: 8{topology}}}
collective: {{kind: allreduce, algorithm: dimension-wise, elements: 65536, payload_bytes: 4096}}
routing: {{peers: {peers}}}
link: {{detect_us: 0.5}}
control: {{processing_us: 0.5, migrate_us: 2{control}}}
transport: {{window: 32, initial_rto_us: 20, min_rto_us: 20}}
"""


def scenario(faults: str = "", *, topology: str = "", peers: str = "job", control: str = "") -> str:
    return HEAD.format(topology=topology, peers=peers, control=control) + f"faults: [{faults}]\n"


def seen(path: Path) -> Observation:
    (ready,) = prepare(*load(path))
    return observe(ready, 1)


@pytest.mark.long("all")
@pytest.mark.parametrize("peers", ["job", "all"])
def test_a_spare_takes_over_and_all_arrays_are_right(write: Write, peers: str) -> None:
    healthy = seen(write(scenario(peers=peers)))
    result = seen(write(scenario("{at_us: 1, npu: npu5}", peers=peers)))
    assert result.correct_nodes == result.nodes == 8, result.first_wrong
    assert result.checksum == healthy.checksum
    (item,) = result.takeovers
    assert (item.npu, item.spare, item.lost) == ("npu5", "spare1", "npu5")
    assert (item.detected_ps, item.at_ps) == (1_500_000, 4_000_000)
    assert result.recovery.converged_ps == item.at_ps
    assert result.transit_frames == 0
    assert result.cut_off == ""
    # The old job's frames were sent too, and those that came late were known.
    assert result.traffic.sent > healthy.traffic.sent
    assert result.stale_frames > 0


@pytest.mark.long
def test_the_same_run_again_is_the_same(write: Write) -> None:
    path = write(scenario("{at_us: 1, npu: npu2}"))
    assert seen(path) == seen(path)


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["shortest", "detour", "borrow"])
def test_with_every_strategy(write: Write, strategy: str) -> None:
    text = scenario("{at_us: 1, npu: npu0}").replace("peers: job", f"peers: job, strategy: {strategy}")
    result = seen(write(text))
    assert result.correct_nodes == 8, result.first_wrong
    assert [takeover.spare for takeover in result.takeovers] == ["spare0"]


def test_one_of_each_rack(write: Write) -> None:
    result = seen(write(scenario("{at_us: 1, npu: npu0}, {at_us: 6, npu: npu7}")))
    assert result.correct_nodes == 8, result.first_wrong
    assert [(takeover.npu, takeover.spare) for takeover in result.takeovers] == [
        ("npu0", "spare0"),
        ("npu7", "spare1"),
    ]


def test_two_at_once_with_two_spares(write: Write) -> None:
    faults = "{at_us: 1, npu: npu0}, {at_us: 1, npu: npu1}"
    result = seen(write(scenario(faults, topology=", spares: 2")))
    assert result.correct_nodes == 8, result.first_wrong
    places = [(takeover.npu, takeover.spare) for takeover in result.takeovers]
    assert places == [("npu0", "spare0.0"), ("npu1", "spare0.1")]


def test_a_spare_that_fails_in_service_is_replaced(write: Write) -> None:
    faults = "{at_us: 1, npu: npu0}, {at_us: 6, npu: spare0.0}"
    result = seen(write(scenario(faults, topology=", spares: 2")))
    assert result.correct_nodes == 8, result.first_wrong
    last = result.takeovers[-1]
    assert (last.npu, last.lost, last.spare) == ("npu0", "spare0.0", "spare0.1")
    assert "spare0.0, in the place of npu0, was found to be gone" in str(last)


@pytest.mark.long
def test_a_spare_takes_over_while_a_link_elsewhere_is_down(write: Write) -> None:
    result = seen(write(scenario("{at_us: 0.7, link: npu4-npu6}, {at_us: 1, npu: npu5}")))
    assert result.correct_nodes == 8, result.first_wrong
    result = seen(write(scenario("{at_us: 1, npu: npu5}, {at_us: 5, link: npu4-npu6}")))
    assert result.correct_nodes == 8, result.first_wrong
    assert len(result.takeovers) == 1


@pytest.mark.long
def test_what_failed_may_come_back_later_and_changes_nothing(write: Write) -> None:
    healthy = seen(write(scenario()))
    result = seen(write(scenario("{at_us: 1, npu: npu5}, {at_us: 6, npu: npu5, event: up}")))
    assert result.correct_nodes == 8, result.first_wrong
    assert result.checksum == healthy.checksum
    assert [takeover.spare for takeover in result.takeovers] == ["spare1"]


def test_one_that_is_back_in_time_needs_no_spare(write: Write) -> None:
    result = seen(write(scenario("{at_us: 1, npu: npu5}, {at_us: 2, npu: npu5, event: up}")))
    assert result.correct_nodes == 8, result.first_wrong
    assert result.takeovers == ()


def test_links_that_are_lost_one_by_one_are_a_lost_npu(write: Write) -> None:
    faults = ", ".join(
        f"{{at_us: {1 + at / 4}, link: {link}}}"
        for at, link in enumerate(("npu4-npu5", "npu5-npu7", "npu5-lrs1p0n0"))
    )
    result = seen(write(scenario(faults)))
    assert result.correct_nodes == 8, result.first_wrong
    assert [takeover.detected_ps for takeover in result.takeovers] == [2_000_000]


@pytest.mark.long
def test_hellos_find_one_that_hangs_with_its_links_up(write: Write) -> None:
    hangs = "{at_us: 1, npu: npu5, event: loss, percent: 100}"
    result = seen(write(scenario(hangs, control=", hello_us: 0.5")))
    assert result.correct_nodes == 8, result.first_wrong
    assert [takeover.spare for takeover in result.takeovers] == ["spare1"]
    assert result.takeovers[0].detected_ps > 2_000_000


def test_no_spare_left_is_a_stop_that_says_so(railyard: Railyard, write: Write, tmp_path: Path) -> None:
    path = write(scenario("{at_us: 1, npu: npu4}, {at_us: 6, npu: npu6}"))
    code, out, _ = railyard("run", path, "--out", tmp_path / "out")
    assert code == 1
    said = " ".join(out.split())
    assert "npu6 is cut off at 9 us: no link is left, and spare1 is used already" in said
    assert "npu4 was found to be gone at 1.5 us; spare1 had its place at 4 us" in said
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    assert document["passed"] is False
    assert document["cut_off"]["run"].startswith("npu6 is cut off at 9 us")
    assert document["metrics"]["run.correct_npus"] < 8
    assert "Lost NPUs" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.long
def test_a_spare_that_is_gone_itself_helps_nobody(write: Write) -> None:
    result = seen(write(scenario("{at_us: 0.5, npu: spare1}, {at_us: 1, npu: npu4}")))
    assert result.takeovers == ()
    assert "npu4 is cut off at 4 us: no link is left, and spare1 is gone" in result.first_wrong
    result = seen(write(scenario("{at_us: 1, board: 3}")))
    assert "npu7 is cut off" in result.first_wrong
    assert "spare1 is used already" in result.first_wrong


def test_without_spares_peers_wait_and_then_say_who_is_missing(write: Write) -> None:
    result = seen(write(scenario("{at_us: 1, npu: npu5}", topology=", spares: 0")))
    assert result.correct_nodes < 8
    assert result.first_wrong.startswith("npu5 is cut off: rank ")
    back = "{at_us: 1, npu: npu5}, {at_us: 60, npu: npu5, event: up}"
    result = seen(write(scenario(back, topology=", spares: 0")))
    assert result.correct_nodes == 8, result.first_wrong


def test_what_only_takeovers_have_is_in_no_other_result(write: Write) -> None:
    path = write(scenario("{at_us: 1, npu: npu5}"))
    loaded = load(path)
    with_spare = json.loads(to_json(conclude(loaded[0], 1, "embedded", run(prepare(*loaded), 1).runs)))
    assert with_spare["passed"]
    assert with_spare["metrics"]["run.takeover_us"] == 3
    assert with_spare["takeovers"]["run"][0]["spare"] == "spare1"
    loaded = load(write(scenario()))
    healthy = json.loads(to_json(conclude(loaded[0], 1, "embedded", run(prepare(*loaded), 1).runs)))
    assert set(with_spare) - set(healthy) == {"takeovers"}
    assert not [name for name in healthy["metrics"] if name.partition(".")[2] in SPARE_METRICS]


def test_an_assertion_on_a_spare_that_was_not_needed_is_about_0(write: Write) -> None:
    text = scenario() + "assertions: [{metric: run.takeovers, equals: 0}, {metric: run.takeovers, min: 1}]\n"
    loaded = load(write(text))
    result = conclude(loaded[0], 1, "embedded", run(prepare(*loaded), 1).runs)
    assert [assertion.passed for assertion in result.assertions[-2:]] == [True, False]


@pytest.mark.long
def test_every_npu_and_every_switch_in_turn(write: Write) -> None:
    path = write(scenario("{at_us: 1, npu: npu5}"))
    results = results_of(plan_study(path, Study(fail_each=("npu", "switch"))), 2)
    _, *records = map(record_of, results)
    npus, switches = records[:8], records[8:]
    assert [record["cut"] for record in npus] == [f"npu{number}" for number in range(8)]
    assert [record["trouble"] for record in npus] == [""] * 8
    assert [record["spare"] for record in npus] == ["spare0"] * 4 + ["spare1"] * 4
    assert len(switches) == 12
    # With one plane, other racks reach the NPUs of a board by its one switch; each is named.
    lost = {record["cut"]: record["cut_off"] for record in switches if record["status"] != "right"}
    assert set(lost) == {f"lrs{rack}p0n{board}" for rack in (0, 1) for board in (0, 1)}
    assert lost["lrs0p0n0"] == "no route joins npu4 to npu0, npu5 to npu1"
    assert passed(results, allow_stopped=True)
    assert not passed(results)


@pytest.mark.long
def test_a_switch_that_takes_others_with_it_stops_the_run_loudly(railyard: Railyard, write: Write) -> None:
    # Racks of one board: one inter-rack switch each.
    text = scenario("{at_us: 1, switch: lrs0p0r0}").replace("[2, 2, 2, 1]", "[2, 1, 2, 1]")
    code, out, _ = railyard("sweep", write(text), "--fail-each", "switch", "--jobs", "2", "--out", "out")
    assert code == 1
    again = ("--fail-each", "switch", "--jobs", "2", "--out", "out", "--allow-stopped")
    code, out, _ = railyard("sweep", write(text), *again)
    said = " ".join(out.split())
    assert code == 0, out
    assert "stopped lrs0p0r0: no route joins npu0 to npu2" in said
    document = json.loads(Path("out", "sweep.json").read_text())
    assert document["passed"] is True
    assert document["metrics"]["stopped_runs"] + document["metrics"]["correct_runs"] == len(document["runs"])
    assert document["metrics"]["stopped_runs"] > 0


def test_a_fabric_without_switches_has_none_to_fail(railyard: Railyard, write: Write) -> None:
    text = scenario("{at_us: 1, link: npu0-npu1}").replace(
        "{name: ub-pod, dims: [2, 2, 2, 1], planes: 1, uplink_lanes: 8}", "{name: full-mesh, dims: [2, 2]}"
    )
    code, _, err = railyard("sweep", write(text), "--fail-each", "switch")
    assert code == 2
    assert "has no switch that could fail" in " ".join(err.split())


def test_a_fabric_whose_spare_is_in_service_is_the_same_twice() -> None:
    rack = build("ub-pod", dims=(2, 2, 2, 1), planes=1, uplink_lanes=8)
    swap = Replacement({"npu0": "spare0"})
    assert replaced(replaced(rack, swap), swap) == rack
