# SPDX-License-Identifier: Apache-2.0
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from emulation.fidelity import Fidelity
from harness.report.document import to_json
from harness.report.measurement.metrics import measure
from harness.report.results import conclude
from harness.run.observation.variant_run import VariantRun
from harness.scenario.loader import load
from harness.scenario.metrics import METRICS
from harness.scenario.schema import Scenario


def test_figures_follow_from_what_was_seen(runs: dict[str, VariantRun]):
    figures = measure(runs["cut"])
    assert figures["completion_us"] == 2.0
    assert figures["ratio_to_bound"] == 2.5
    assert figures["convergence_us"] == 1.2
    # 50,000 bytes at 400 Gbit/s are 1 of 2 microseconds, the way back; half of that the way there.
    assert figures["busiest_link_percent"] == 50.0
    assert figures["mean_link_percent"] == 37.5


def test_every_metric_says_its_unit_in_its_name():
    for name, metric in METRICS.items():
        if metric.unit in ("us", "percent", "bytes", "frames"):
            assert name == metric.unit or name.endswith(f"_{metric.unit}") or name in ("notices",), name


def test_convergence_is_nothing_where_nothing_failed(runs: dict[str, VariantRun]):
    assert measure(runs["healthy"])["convergence_us"] == 0.0


def test_a_result_has_the_promised_shape(scenario: Scenario, runs: dict[str, VariantRun]):
    text = to_json(conclude(scenario, 7, "embedded", runs))
    document = json.loads(text)
    kept = {"scenario", "seed", "testbed", "passed", "assertions", "metrics"}
    assert set(document) == kept | {"format", "schema", "railyard", "input", "faults", "units"}
    assert (document["scenario"], document["seed"], document["testbed"]) == ("small", 7, "embedded")
    keys = {"name", "metric", "op", "limit", "value", "passed"}
    assert all(set(item) == keys for item in document["assertions"])
    assert document["faults"]["cut"] == [{"at_us": 0.3, "event": "down", "link": "npu0-npu1"}]
    assert len(document["metrics"]) == 2 * len(METRICS)
    assert text == json.dumps(document, indent=2, sort_keys=True) + "\n"


def test_assertions_compare_with_numbers_and_with_other_metrics(
    scenario: Scenario, runs: dict[str, VariantRun]
):
    result = conclude(scenario, 1, "embedded", runs)
    asked = {item.name: item for item in result.assertions}
    ratio = asked["healthy.ratio_to_bound at most 2.5"]
    assert (ratio.passed, ratio.value, ratio.limit) == (True, 1.25, 2.5)
    slower = asked["cut.completion_us at least healthy.completion_us"]
    assert (slower.passed, slower.value, slower.limit) == (True, 2.0, 1.0)
    assert result.passed


def test_wrong_data_fails_a_scenario_that_asserts_nothing(
    scenario: Scenario, variant_run: Callable[..., VariantRun]
):
    bare = scenario.model_copy(update={"assertions": (), "variants": scenario.variants[:1]})
    result = conclude(bare, 1, "embedded", {"healthy": variant_run(1_000_000, right=15)})
    assert not result.passed
    assert [(item.passed, item.value, item.limit) for item in result.assertions] == [(False, 15, 16)]


def test_a_fault_after_the_end_fails(scenario: Scenario, variant_run: Callable[..., VariantRun]):
    late = {"healthy": variant_run(1_000_000), "cut": variant_run(250_000, cut="npu0-npu1")}
    result = conclude(scenario, 1, "embedded", late)
    (fault,) = [item for item in result.assertions if "before the end" in item.name]
    assert (fault.passed, fault.value, fault.limit) == (False, 0.3, 0.25)


@pytest.mark.parametrize(
    ("right", "cut_off", "passed"),
    [(15, "npu3 is cut off", True), (15, "", False), (16, "npu3 is cut off", False)],
)
def test_a_halt_that_is_expected_needs_nodes_that_are_unreachable(
    scenario: Scenario, variant_run: Callable[..., VariantRun], right: int, cut_off: str, passed: bool
):
    halting = scenario.variants[0].model_copy(update={"expect": "halt"})
    halts = scenario.model_copy(update={"assertions": (), "variants": (halting,)})
    run = variant_run(1_000_000, right=right)
    run = replace(run, observation=replace(run.observation, cut_off=cut_off))
    (outcome,) = conclude(halts, 1, "embedded", {"healthy": run}).assertions
    assert (outcome.passed, outcome.op, outcome.value, outcome.limit) == (passed, "<", right, 16)


@pytest.mark.parametrize(
    ("relation", "limit", "passed"),
    [("max", 1, True), ("max", 0.999, False), ("min", 1, True), ("min", 1.001, False), ("equals", 1, True)],
)
def test_limits_include_their_own_value(
    scenario_file: Path, runs: dict[str, VariantRun], relation: str, limit: float, passed: bool
):
    text = scenario_file.read_text().split("assertions:")[0]
    scenario_file.write_text(f"{text}assertions: [{{metric: healthy.completion_us, {relation}: {limit}}}]\n")
    result = conclude(load(scenario_file)[0], 1, "embedded", runs)
    assert result.assertions[-1].passed is passed


TIMED = "metric: cut.completion_us, max: 0.5"
UNTIMED = "metric: cut.npus, equals: 15"
ACROSS = "metric: healthy.completion_us, min: {metric: cut.completion_us, times: 10}"


@pytest.mark.parametrize(
    ("assertion", "healthy", "cut", "judged"),
    [
        (TIMED, "believed", "doubted", False),
        (TIMED, "doubted", "believed", True),
        (TIMED, "believed", "believed", True),
        (UNTIMED, "doubted", "doubted", True),
        (ACROSS, "believed", "doubted", False),
        (ACROSS, "doubted", "believed", False),
        (ACROSS, "believed", "believed", True),
    ],
)
def test_times_that_cannot_be_believed_decide_nothing(
    scenario_file: Path,
    runs: dict[str, VariantRun],
    fidelities: dict[str, Fidelity],
    assertion: str,
    healthy: str,
    cut: str,
    judged: bool,
):
    """Every one of these assertions fails where it is judged."""
    scenario_file.write_text(scenario_file.read_text().split("assertions:")[0])
    with scenario_file.open("a") as file:
        file.write(f"assertions: [{{{assertion}}}]\n")
    real = {
        name: replace(runs[name], fidelity=fidelities[word])
        for name, word in (("healthy", healthy), ("cut", cut))
    }
    result = conclude(load(scenario_file)[0], 1, "mininet", real)
    last = result.assertions[-1]
    assert (last.judged, last.passed) == (judged, False)
    assert last.verdict == ("fails" if judged else "not judged")
    assert result.passed is not judged
    assert (result.held, result.unjudged) == (3, 0 if judged else 1)


def test_wrong_data_fails_however_doubtful_the_times(
    scenario: Scenario, variant_run: Callable[..., VariantRun], fidelities: dict[str, Fidelity]
):
    bare = scenario.model_copy(update={"assertions": (), "variants": scenario.variants[:1]})
    wrong = replace(variant_run(1_000_000, right=15), fidelity=fidelities["doubted"])
    assert not conclude(bare, 1, "mininet", {"healthy": wrong}).passed


def test_a_fault_after_the_end_fails_however_doubtful_the_times(
    scenario: Scenario, variant_run: Callable[..., VariantRun], fidelities: dict[str, Fidelity]
):
    late = {"healthy": variant_run(1_000_000), "cut": variant_run(250_000, cut="npu0-npu1")}
    real = {name: replace(item, fidelity=fidelities["doubted"]) for name, item in late.items()}
    result = conclude(scenario, 1, "mininet", real)
    assert not result.passed
    assert [item.name for item in result.assertions if item.verdict == "fails"] == [
        "cut: npu0-npu1 goes down before the end"
    ]


def test_a_real_time_result_says_whether_to_believe_it(
    scenario: Scenario, runs: dict[str, VariantRun], fidelities: dict[str, Fidelity]
):
    real = {
        "healthy": replace(runs["healthy"], fidelity=fidelities["believed"]),
        "cut": replace(runs["cut"], fidelity=fidelities["doubted"]),
    }
    document = json.loads(to_json(conclude(scenario, 7, "mininet", real, switch="bmv2")))
    assert (document["testbed"], document["switch"]) == ("mininet", "bmv2")
    assert set(document["fidelity"]) == {"healthy", "cut"}
    assert document["fidelity"]["healthy"]["trustworthy"] is True
    assert document["fidelity"]["cut"]["trustworthy"] is False
    assert [item["judged"] for item in document["assertions"]] == [True, True, True, True, False]


def test_what_is_true_at_any_speed_is_not_timed():
    assert [name for name, metric in METRICS.items() if not metric.timed] == [
        "bound_us",
        "npus",
        "correct_npus",
        "result_crc32",
        "sent_frames",
        "received_frames",
        "dropped_frames",
        "table_entries",
        "fault_us",
        "notices",
        "nodes_notified",
        "entries_rewritten",
    ]
