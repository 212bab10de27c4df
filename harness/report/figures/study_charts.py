# SPDX-License-Identifier: Apache-2.0
"""Draw charts of a study: a metric along an axis with bands, by name, or along two axes as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from harness.report.figures.plot import DASHES, INK, MARKS, colour, new_figure, plain, svg_of

__all__ = ["Band", "Interval", "bands_svg", "grid_svg", "intervals_svg"]

# An axis is logarithmic if its largest value is more than this factor above its smallest.
_WIDE = 20


@final
@dataclass(frozen=True, slots=True)
class Band:
    """A curve of medians at the values `at` of an axis, each with an interval from `low` to `high`."""

    label: str
    at: Sequence[float]
    median: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """Values of a metric in all runs with a label, their median, and the median's interval, `low` to `high`.

    Intervals with equal `series` have equal colour and mark.
    """

    label: str
    series: int
    values: Sequence[float]
    median: float
    low: float
    high: float


def intervals_svg(intervals: Sequence[Interval], metric: str) -> str:
    """Draw a row for each interval: a faint dot per run, a line from low to high, a mark at the median."""
    figure, axes = new_figure(height=0.9 + 0.32 * len(intervals))
    for row, item in enumerate(intervals):
        ink = colour(item.series)
        axes.plot(
            item.values, [row] * len(item.values), "o", color=ink, alpha=0.25, markersize=4, linewidth=0
        )
        axes.plot([item.low, item.high], [row, row], color=ink, linewidth=2.4, solid_capstyle="butt")
        axes.plot([item.median], [row], MARKS[item.series % len(MARKS)], color=ink, markersize=7)
    axes.set_yticks(range(len(intervals)), [item.label for item in intervals])
    axes.set_ylim(len(intervals) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel(metric)
    return svg_of(figure, "intervals")


def bands_svg(bands: Sequence[Band], axis: str, metric: str) -> str:
    """Draw a curve for each band, with a mark at each median and the interval around it."""
    figure, axes = new_figure(height=3.2)
    for number, band in enumerate(bands):
        axes.plot(
            band.at,
            band.median,
            color=colour(number),
            linestyle=DASHES[number % len(DASHES)],
            marker=MARKS[number % len(MARKS)],
            markersize=5,
            linewidth=1.8,
            label=band.label,
        )
        axes.fill_between(band.at, band.low, band.high, color=colour(number), alpha=0.2, linewidth=0)
    values = sorted({value for band in bands for value in band.at})
    if values[0] > 0 and values[-1] / values[0] > _WIDE:
        axes.set_xscale("log")
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel(axis)
    axes.set_ylabel(metric)
    if len(bands) > 1:
        axes.legend(frameon=False, labelcolor=INK, loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2)
    return svg_of(figure, "bands")


def grid_svg(
    columns: Sequence[str],
    rows: Sequence[str],
    values: Sequence[Sequence[float]],
    labels: tuple[str, str, str],
) -> str:
    """Draw a heat map with a number in the cell of each pair of axis values; a NaN leaves a cell blank.

    `values` has a row of numbers for each value of the second axis. `labels` are the names of the first axis,
    of the second axis, and of the numbers.
    """
    from matplotlib.figure import Figure

    cells = np.ma.masked_invalid(np.asarray(values, dtype=np.float64))
    figure = Figure(figsize=(8.6, 1.2 + 0.5 * len(rows)))
    axes = figure.subplots()
    image = axes.imshow(cells, cmap="viridis", aspect="auto")
    middle = (float(cells.min()) + float(cells.max())) / 2 if cells.count() else 0.0
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            if not np.isnan(value):
                # Cells have the same colours on any page: write white on dark cells, black on bright cells.
                ink = "#ffffff" if value <= middle else "#000000"
                axes.text(column, row, f"{value:.4g}", ha="center", va="center", color=ink)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    plain(axes)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label(labels[2], color=INK)
    bar.ax.tick_params(colors=INK)
    return svg_of(figure, "grid")
