# SPDX-License-Identifier: Apache-2.0
"""Draw comparisons: measurements against limits, frame losses, distributions over runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from harness.report.figures.plot import (
    DASHES,
    INK,
    MARKS,
    bare_rows,
    colour,
    legend_below,
    new_figure,
    plain,
    svg_of,
    write_beside,
)

__all__ = ["Dropped", "Samples", "Used", "distributions_svg", "drops_svg", "limits_svg"]


@final
@dataclass(frozen=True, slots=True)
class Used:
    """Measurements of a variant as shares of their limits, by the name of the measurement."""

    index: int
    label: str
    shares: Mapping[str, float]


@final
@dataclass(frozen=True, slots=True)
class Dropped:
    """Number of frames that a variant lost, by place of loss."""

    index: int
    label: str
    frames: Mapping[str, int]


@final
@dataclass(frozen=True, slots=True)
class Samples:
    """Values of a metric of a variant in many runs; `failed` is the number of runs without a value."""

    index: int
    label: str
    values: Sequence[float]
    failed: int = 0

    @property
    def legend(self) -> str:
        """Label of the curve, with the number of failed runs."""
        if not self.failed:
            return self.label
        return f"{self.label}: {self.failed} of {self.failed + len(self.values)} runs failed"


def limits_svg(variants: Sequence[Used]) -> str:
    """Draw a row for each limit, and in it a mark for each variant's value divided by the limit.

    Values of twice the limit or more are drawn at the right edge.
    """
    rows = list(variants[0].shares)
    figure, axes = new_figure(height=0.75 + 0.3 * len(rows))
    axes.axvline(1, color=INK, linewidth=1.8)
    spread = min(0.3, 0.8 / len(variants))
    for order, variant in enumerate(variants):
        shift = spread * (order - (len(variants) - 1) / 2)
        axes.plot(
            [min(variant.shares[what], 2.0) for what in rows],
            [row + shift for row in range(len(rows))],
            linestyle="none",
            marker=MARKS[variant.index % len(MARKS)],
            markersize=6.5,
            color=colour(variant.index),
            clip_on=False,
            label=variant.label,
        )
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 2)
    axes.set_xticks([0, 0.5, 1, 1.5, 2], ["0", "half", "limit", "1.5 x", "2 x or more"])
    axes.grid(axis="y", color=INK, alpha=0.12)
    bare_rows(axes, pad=9)
    legend_below(axes, len(rows))
    return svg_of(figure, "limits")


def drops_svg(variants: Sequence[Dropped], places: Sequence[str]) -> str:
    """Draw a bar for each place and each variant that lost frames at this place."""
    from matplotlib.ticker import MaxNLocator

    bars = [
        (place, variant, variant.frames[place])
        for place in places
        for variant in variants
        if variant.frames.get(place)
    ]
    figure, axes = new_figure(height=0.75 + 0.3 * len(bars))
    named: set[int] = set()
    for row, (_, variant, frames) in enumerate(bars):
        label = None if variant.index in named else variant.label
        named.add(variant.index)
        axes.barh(row, frames, height=0.62, color=colour(variant.index), label=label)
        write_beside(axes, f"{frames:,}", (frames, row), 6)
    first = [0] + [row for row in range(1, len(bars)) if bars[row][0] != bars[row - 1][0]]
    axes.set_yticks(first, [bars[row][0] for row in first])
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, 1.12 * max(frames for _, _, frames in bars))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.set_xlabel("frames")
    bare_rows(axes)
    legend_below(axes, len(bars), 0.25)
    return svg_of(figure, "drops")


def distributions_svg(panels: Mapping[str, Sequence[Samples]]) -> str:
    """Draw cumulative distributions: a panel for each metric by its title, a curve for each variant.

    A panel without a value says in words that all runs failed.
    """
    figure, _ = new_figure(height=2.6)
    figure.clear()
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, variants) in zip(all_axes, panels.items(), strict=True):
        plain(axes)
        for samples in variants:
            if samples.values:
                axes.ecdf(
                    samples.values,
                    color=colour(samples.index),
                    linestyle=DASHES[samples.index % len(DASHES)],
                    linewidth=1.8,
                    label=samples.legend,
                )
        if not any(samples.values for samples in variants):
            failed = sum(samples.failed for samples in variants)
            words = f"nothing to draw:\n{failed} of {failed} runs failed" if failed else "no runs"
            axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=INK)
            axes.set_xticks([])
        axes.set_xlabel(title)
        axes.set_ylim(0, 1.03)
        axes.set_yticks([0, 0.5, 1], ["0", "half", "all"])
    all_axes[0].set_ylabel("share of the runs")
    if any(samples.values for variants in panels.values() for samples in variants):
        all_axes[0].legend(
            frameon=False, labelcolor=INK, loc="upper left", bbox_to_anchor=(0, -0.25), ncols=2
        )
    return svg_of(figure, "distributions")
