# SPDX-License-Identifier: Apache-2.0
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from emulation.fidelity import Fidelity
from harness.report.results import conclude
from harness.run.observation.variant_run import VariantRun
from harness.scenario.schema import Scenario
from railyard.cli.display.summary import print_summary


def said(scenario: Scenario, runs: dict[str, VariantRun], testbed: str = "mininet") -> str:
    console = Console(file=io.StringIO(), width=160, highlight=False)
    result = conclude(scenario, 1, testbed, runs)
    print_summary(scenario, result, runs, Path("out [1]") / "report.html", console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_virtual_time_needs_no_stamp(scenario: Scenario, runs: dict[str, VariantRun]):
    text = said(scenario, runs, "embedded")
    assert "5 of 5 assertions hold\n" in text
    assert "report: out [1]/report.html\n" in text
    assert "trustworthy" not in text.lower()
    assert "?" not in text


def test_a_failure_is_named_with_both_figures(scenario: Scenario, runs: dict[str, VariantRun]):
    wrong = {**runs, "healthy": replace(runs["healthy"], bound_ps=100_000)}
    text = said(scenario, wrong, "embedded")
    assert "fails healthy.ratio_to_bound at most 2.5: 10 against 2.5\n" in text
    assert "4 of 5 assertions hold\n" in text


def test_a_fault_after_the_end_says_what_to_do(scenario: Scenario, variant_run: Callable[..., VariantRun]):
    late = {"healthy": variant_run(1_000_000), "cut": variant_run(250_000, cut="npu0-npu1")}
    text = said(scenario, late, "embedded")
    assert "0.3 against 0.25; the run ended before the fault, give an earlier `at_us:`\n" in text


def test_what_is_wrong_with_the_data_is_told(scenario: Scenario, runs: dict[str, VariantRun]):
    seen = replace(runs["cut"].observation, correct_nodes=15, first_wrong="npu3: element [4] is 7, not 8")
    text = said(scenario, {**runs, "cut": replace(runs["cut"], observation=seen)})
    assert "cut: npu3: element [4] is 7, not 8\n" in text


@pytest.mark.parametrize("word", ["believed", "doubted"])
def test_real_time_is_stamped(
    scenario: Scenario, runs: dict[str, VariantRun], fidelities: dict[str, Fidelity], word: str
):
    real = {
        "healthy": replace(runs["healthy"], fidelity=fidelities["believed"]),
        "cut": replace(runs["cut"], fidelity=fidelities[word]),
    }
    lines = said(scenario, real).splitlines()
    text = "\n".join(lines)
    if word == "believed":
        assert "timing trustworthy" in lines
        assert "?" not in text
        assert "what helps" not in text
        assert "5 of 5 assertions hold" in lines
        return
    assert "TIMING NOT TRUSTWORTHY" in lines
    assert "not judged cut.completion_us at least healthy.completion_us: 2 against 1" in lines
    assert "cut: the processors were busy 97 % of the time (at most 90 %)" in lines
    assert "note: a <note>" in lines
    assert any(line.startswith("what helps: slower time, --dilation 40000; ") for line in lines)
    assert "4 of 5 assertions hold, 1 not judged" in lines
    assert "2.5 ?" in text
    assert "1.25 ?" not in text
