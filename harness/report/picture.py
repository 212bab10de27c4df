# SPDX-License-Identifier: Apache-2.0
"""Write picture.svg: the fabric with the load of its links, and the charts of the scenario, on a sheet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from harness.report.charts import Charts
from harness.report.fidelity import verdict
from harness.report.figures.fabric import FABRIC_STYLE, fabric_svg
from harness.report.figures.plot import SHEET_STYLE
from harness.run.observation.variant_run import VariantRun, busy_share
from harness.scenario.schema import Scenario
from topologies import Fabric

__all__ = ["link_use", "picture_svg"]

# CSS of the sheet, which measures 1180 by 610, or 1180 by 642 with a line for the verdict on the times.
_STYLE = f"""{SHEET_STYLE}.head {{ font: 600 15px system-ui, sans-serif; fill: currentColor; }}
"""


def picture_svg(
    scenario: Scenario, fabric: Fabric, runs: Mapping[str, VariantRun], charts: Charts | None = None
) -> str:
    """Return the SVG with link loads of the first variant with a fault, and charts of all variants.

    `charts` are the charts of the scenario and runs, if the caller has drawn them already.
    """
    charts = charts or Charts(scenario, runs)
    shown = next((variant for variant in scenario.variants if variant.faults), scenario.variants[0])
    word = verdict({name: run.fidelity for name, run in runs.items() if run.fidelity})
    height = 642 if word else 610
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    parts = [
        f'<svg {spaces} viewBox="0 0 1180 {height}">',
        f"<style>{_STYLE}{FABRIC_STYLE}</style>",
        f'<rect class="sheet" width="1180" height="{height}" rx="10"/>',
        f'<text class="head" x="24" y="34">{escape(shown.label)}: busy share of each link</text>',
        _placed(link_use(fabric, runs, shown.name), 14, 44, 520, 550),
        '<text class="head" x="566" y="34">Data that arrived, over time</text>',
        _placed(charts.deliveries, 556, 44, 610, 310),
        '<text class="head" x="566" y="388">Completion time</text>',
        _placed(charts.completion_times, 556, 396, 610, 200),
        *([f'<text class="head" x="24" y="624">{word}</text>'] if word else []),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _placed(svg: str, x: int, y: int, width: int, height: int) -> str:
    place = f'<svg x="{x}" y="{y}" width="{width}" height="{height}" preserveAspectRatio="xMinYMin meet"'
    return re.sub(r"^<svg", place, svg, count=1)


def link_use(fabric: Fabric, runs: Mapping[str, VariantRun], variant: str) -> str:
    """Return an SVG of the fabric with the busy share of each link in a variant.

    The scale is equal for all variants: it ends at the busiest direction of any link, rounded up to a tenth.
    """
    pairs = [pair for run in runs.values() for pair in busy_share(run).values()]
    busiest = max(max(pair) for pair in pairs)
    full = min(1.0, max(0.1, (int(busiest * 10) + 1) / 10))
    return fabric_svg(fabric, busy_share(runs[variant]), _cut_links(runs[variant]), full=full)


def _cut_links(run: VariantRun) -> set[str]:
    """Return the names of links taken down by a fault, including links repaired later."""
    down = (fault for fault in run.observation.faults if fault.event == "down")
    return {link for fault in down for link in fault.links or (fault.target,)}
