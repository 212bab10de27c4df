# SPDX-License-Identifier: Apache-2.0
"""Time and operations of each variant, as a picture."""

from collections.abc import Mapping
from typing import Any

from harness.report.figures.plot import bar_panels, colour, svg_of

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
    times = [metrics[f"{name}.completion_us"] for name in TITLES]
    ended = [metrics[f"{name}.memory_operations"] for name in TITLES]
    panels = {
        "time, µs": [(value, f"{value:.2f}") for value in times],
        "operations that ended": [(value, f"{value:,.0f}") for value in ended],
    }
    colours = [colour(row >= 6) for row in range(len(TITLES))]
    return svg_of(bar_panels([*TITLES.values()], panels, colours, height=2.8, room=1.3), "pool")
