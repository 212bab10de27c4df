# SPDX-License-Identifier: Apache-2.0
"""Chart of planning time by size of the cluster, on logarithmic axes, with the authors' published times."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.figures.plot import DASHES, INK, MARKS, colour, new_figure, svg_of
from papers.lumoscore.speed import AUTHORS, AUTHORS_EXACT, Change, Cluster

__all__ = ["growth_svg"]


def growth_svg(clusters: Sequence[Cluster]) -> str:
    """Return the chart as SVG; `clusters` are in order of size."""
    figure, axes = new_figure(5.0)
    npus = [cluster.npus for cluster in clusters]
    exact = [(cluster.npus, cluster.exact) for cluster in clusters if cluster.exact is not None]
    curves = [
        ("authors: exact program", npus, [AUTHORS_EXACT[cluster.pods] for cluster in clusters]),
        ("authors: LumosCore", npus, [AUTHORS[cluster.pods] for cluster in clusters]),
        ("here: exact program, one job's change", [size for size, _ in exact], [took for _, took in exact]),
        *(
            (f"here: {change}", npus, [cluster.changes[change].median for cluster in clusters])
            for change in (Change.full, Change.replaced, Change.job)
        ),
    ]
    for index, (label, sizes, seconds) in enumerate(curves):
        style = {"linestyle": DASHES[index], "marker": MARKS[index], "linewidth": 1.8}
        axes.plot(sizes, seconds, color=colour(index), label=label, **style)
    targets = [cluster.target for cluster in clusters]
    axes.plot(npus, targets, color=INK, linewidth=1.2, linestyle=(0, (1, 2)), label="a tenth of LumosCore")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(npus, [f"{size:,}" for size in npus])
    axes.minorticks_off()
    axes.set_xlabel("NPUs")
    axes.set_ylabel("planning a change, seconds")
    axes.grid(axis="y", color=INK, alpha=0.12)
    axes.legend(frameon=False, labelcolor=INK, loc="upper left", bbox_to_anchor=(0, -0.14), ncols=2)
    return svg_of(figure, "growth")
