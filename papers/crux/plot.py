# SPDX-License-Identifier: Apache-2.0
"""Chart of the utilisation of accelerators by scheduler, one panel a study, in the style of the reports."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.figures.plot import INK, colour, plain, svg_of
from papers.crux.study import BASELINES, Comparison

__all__ = ["utilisation_svg"]


def utilisation_svg(result: Sequence[Comparison]) -> str:
    """Return an SVG of the utilisation in each comparison; equal comparisons give equal text."""
    from matplotlib.figure import Figure

    rows = [(item, name) for item in result for name in item.outcomes]
    figure = Figure(figsize=(8.6, 1.0 + 0.36 * len(rows) + 0.5 * len(result)))
    panels = figure.subplots(len(result), 1, squeeze=False)[:, 0]
    for axes, panel in zip(panels, result, strict=True):
        plain(axes)
        names = list(panel.outcomes)
        values = [100 * panel.utilisation(name) for name in names]
        colours = [colour(number) for number in range(len(names))]
        bars = axes.barh(range(len(names)), values, height=0.6, color=colours, alpha=0.85)
        axes.bar_label(bars, fmt="%.1f %%", padding=4, color=INK)
        axes.set_yticks(
            range(len(names)),
            [f"{name} ({BASELINES[name]})" if name in BASELINES else name for name in names],
            color=INK,
        )
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.grid(axis="x", color=INK, alpha=0.12)
        study = panel.study
        jobs = len(next(iter(panel.outcomes.values())).jobs)
        axes.set_xlabel(
            f"held accelerators that compute, %; {jobs:,} jobs in {study.trace.days:g} days, {study.fabric}, "
            f"{study.connections} connection{'s' * (study.connections > 1)} a pair"
        )
    figure.tight_layout()
    return svg_of(figure, "utilisation")
