# SPDX-License-Identifier: Apache-2.0
"""Plot of a study as one SVG sheet.

A row for each reading has a panel by model and a panel by sequence length, both with the paper's values.
"""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

from harness.report.figures.plot import DASHES, INK, MARKS, colour, on_sheet, plain, svg_of
from papers.training.study import READINGS, Outcome, PaperValue

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_svg"]


def plot_svg(outcome: Outcome) -> str:
    """Draw a study as SVG; equal outcomes give equal bytes."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    study = outcome.study
    figure = Figure(figsize=(11.5, 3.6 * len(READINGS) + 0.6))
    grid = figure.subplots(len(READINGS), 2, squeeze=False, sharey=True, width_ratios=(1, 1.25))
    heights = [100.0]
    for (left, right), (reading, (_, text)) in zip(grid, READINGS.items(), strict=True):
        for index, variant in enumerate(study.compared):
            heights += _by_model(left, outcome, reading, index, variant.name)
            heights += _by_length(right, outcome, reading, index, variant.name)
        left.set_title(f"{reading}: {text}", loc="left", fontsize=9.5, color=INK)
        left.set_ylabel(f"performance of an NPU, % of {study.baseline}")
        left.set_xticks(range(len(study.models)), study.models)
        left.set_xlabel("mean over lengths")
        right.set_xticks(range(len(study.sequences)), study.sequences)
        right.set_xlabel("tokens of a sequence; mean over models")
    for axes in grid.flat:
        axes.axhline(100, color=INK, linewidth=1)
        axes.set_ylim(floor(min(heights) - 0.5), ceil(max(heights) + 0.3))
        axes.grid(axis="y", color=INK, alpha=0.12)
        plain(axes)
    handles = [
        Line2D([], [], color=colour(index), marker=MARKS[index % len(MARKS)], label=variant.label)
        for index, variant in enumerate(study.compared)
    ]
    if study.paper:
        handles.append(
            Line2D([], [], color=INK, marker="_", linestyle="none", markersize=14, markeredgewidth=2.4,
                   label="the paper's, in the colour of its variant")
        )  # fmt: skip
    figure.legend(
        handles=handles, loc="lower left", ncols=4, frameon=False, labelcolor=INK, bbox_to_anchor=(0.05, 0.0)
    )
    figure.suptitle(study.title or study.name, x=0.06, ha="left", color=INK)
    figure.tight_layout(rect=(0, 0.03 + 0.035 * (len(handles) // 4 + 1), 1, 1))
    return on_sheet(svg_of(figure, study.name))


def _by_model(axes: Axes, outcome: Outcome, reading: str, index: int, name: str) -> list[float]:
    """Draw means over all lengths, and the paper's values for single models; return all heights drawn."""
    study = outcome.study
    width = 0.8 / len(study.compared)
    offset = (index - (len(study.compared) - 1) / 2) * width
    own = [outcome.percent(reading, name, [model]) for model in study.models]
    positions = [position + offset for position in range(len(own))]
    axes.vlines(positions, own, 100, color=colour(index), alpha=0.35, linewidth=1.5)
    axes.plot(positions, own, linestyle="none", marker=MARKS[index % len(MARKS)], color=colour(index))
    for value in study.paper:
        if value.variant == name and value.models and len(value.models) == 1:
            at = positions[study.models.index(value.models[0])]
            own.append(_mark(axes, outcome, reading, value, (at - width / 2, at + width / 2), index))
    return own


def _by_length(axes: Axes, outcome: Outcome, reading: str, index: int, name: str) -> list[float]:
    """Draw means over models, and the paper's values for spans of lengths; return all heights drawn."""
    study = outcome.study
    own = [outcome.percent(reading, name, None, [length]) for length in study.sequences]
    style = {"linestyle": DASHES[index % len(DASHES)], "marker": MARKS[index % len(MARKS)], "markersize": 4}
    axes.plot(range(len(own)), own, color=colour(index), **style)
    for value in study.paper:
        if value.variant == name and not (value.models and len(value.models) == 1):
            at = [study.sequences.index(length) for length in study.span(value.span)]
            own.append(_mark(axes, outcome, reading, value, (min(at) - 0.3, max(at) + 0.3), index))
    return own


def _mark(
    axes: Axes, outcome: Outcome, reading: str, value: PaperValue, ends: tuple[float, float], index: int
) -> float:
    """Draw a value of the paper in its variant's colour with a dark rim; return its height in percent.

    If the paper compares with another variant, the value is multiplied by our result for that variant.
    """
    height = value.percent
    if value.against is not None and value.against != outcome.study.baseline:
        lengths = outcome.study.span(value.span)
        height *= outcome.percent(reading, value.against, value.models, lengths) / 100
    axes.plot(ends, [height] * 2, color=INK, linewidth=3.4, solid_capstyle="butt", zorder=4)
    axes.plot(ends, [height] * 2, color=colour(index), linewidth=1.4, solid_capstyle="butt", zorder=5)
    return height
