# SPDX-License-Identifier: Apache-2.0
"""Plot of a study as one SVG sheet.

A row for each reading has a panel by model and a panel by sequence length, both with the paper's values.
"""

from __future__ import annotations

import io
from math import ceil, floor
from typing import TYPE_CHECKING

from harness.report.figures.plot import DASHES, MARKS, colour
from papers.training.study import READINGS, Outcome, PaperValue

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_svg"]

INK = "#333333"


def plot_svg(outcome: Outcome) -> str:
    """Draw a study as SVG; equal outcomes give equal bytes."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    study = outcome.study
    shown = [variant for variant in study.variants if variant.name != study.baseline]
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": study.name, "font.size": 9}):
        figure = Figure(figsize=(11.5, 3.6 * len(READINGS) + 0.6))
        grid = figure.subplots(len(READINGS), 2, squeeze=False, sharey=True, width_ratios=(1, 1.25))
        heights: list[float] = []
        for (left, right), (reading, (_, text)) in zip(grid, READINGS.items(), strict=True):
            heights += _by_model(left, outcome, reading)
            heights += _by_length(right, outcome, reading)
            left.set_title(f"{reading}: {text}", loc="left", fontsize=9.5, color=INK)
            left.set_ylabel(f"performance of an NPU, % of {study.baseline}")
        for axes in grid.flat:
            axes.set_ylim(floor(min(heights, default=100) - 0.5), ceil(max(*heights, 100) + 0.3))
            axes.grid(axis="y", color=INK, alpha=0.12)
        handles = [
            Line2D([], [], color=colour(index), marker=MARKS[index % len(MARKS)], label=variant.label)
            for index, variant in enumerate(shown)
        ]
        if study.paper:
            handles.append(
                Line2D([], [], color=INK, marker="_", linestyle="none", markersize=14, markeredgewidth=2.4,
                       label="the paper's, in the colour of its variant")
            )  # fmt: skip
        figure.legend(handles=handles, loc="lower left", ncols=4, frameon=False, bbox_to_anchor=(0.05, 0.0))
        figure.suptitle(study.title or study.name, x=0.06, ha="left", color=INK)
        figure.tight_layout(rect=(0, 0.03 + 0.035 * (len(handles) // 4 + 1), 1, 1))
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", facecolor="white", metadata={"Date": None})
    return buffer.getvalue()


def _marked(outcome: Outcome, reading: str, value: PaperValue) -> float:
    """Return the height of the mark for a value of the paper, in percent of the baseline.

    If the paper compares with another variant, the value is multiplied by our result for that variant.
    """
    if value.against is None or value.against == outcome.study.baseline:
        return value.percent
    base = outcome.percent(reading, value.against, value.models, outcome.study.span(value.span))
    return base * value.percent / 100


def _by_model(axes: Axes, outcome: Outcome, reading: str) -> list[float]:
    """Draw means over all lengths, and the paper's values for single models; return all heights drawn."""
    study = outcome.study
    shown = [variant.name for variant in study.variants if variant.name != study.baseline]
    width = 0.8 / len(shown)
    drawn: list[float] = []
    for index, name in enumerate(shown):
        offset = (index - (len(shown) - 1) / 2) * width
        own = [outcome.percent(reading, name, [model]) for model in study.models]
        drawn += own
        positions = [position + offset for position in range(len(own))]
        axes.vlines(positions, own, 100, color=colour(index), alpha=0.35, linewidth=1.5)
        axes.plot(positions, own, linestyle="none", marker=MARKS[index % len(MARKS)], color=colour(index))
        for value in study.paper:
            if value.variant == name and value.models and len(value.models) == 1:
                position = study.models.index(value.models[0]) + offset
                drawn.append(_marked(outcome, reading, value))
                _mark(axes, position - width / 2, position + width / 2, drawn[-1], colour(index))
    axes.axhline(100, color=INK, linewidth=1)
    axes.set_xticks(range(len(study.models)), study.models)
    axes.set_xlabel("mean over lengths")
    _plain(axes)
    return drawn


def _by_length(axes: Axes, outcome: Outcome, reading: str) -> list[float]:
    """Draw means over models, and the paper's values for spans of lengths; return all heights drawn."""
    study = outcome.study
    shown = [variant.name for variant in study.variants if variant.name != study.baseline]
    lengths = study.sequences
    heights: list[float] = []
    for index, name in enumerate(shown):
        own = [outcome.percent(reading, name, None, [length]) for length in lengths]
        heights += own
        axes.plot(
            range(len(lengths)),
            own,
            color=colour(index),
            linestyle=DASHES[index % len(DASHES)],
            marker=MARKS[index % len(MARKS)],
            markersize=4,
        )
        for value in study.paper:
            if value.variant == name and not (value.models and len(value.models) == 1):
                at = [lengths.index(length) for length in study.span(value.span)]
                heights.append(_marked(outcome, reading, value))
                _mark(axes, min(at) - 0.3, max(at) + 0.3, heights[-1], colour(index))
    axes.axhline(100, color=INK, linewidth=1)
    axes.set_xticks(range(len(lengths)), lengths)
    axes.set_xlabel("tokens of a sequence; mean over models")
    _plain(axes)
    return heights


def _mark(axes: Axes, left: float, right: float, height: float, tone: str) -> None:
    """Draw a value of the paper in its variant's colour with a dark rim, visible on a bar of that colour."""
    axes.plot([left, right], [height] * 2, color=INK, linewidth=3.4, solid_capstyle="butt", zorder=4)
    axes.plot([left, right], [height] * 2, color=tone, linewidth=1.4, solid_capstyle="butt", zorder=5)


def _plain(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=INK)
