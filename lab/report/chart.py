# SPDX-License-Identifier: Apache-2.0
"""The charts of a report as SVG: what arrived over time, and how long each variant took beside its bound; of
a run in real time also how much of each limit was used up, and where frames were lost; of
a model its figures beside a paper's.

Text and axes are drawn in `currentColor`, so the page decides; the same data give the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

__all__ = [
    "INK",
    "Bar",
    "Compared",
    "Curve",
    "Dropped",
    "Shares",
    "Used",
    "bars_svg",
    "colour",
    "compared_svg",
    "drops_svg",
    "limits_svg",
    "plain",
    "shares_svg",
    "svg_of",
    "timeline_svg",
]

# Okabe and Ito's palette, those that stand out on white and on black; each has a dash of its own as well.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)))
MARKS = ("o", "s", "^", "D", "v", "P")
INK = "#010203"  # stands for currentColor until the SVG is written


@final
@dataclass(frozen=True, slots=True)
class Curve:
    """Rate of arrival over time; `faults`, each a time and a word, and `recovered_us` are marked in it."""

    index: int
    label: str
    bin_us: float
    tbps: Sequence[float]
    faults: Sequence[tuple[float, str]]
    recovered_us: float | None


@final
@dataclass(frozen=True, slots=True)
class Bar:
    index: int
    label: str
    completion_us: float
    bound_us: float
    doubtful: bool = False
    stopped: bool = False


@final
@dataclass(frozen=True, slots=True)
class Used:
    """Of one variant: how much of each limit was used up, by the name of what is limited."""

    index: int
    label: str
    shares: Mapping[str, float]


@final
@dataclass(frozen=True, slots=True)
class Dropped:
    """Of one variant: frames lost, by place."""

    index: int
    label: str
    frames: Mapping[str, int]


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """A figure of ours and a paper's, None where it has none; `fitted`: ours was made to agree."""

    label: str
    ours: float
    paper: float | None
    fitted: bool = False


@final
@dataclass(frozen=True, slots=True)
class Shares:
    """What one variant gave in many runs."""

    index: int
    label: str
    values: Sequence[float]


def colour(index: int) -> str:
    """The colour of a scenario's variant in every figure."""
    return COLOURS[index % len(COLOURS)]


def timeline_svg(curves: Sequence[Curve], clock: str = "virtual time") -> str:
    figure, axes = _figure(height=3.0)
    for curve in curves:
        edges = [curve.bin_us * index for index in range(len(curve.tbps) + 1)]
        dash = DASHES[curve.index % len(DASHES)]
        axes.stairs(
            list(curve.tbps),
            edges,
            color=colour(curve.index),
            linestyle=dash,
            linewidth=1.8,
            label=curve.label,
        )
    top = 1.05 * max((max(curve.tbps, default=0.0) for curve in curves), default=1.0) or 1.0
    axes.set_ylim(0, 1.16 * top)
    recovered = [curve.recovered_us for curve in curves if curve.recovered_us is not None]
    axes.set_xlim(0, max(axes.get_xlim()[1], *recovered, 0.0))
    struck: dict[float, dict[str, None]] = {}
    for at, word in sorted(fault for curve in curves for fault in curve.faults):
        struck.setdefault(at, {})[word] = None
    for at, words in struck.items():
        axes.axvline(at, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.annotate(
            f"{', '.join(words)}, {at:g} µs",
            (at, 1.09 * top),
            xytext=(4, 0),
            textcoords="offset points",
            color=INK,
        )
    for curve in curves:
        if curve.recovered_us is not None:
            axes.plot(
                [curve.recovered_us],
                [0],
                marker="^",
                markersize=9,
                color=colour(curve.index),
                clip_on=False,
                linestyle="none",
                label=f"{curve.recovered_us:.2f} µs: last table rewritten",
            )
    axes.set_xlabel(f"{clock}, µs")
    axes.set_ylabel("arriving at NPUs, Tbit/s")
    axes.legend(frameon=False, labelcolor=INK, loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2)
    return svg_of(figure, "timeline")


def bars_svg(bars: Sequence[Bar]) -> str:
    figure, axes = _figure(height=0.55 + 0.5 * len(bars))
    longest = max(bar.completion_us for bar in bars)
    for row, bar in enumerate(bars):
        strength = 0.35 if bar.doubtful else None
        axes.barh(row, bar.completion_us, height=0.55, color=colour(bar.index), alpha=strength)
        axes.plot(
            [bar.bound_us] * 2, [row - 0.38, row + 0.38], color=INK, linewidth=2.2, solid_capstyle="butt"
        )
        text = f"{bar.completion_us:,.2f} µs = {bar.completion_us / bar.bound_us:.2f} x bound"
        if bar.stopped:
            text = f"{bar.completion_us:,.2f} µs: deadlock"
        axes.annotate(
            f"{text} ?" if bar.doubtful else text,
            (max(bar.completion_us, bar.bound_us if bar.stopped else 0), row),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=INK,
        )
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.42 * longest)
    axes.set_xlabel("until the last NPU had its result, µs; the mark is the bound")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return svg_of(figure, "bars")


def limits_svg(variants: Sequence[Used]) -> str:
    """A row a limit, a mark a variant; what used up twice its limit or more stands at the edge."""
    rows = list(variants[0].shares)
    figure, axes = _figure(height=0.75 + 0.3 * len(rows))
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
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0, pad=9)
    _legend_below(axes, len(rows))
    return svg_of(figure, "limits")


def drops_svg(variants: Sequence[Dropped], places: Sequence[str]) -> str:
    """A row a place, a bar a variant that lost frames there."""
    bars = [
        (place, variant, variant.frames[place])
        for place in places
        for variant in variants
        if variant.frames.get(place)
    ]
    figure, axes = _figure(height=0.75 + 0.3 * len(bars))
    named: set[int] = set()
    for row, (_, variant, frames) in enumerate(bars):
        label = None if variant.index in named else variant.label
        named.add(variant.index)
        axes.barh(row, frames, height=0.62, color=colour(variant.index), label=label)
        axes.annotate(
            f"{frames:,}", (frames, row), xytext=(6, 0), textcoords="offset points", va="center", color=INK
        )
    first = [0] + [row for row in range(1, len(bars)) if bars[row][0] != bars[row - 1][0]]
    axes.set_yticks(first, [bars[row][0] for row in first])
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, 1.12 * max(frames for _, _, frames in bars))
    axes.xaxis.set_major_locator(_whole())
    axes.set_xlabel("frames")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    _legend_below(axes, len(bars), 0.25)
    return svg_of(figure, "drops")


def compared_svg(rows: Sequence[Compared], unit: str) -> str:
    """A bar a row for ours, pale where it was fitted, and a mark where the paper has its figure."""
    figure, axes = _figure(height=0.75 + 0.42 * len(rows))
    for row, one in enumerate(rows):
        axes.barh(row, one.ours, height=0.55, color=colour(0), alpha=0.35 if one.fitted else None)
        text = f"{one.ours:.2f}"
        if one.paper is not None:
            axes.plot(
                [one.paper] * 2, [row - 0.38, row + 0.38], color=INK, linewidth=2.2, solid_capstyle="butt"
            )
            text += f", paper {one.paper:.2f}"
        end = max(one.ours, one.paper or 0.0)
        axes.annotate(text, (end, row), xytext=(8, 0), textcoords="offset points", va="center", color=INK)
    axes.set_yticks(range(len(rows)), [one.label for one in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.3 * max(max(one.ours, one.paper or 0.0) for one in rows))
    axes.set_xlabel(f"{unit}; the mark is the paper's")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return svg_of(figure, "compared")


def shares_svg(panels: Mapping[str, Sequence[Shares]]) -> str:
    """A panel a figure, by its title; in it the share of each variant's runs that had so little or less."""
    figure, _ = _figure(height=2.6)
    figure.clear()
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, curves) in zip(every, panels.items(), strict=True):
        plain(axes)
        for one in curves:
            if one.values:
                axes.ecdf(
                    one.values,
                    color=colour(one.index),
                    linestyle=DASHES[one.index % len(DASHES)],
                    linewidth=1.8,
                    label=one.label,
                )
        axes.set_xlabel(title)
        axes.set_ylim(0, 1.03)
        axes.set_yticks([0, 0.5, 1], ["0", "half", "all"])
    every[0].set_ylabel("of the runs")
    if any(one.values for curves in panels.values() for one in curves):
        every[0].legend(frameon=False, labelcolor=INK, loc="upper left", bbox_to_anchor=(0, -0.25), ncols=2)
    return svg_of(figure, "shares")


def _whole() -> MaxNLocator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=6, integer=True)


def _legend_below(axes: Axes, rows: int, room: float = 0.0) -> None:
    """Under the ticks, `room` inches further where there is a label, however high the figure."""
    axes.legend(
        frameon=False,
        labelcolor=INK,
        loc="upper left",
        bbox_to_anchor=(0, -(0.25 + room) / (0.25 + 0.3 * rows)),
        ncols=2,
    )


def _figure(height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, height))
    axes = figure.subplots()
    plain(axes)
    return figure, axes


def plain(axes: Axes) -> None:
    """No frame, and everything in the colour of text."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
    axes.tick_params(colors=INK)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)


def svg_of(figure: Figure, salt: str) -> str:
    """The figure without head, to be put into a page; the same figure and salt give the same text."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt, "font.size": 10}):
        figure.savefig(buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'(<svg [^>]*?) (?:width|height)="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg [^>]*?) (?:width|height)="[^"]*"', r"\1", text, count=1)
    text = re.sub(
        r' id="(?:figure|axes|patch|text|line2d|matplotlib\.axis|xtick|ytick|legend)_\d+"', "", text
    )
    return text.replace(INK, "currentColor").strip()
