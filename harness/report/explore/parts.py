# SPDX-License-Identifier: Apache-2.0
"""Interactive controls of report.html as HTML, with their script and styles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path

from harness.report.explore.data import MAX_LINKS, explorer_json, links_by_load
from harness.report.figures.plot import colour
from harness.report.markup import shown
from harness.run.observation.variant_run import VariantRun
from harness.scenario.schema import Scenario

__all__ = [
    "explore_script",
    "explore_style",
    "heading",
    "links_table",
    "time_slider",
    "variant_switches",
]

_FOLDER = Path(__file__).parent
_ROWS_WITHOUT_SCRIPT = 20

_COLUMNS = (
    ("variant", "variant of the scenario"),
    ("link", "name of the link, its first end first"),
    ("busy there, %", "share of the run during which the first end was sending"),
    ("busy back, %", "share of the run during which the second end was sending"),
    ("bytes there", "bytes that the first end sent"),
    ("bytes back", "bytes that the second end sent"),
    ("frames there", "frames that the first end sent"),
    ("frames back", "frames that the second end sent"),
    ("lost", "frames lost on the link or refused by it, both ways"),
    ("longest queue, B", "most bytes that waited for the link in one direction"),
)


@cache
def explore_style() -> str:
    """Return the CSS of the controls, of explanations and of the printed page."""
    return (_FOLDER / "explore.css").read_text(encoding="utf-8")


def explore_script(scenario: Scenario, runs: Mapping[str, VariantRun]) -> str:
    """Return <script> elements: the values as JSON, and the scripts."""
    values = f'<script type="application/json" id="values">{explorer_json(scenario, runs)}</script>'
    scripts = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("explore.js", "save.js"))
    return "\n".join([values, *(f"<script>\n{script}</script>" for script in scripts)])


def heading(title: str, words: str) -> str:
    """Return an HTML heading with an explanation as a tooltip, shown on hover or focus."""
    return f'<h2>{title} <span class="why" tabindex="0">?<span role="tooltip">{words}</span></span></h2>'


def variant_switches(scenario: Scenario) -> str:
    """Return a checkbox for each variant as HTML; empty for a single variant."""
    if len(scenario.variants) < 2:
        return ""
    boxes = "".join(
        f'<label><input type="checkbox" checked data-switch="{index}">'
        f'<span class="chip" style="background:{colour(index)}"></span> {escape(variant.label)}</label>'
        for index, variant in enumerate(scenario.variants)
    )
    return f'<div class="switches scripted" role="group" aria-label="variants">{boxes}</div>'


def time_slider() -> str:
    """Return the time slider, buttons for the previous and next event, and an element for the values."""
    return (
        '<div class="slider scripted"><button type="button" data-step="-1">previous event</button>'
        '<input type="range" min="0" max="1000" value="1000" aria-label="time">'
        '<button type="button" data-step="1">next event</button><output></output></div>'
        '<div class="moment" aria-live="polite"></div>'
    )


def links_table(scenario: Scenario, runs: Mapping[str, VariantRun]) -> str:
    """Return a table of all variants' busiest links; the script adds more links, sorting and a filter."""
    rows = [
        (index, variant.label, row)
        for index, variant in enumerate(scenario.variants)
        for row in links_by_load(runs[variant.name])
    ]
    busiest = sorted(rows, key=lambda item: (-max(item[2][1], item[2][2]), item[0], item[2][0]))
    lines = "\n".join(
        f'<tr data-variant="{index}"><td>{escape(label)}</td><td>{escape(row[0])}</td>'
        + "".join(f'<td class="n">{shown(value)}</td>' for value in row[1:])
        + "</tr>"
        for index, label, row in busiest[:_ROWS_WITHOUT_SCRIPT]
    )
    heads = "".join(
        f'<th scope="col" title="{escape(words)}"{"" if column < 2 else " class=n"}>'
        f'<button type="button" data-column="{column}">{escape(name)}</button></th>'
        for column, (name, words) in enumerate(_COLUMNS)
    )
    most = max(len(runs[variant.name].observation.link_usage) for variant in scenario.variants)
    left_out = (
        f" The table has the {MAX_LINKS} busiest links of each variant, and all links that lost frames."
        if most > MAX_LINKS
        else ""
    )
    return (
        f'<p class="soft">The busiest links come first.{left_out}</p>'
        '<p class="scripted"><label>Filter <input type="search" id="filter" placeholder="npu0"></label> '
        '<span id="count" class="soft" aria-live="polite"></span></p>'
        f'<div class="scroll tall"><table id="links"><thead><tr>{heads}</tr></thead>'
        f"<tbody>\n{lines}</tbody></table></div>"
    )
