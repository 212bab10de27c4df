# SPDX-License-Identifier: Apache-2.0
"""Assertions and lower bounds of a report as HTML."""

from __future__ import annotations

from html import escape

from harness.report.markup import shown, table
from harness.report.results import Bound, Result
from harness.scenario.schema import Scenario

__all__ = ["assertions_table", "bounds_html", "failing_html"]

# CSS class of an assertion's verdict.
_CLASSES = {"holds": "yes", "fails": "no", "not judged": "soft"}


def failing_html(result: Result) -> list[str]:
    """Return a list of the assertions that fail, with values and limits; empty if all hold."""
    lines = [
        f"<li>{escape(item.name)}: {escape(item.metric)} is {item.shown_value}, "
        f"required {escape(item.op)} {item.shown_limit}</li>"
        for item in result.assertions
        if item.verdict == "fails"
    ]
    return ['<ul class="no">', *lines, "</ul>"] if lines else []


def assertions_table(result: Result) -> str:
    """Return a table of all assertions with verdict, value and limit."""
    rows = [
        (
            f'<span class="{_CLASSES[item.verdict]}">{item.verdict}</span>',
            escape(item.name),
            shown(item.value),
            shown(item.limit),
        )
        for item in result.assertions
    ]
    return table(("", "assertion", "value", "limit"), rows, numbers=2)


def bounds_html(scenario: Scenario, result: Result) -> list[str]:
    """Return lists of lower bounds of the variants' collectives; the largest is the mark in the chart.

    Variants with the same bounds share a list.
    """
    labels: dict[tuple[Bound, ...], list[str]] = {}
    for variant in scenario.variants:
        if bounds := result.bounds.get(variant.name, ()):
            labels.setdefault(bounds, []).append(variant.label)
    if not labels:
        return []
    parts = ["<p>Lower bounds of the collectives, the largest first:</p>"]
    for bounds, named in labels.items():
        lines = [
            f"<li>{escape(f'{bound.job}: ' * bool(bound.job))}{bound.us:,.3f} µs: {escape(bound.bound)}</li>"
            for bound in bounds
        ]
        parts += [f"<p>{escape(', '.join(named))}:</p>"] if len(labels) > 1 else []
        parts += ["<ul>", *lines, "</ul>"]
    return parts
