# SPDX-License-Identifier: Apache-2.0
"""Figures of a whole scenario, and picture.svg, which has them on one sheet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from lab.report.fidelity import verdict
from lab.report.figures.fabric import FABRIC_STYLE, fabric_svg
from lab.report.figures.run_charts import Bar, Curve, bars_svg, timeline_svg
from lab.report.metrics import VariantRun, busy_share
from lab.scenario.schema import Scenario
from topologies import Fabric

__all__ = ["completion_times", "curves", "deliveries", "link_use", "picture_svg"]

# The sheet measures 1180 by 610, and a line more with a verdict on its times.
SHEET_STYLE = """
svg { color: #1c2127; --page: #fff; }
@media (prefers-color-scheme: dark) { svg { color: #e4e8ec; --page: #14181c; } }
.sheet { fill: #fff; fill: var(--page, #fff); }
.head { font: 600 15px system-ui, sans-serif; fill: currentColor; }
"""

# Words of the timeline for events, where the event's own name is not the shortest.
EVENT_WORDS = {"down": "cut", "up": "back", "rate": "slower", "clear": "repaired"}


def picture_svg(scenario: Scenario, fabric: Fabric, runs: Mapping[str, VariantRun]) -> str:
    """Return the fabric of the first variant with a fault, deliveries and completion times on one sheet."""
    shown = next((variant for variant in scenario.variants if variant.faults), scenario.variants[0])
    word = verdict({name: run.fidelity for name, run in runs.items() if run.fidelity})
    height = 642 if word else 610
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    parts = [
        f'<svg {spaces} viewBox="0 0 1180 {height}">',
        f"<style>{SHEET_STYLE}{FABRIC_STYLE}</style>",
        f'<rect class="sheet" width="1180" height="{height}" rx="10"/>',
        f'<text class="head" x="24" y="34">{escape(shown.label)}: busy share of each link</text>',
        _placed(link_use(fabric, runs, shown.name), 14, 44, 520, 550),
        '<text class="head" x="566" y="34">Data that arrived, over time</text>',
        _placed(deliveries(scenario, runs), 556, 44, 610, 310),
        '<text class="head" x="566" y="388">Completion time</text>',
        _placed(completion_times(scenario, runs), 556, 396, 610, 200),
        *([f'<text class="head" x="24" y="624">{word}</text>'] if word else []),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _placed(svg: str, x: int, y: int, width: int, height: int) -> str:
    place = f'<svg x="{x}" y="{y}" width="{width}" height="{height}" preserveAspectRatio="xMinYMin meet"'
    return re.sub(r"^<svg", place, svg, count=1)


def completion_times(scenario: Scenario, runs: Mapping[str, VariantRun], *, named: bool = False) -> str:
    """Return the bars of all variants beside their bounds as SVG; see bars_svg."""
    return bars_svg(
        [
            Bar(
                index,
                variant.label,
                runs[variant.name].observation.completion_ps / 10**6,
                runs[variant.name].bound_ps / 10**6,
                runs[variant.name].doubtful,
                _failure(runs[variant.name]),
            )
            for index, variant in enumerate(scenario.variants)
        ],
        named=named,
    )


def _failure(run: VariantRun) -> str:
    """Say why a run has no correct result; empty when it has one."""
    seen = run.observation
    if seen.deadlock is not None:
        return f"deadlock at {seen.deadlock.at_ps / 10**6:,.2f} µs"
    if seen.correct_nodes < seen.nodes:
        return f"failed at {seen.completion_ps / 10**6:,.2f} µs: {seen.correct_nodes} of {seen.nodes} correct"
    return ""


def deliveries(scenario: Scenario, runs: Mapping[str, VariantRun], *, named: bool = False) -> str:
    """Return the rate at which data arrived over time as SVG; see timeline_svg and curves."""
    real_time = any(run.fidelity for run in runs.values())
    clock = "scenario time" if real_time else "virtual time"
    return timeline_svg(curves(scenario, runs), clock, named=named)


def curves(scenario: Scenario, runs: Mapping[str, VariantRun]) -> list[Curve]:
    """Return the curves of the variants that share a time scale.

    Variants with another collective than the first variant with a fault have another time scale and are left
    out.
    """
    model = next((variant for variant in scenario.variants if variant.faults), scenario.variants[0])
    drawn = []
    for index, variant in enumerate(scenario.variants):
        if (variant.collective, variant.graph) != (model.collective, model.graph):
            continue
        seen = runs[variant.name].observation
        bin_us = seen.timeline.bin_ps / 10**6
        converged = seen.recovery.converged_ps
        drawn.append(
            Curve(
                index,
                variant.label,
                bin_us,
                [8 * delivered / (bin_us * 10**6) for delivered in seen.timeline.delivered],
                [(fault.at_ps / 10**6, EVENT_WORDS.get(fault.event, fault.event)) for fault in seen.faults],
                converged / 10**6 if seen.faults and converged is not None else None,
                bool(_failure(runs[variant.name])),
            )
        )
    return drawn


def link_use(fabric: Fabric, runs: Mapping[str, VariantRun], variant: str) -> str:
    """Return the fabric with the busy share of each link in one variant as SVG.

    One scale holds for all variants: up to the busiest direction of any link, rounded up to the next tenth.
    """
    pairs = [pair for run in runs.values() for pair in busy_share(run).values()]
    busiest = max(max(pair) for pair in pairs)
    full = min(1.0, max(0.1, (int(busiest * 10) + 1) / 10))
    return fabric_svg(fabric, busy_share(runs[variant]), _cut_links(runs[variant]), full=full)


def _cut_links(run: VariantRun) -> set[str]:
    """Return the links that a fault took down, repaired or not."""
    down = (fault for fault in run.observation.faults if fault.event == "down")
    return {link for fault in down for link in fault.links or (fault.target,)}
