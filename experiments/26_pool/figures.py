# SPDX-License-Identifier: Apache-2.0
"""Time and operations of each variant, as a picture."""

from collections.abc import Mapping
from typing import Any

from harness.report.figures.plot import INK, bare_rows, colour, new_figure, svg_of

TITLES = {
    "one-cpu": "one CPU lends",
    "two-cpus": "two CPUs",
    "four-cpus": "four CPUs",
    "neighbours": "four CPUs, eight neighbours",
    "lossy": "four, one loses 5 % of its frames",
    "copies": "four, two copies",
    "dead": "two copies, a CPU dies",
    "gone": "one copy, a CPU dies",
}


def picture(result: Mapping[str, Any]) -> str:
    """Draw time and operations that ended right, a bar for each variant."""
    metrics = result["metrics"]
    rows = {name: (metrics[f"{name}.completion_us"], metrics[f"{name}.memory_operations"]) for name in TITLES}
    figure, _ = new_figure(height=2.8)
    figure.clear()
    panels = figure.subplots(1, 2, sharey=True)
    for number, (axes, title) in enumerate(zip(panels, ("time, µs", "operations that ended"), strict=True)):
        values = [row[number] for row in rows.values()]
        axes.barh(range(len(values)), values, color=[colour(row >= 6) for row in range(len(values))])
        for row, value in enumerate(values):
            words = f"{value:,.0f}" if number else f"{value:.2f}"
            axes.annotate(
                words, (value, row), xytext=(4, 0), textcoords="offset points", va="center", color=INK
            )
        axes.set_xlim(0, 1.3 * max(values))
        axes.set_xticks([])
        axes.set_xlabel(title, color=INK)
        for side in ("top", "right", "bottom"):
            axes.spines[side].set_visible(False)
        axes.tick_params(colors=INK)
        bare_rows(axes)
    panels[0].set_yticks(range(len(rows)), [TITLES[name] for name in rows])
    panels[0].invert_yaxis()
    figure.tight_layout()
    return svg_of(figure, "pool")
