# SPDX-License-Identifier: Apache-2.0
"""Plot of a comparison of fabrics as one SVG sheet: mean completion above ideal, and slowdowns of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.report.figures.plot import DASHES, INK, colour, plain, svg_of
from papers.flow_level.study import PAPER, Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_svg"]

# A job counts as slowed if it runs at least this many per cent longer than alone.
_LEAST = 0.01


def plot_svg(result: Comparison) -> str:
    """Draw a comparison of the ideal fabric and others as SVG; equal comparisons give equal bytes."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    shown = [name for name in result.study.fabrics if name != "ideal"]
    figure = Figure(figsize=(11.5, 4.2))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _means(left, result, shown)
    _slowed(right, result, shown)
    mark = Line2D([], [], color=INK, marker="_", linestyle="none", markersize=14, markeredgewidth=2.4,
                  label="released by the authors, on another trace")  # fmt: skip
    left.legend(handles=[mark], loc="upper left", frameon=False, labelcolor=INK)
    right.legend(loc="upper right", frameon=False, labelcolor=INK)
    study = result.study
    figure.suptitle(
        f"{study.workload.jobs:,} jobs on {study.cluster.size:,} NPUs", x=0.06, ha="left", color=INK
    )
    figure.tight_layout()
    return svg_of(figure, "flow-level")


def _means(axes: Axes, result: Comparison, shown: list[str]) -> None:
    ours = [100 * (result.against_ideal(name) - 1) for name in shown]
    released: list[float] = [0.0]
    numbers = range(len(shown))
    bars = axes.bar(numbers, ours, width=0.6, color=[colour(index) for index in numbers], alpha=0.85)
    axes.bar_label(bars, fmt="{:+.2f} %", padding=3, color=INK)
    for number, name in enumerate(shown):
        if name in PAPER:
            released.append(100 * (PAPER[name] / PAPER["ideal"] - 1))
            axes.plot([number - 0.36, number + 0.36], [released[-1]] * 2, color=INK, linewidth=2.4)
    axes.set_xticks(list(numbers), [name.replace(", ", ",\n") for name in shown])
    axes.set_ylim(0, 1.25 * max(*ours, *released, 0.1))
    axes.set_ylabel("mean completion time above ideal, %")
    axes.grid(axis="y", color=INK, alpha=0.12)
    plain(axes)


def _slowed(axes: Axes, result: Comparison, shown: list[str]) -> None:
    for index, name in enumerate(shown):
        jobs = [job for outcome in result.outcomes[name].values() for job in outcome.jobs]
        slowed = np.sort([100 * (job.slowdown - 1) for job in jobs])[::-1]
        slowed = slowed[slowed >= _LEAST]
        share = 100 * np.arange(1, len(slowed) + 1) / len(jobs)
        axes.step(
            np.append(slowed, _LEAST),
            np.append(share, share[-1] if len(share) else 0.0),
            where="post",
            color=colour(index),
            linestyle=DASHES[index % len(DASHES)],
            label=name,
        )
    axes.set_xscale("log")
    axes.set_xlim(left=_LEAST)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("how much longer a job runs than alone, %")
    axes.set_ylabel("jobs slowed by at least that, %")
    axes.grid(axis="y", color=INK, alpha=0.12)
    plain(axes)
