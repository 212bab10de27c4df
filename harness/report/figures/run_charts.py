# SPDX-License-Identifier: Apache-2.0
"""Draw charts of a scenario's runs: arriving data over time; completion times with lower bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from harness.report.figures.plot import DASHES, INK, bare_rows, colour, new_figure, svg_of, write_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Bar", "Curve", "bars_svg", "end_us", "timeline_svg"]

# Length of the bar of a failed variant, as a share of the longest other bar or bound.
STUB = 0.06

# Width of a letter as a share of the time axis.
_LETTER = 0.0115


@final
@dataclass(frozen=True, slots=True)
class Curve:
    """Rate of arriving data of a variant over time.

    Attributes:
        index: Number of the variant in the scenario.
        label: Label of the variant.
        bin_us: Width of a time bin in microseconds.
        tbps: Rate in each bin, in Tbit/s.
        faults: Faults as (time in us, word), which are marked.
        recovered_us: Time of the last table write, which is marked; None without one.
        failed: The variant has no correct result.
    """

    index: int
    label: str
    bin_us: float
    tbps: Sequence[float]
    faults: Sequence[tuple[float, str]]
    recovered_us: float | None
    failed: bool = False

    @property
    def end_us(self) -> float:
        """End of the run in us; for a failed run, the end of the last bin with arriving data."""
        bins = len(self.tbps)
        while self.failed and bins and not self.tbps[bins - 1]:
            bins -= 1
        return self.bin_us * bins


@final
@dataclass(frozen=True, slots=True)
class Bar:
    """Completion time and lower bound of a variant.

    Attributes:
        index: Number of the variant in the scenario.
        label: Label of the variant.
        completion_us: Completion time.
        bound_us: Lower bound of the completion time.
        doubtful: The time is not trustworthy: the machine could not keep up with the run.
        failed: Why the variant has no correct result, in words; empty otherwise.
    """

    index: int
    label: str
    completion_us: float
    bound_us: float
    doubtful: bool = False
    failed: str = ""


def timeline_svg(curves: Sequence[Curve], clock: str = "virtual time") -> str:
    """Draw the curves over a common time axis, with faults marked; `clock` names the clock of the axis.

    The script of the report finds the curves by ids with the variant's number, and the ends of the axis by
    the ids time-begin and time-end.
    """
    figure, axes = new_figure(height=3.0)
    for curve in curves:
        axes.stairs(
            list(curve.tbps),
            [curve.bin_us * index for index in range(len(curve.tbps) + 1)],
            color=colour(curve.index),
            linestyle=DASHES[curve.index % len(DASHES)],
            linewidth=1.8,
            label=f"{curve.label} (failed)" if curve.failed else curve.label,
            gid=f"curve{curve.index}",
        )
    end = end_us(curves)
    axes.set_xlim(0, end)
    for name, time in (("time-begin", 0.0), ("time-end", end)):
        axes.axvline(time, alpha=0.0, gid=name)
    rows = _mark_faults(axes, curves, end)
    peak = max((max(curve.tbps, default=0.0) for curve in curves), default=1.0) or 1.0
    axes.set_ylim(0, 1.05 * peak * (1.07 + 0.09 * rows))
    for curve in curves:
        if curve.recovered_us is not None and curve.recovered_us <= end:
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


def end_us(curves: Sequence[Curve]) -> float:
    """Return the end of the time axis in us: the latest end of the variants that did not fail, or of all."""
    shown = [curve for curve in curves if not curve.failed] or curves
    ends = [curve.end_us for curve in shown]
    ends += [curve.recovered_us for curve in shown if curve.recovered_us is not None]
    return max(ends, default=0.0) or 1.0


def _mark_faults(axes: Axes, curves: Sequence[Curve], end: float) -> int:
    """Draw a line with words at every fault up to `end`; return the number of rows that the words need."""
    at_time: dict[float, dict[str, None]] = {}
    for time, word in sorted(fault for curve in curves for fault in curve.faults):
        if time <= end:
            at_time.setdefault(time, {})[word] = None
    ends: list[float] = []  # right end of the words in each row, as a share of the axis
    for time, words in at_time.items():
        axes.axvline(time, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
        text = f"{', '.join(words)}, {time:g} µs"
        width = _LETTER * (len(text) + 2)
        left = time / end if time / end + width <= 1 else time / end - width
        row = next((row for row, taken in enumerate(ends) if taken <= left), len(ends))
        ends[row : row + 1] = [left + width]
        axes.annotate(
            text,
            (left + _LETTER / 2, 0.985 - 0.075 * row),
            xycoords="axes fraction",
            va="top",
            color=INK,
        )
    return len(ends)


def bars_svg(bars: Sequence[Bar]) -> str:
    """Draw a bar for the completion time of each variant, with a mark at its lower bound.

    A failed variant has a hatched stub of constant length, so that the time of its failure does not affect
    the scale. The script of the report finds the bars by ids with the variant's number.
    """
    figure, axes = new_figure(height=0.55 + 0.5 * len(bars))
    finished = [bar.completion_us for bar in bars if not bar.failed]
    longest = max([*finished, *(bar.bound_us for bar in bars)])
    for row, bar in enumerate(bars):
        length = STUB * longest if bar.failed else bar.completion_us
        (patch,) = axes.barh(
            row, length, height=0.55, color=colour(bar.index), alpha=0.35 if bar.doubtful else None
        )
        patch.set_gid(f"bar{bar.index}")
        if bar.failed:
            patch.set(facecolor="none", edgecolor=colour(bar.index), hatch="////", gid=f"stub{row}")
        axes.plot(
            [bar.bound_us] * 2, [row - 0.38, row + 0.38], color=INK, linewidth=2.2, solid_capstyle="butt"
        )
        text = f"{bar.completion_us:,.2f} µs = {bar.completion_us / bar.bound_us:.2f} x bound"
        if bar.failed:
            text = f"✕ {bar.failed}"
        end = max(length, bar.bound_us if bar.failed else 0)
        write_beside(axes, f"{text} ?" if bar.doubtful else text, (end, row), 6)
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.42 * longest)
    axes.set_xlabel("time until the last NPU has its result, µs; the mark is the bound")
    bare_rows(axes)
    return svg_of(figure, "bars")
