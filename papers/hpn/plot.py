# SPDX-License-Identifier: Apache-2.0
"""Two charts as one SVG: imbalance of a NIC's two ports, and times of four AllReduces by choice of paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.plan.entry import Hashing
from harness.report.figures.plot import DASHES, INK, colour, plain, svg_of
from papers.hpn.allreduces import KINDS, Workload, imbalance, steps
from topologies.families.hpn.shape import planned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_svg"]

_COUNTS = (2, 4, 8, 16)
_CHOICES = {"least-unfinished": "least unfinished", "random": "any"}


def plot_svg(seeds: range) -> str:
    """Return the SVG of both charts; equal seeds give equal text."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 4.2))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _ports(left)
    _kinds(right, seeds)
    figure.tight_layout()
    return svg_of(figure, "precise-paths")


def _ports(axes: Axes) -> None:
    lines: dict[str, tuple[int, Hashing]] = {
        "typical Clos, same bits": (1, "identical"),
        "typical Clos, bits by level": (1, "per-tier"),
        "two planes, same bits": (2, "identical"),
    }
    for index, (label, (planes, hashing)) in enumerate(lines.items()):
        shape = planned(4, 32, 8, aggs=60, planes=planes)
        result = [imbalance(shape, hashing, count).nic for count in _COUNTS]
        style = DASHES[index % len(DASHES)]
        axes.plot(_COUNTS, result, color=colour(index), linestyle=style, marker="o", label=label)
    axes.set_xscale("log", base=2)
    axes.set_xticks(_COUNTS, [str(count) for count in _COUNTS])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("connections a pair")
    axes.set_ylabel("load of a NIC's heavier port over the lighter's")
    axes.grid(axis="y", color=INK, alpha=0.12)
    plain(axes)
    axes.legend(loc="upper right", frameon=False, labelcolor=INK)


def _kinds(axes: Axes, seeds: range) -> None:
    work = Workload()
    result = steps(work, seeds)
    for number, times in enumerate(result.values()):
        axes.bar(number, times.mean(), width=0.6, color=colour(number), alpha=0.85)
        axes.plot([number] * len(times), times, color=INK, marker="_", linestyle="none", markersize=12)
        axes.annotate(
            f"{times.mean():.2f}",
            (number, times.max()),
            (0, 5),
            textcoords="offset points",
            ha="center",
            color=INK,
        )
    axes.axhline(1, color=INK, linewidth=0.8, linestyle=":")
    labels = [f"{kind.paths},\n{_CHOICES[kind.choose]}" for kind in KINDS.values()]
    axes.set_xticks(range(len(result)), labels)
    axes.set_ylabel(f"time of {work.jobs} AllReduces on {work.gpus} GPUs over the least")
    axes.grid(axis="y", color=INK, alpha=0.12)
    plain(axes)
