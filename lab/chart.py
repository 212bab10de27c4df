"""The two charts of a report as SVG: what arrived over time, and how long each variant took beside its bound.

Text and axes are drawn in `currentColor`, so the page decides; the same data give the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Bar", "Curve", "bars_svg", "colour", "timeline_svg"]

# Okabe and Ito's palette, those that stand out on white and on black; each has a dash of its own as well.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)))
INK = "#010203"  # stands for currentColor until the SVG is written


@final
@dataclass(frozen=True, slots=True)
class Curve:
    """Rate of arrival over time; `cuts_us` and `recovered_us` are marked on the time axis."""

    index: int
    label: str
    bin_us: float
    tbps: Sequence[float]
    cuts_us: Sequence[float]
    recovered_us: float | None


@final
@dataclass(frozen=True, slots=True)
class Bar:
    index: int
    label: str
    completion_us: float
    bound_us: float


def colour(index: int) -> str:
    """The colour of a scenario's variant in every figure."""
    return COLOURS[index % len(COLOURS)]


def timeline_svg(curves: Sequence[Curve]) -> str:
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
    axes.set_xlim(left=0)
    for at in sorted({at for curve in curves for at in curve.cuts_us}):
        axes.axvline(at, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.annotate(
            f"cut, {at:g} µs", (at, 1.09 * top), xytext=(4, 0), textcoords="offset points", color=INK
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
    axes.set_xlabel("virtual time, µs")
    axes.set_ylabel("arriving at NPUs, Tbit/s")
    axes.legend(frameon=False, labelcolor=INK, loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2)
    return _svg(figure, "timeline")


def bars_svg(bars: Sequence[Bar]) -> str:
    figure, axes = _figure(height=0.55 + 0.5 * len(bars))
    longest = max(bar.completion_us for bar in bars)
    for row, bar in enumerate(bars):
        axes.barh(row, bar.completion_us, height=0.55, color=colour(bar.index))
        axes.plot(
            [bar.bound_us] * 2, [row - 0.38, row + 0.38], color=INK, linewidth=2.2, solid_capstyle="butt"
        )
        text = f"{bar.completion_us:,.2f} µs = {bar.completion_us / bar.bound_us:.2f} x bound"
        axes.annotate(
            text,
            (bar.completion_us, row),
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
    return _svg(figure, "bars")


def _figure(height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, height))
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
    axes.tick_params(colors=INK)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    return figure, axes


def _svg(figure: Figure, salt: str) -> str:
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
