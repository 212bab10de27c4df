# SPDX-License-Identifier: Apache-2.0
"""Assertions of a report: those that fail come first, with short values."""

from dataclasses import replace

from harness.report.results import Outcome, conclude
from harness.report.verdicts import failing_html
from harness.run.observation.variant_run import VariantRun
from harness.scenario.schema import Scenario


def test_assertions_that_fail_are_listed_with_short_values(scenario: Scenario, runs: dict[str, VariantRun]):
    result = conclude(scenario, 1, "embedded", runs)
    holds = Outcome("fine", "cut.npus", "==", 8, 8, True)
    assert failing_html(replace(result, assertions=(holds,))) == []
    fails = Outcome("a <cut> is cheap", "cut.completion_us", "<=", 28.027645800000002, 32.205336, False)
    listed = "".join(failing_html(replace(result, assertions=(holds, fails))))
    assert (
        "<li>a &lt;cut&gt; is cheap: cut.completion_us is 32.205336, required &lt;= 28.0276458</li>" in listed
    )
    assert "fine" not in listed


def test_values_of_assertions_keep_all_digits_of_whole_numbers():
    many = Outcome("bytes", "cut.bytes", "==", 1e11, 123_456_789_012, False)
    assert (many.shown_value, many.shown_limit) == ("123456789012", "100000000000")
    never = Outcome("noticed", "cut.detected_us", "<=", 2.5, float("inf"), False)
    assert (never.shown_value, never.shown_limit) == ("never", "2.5")
