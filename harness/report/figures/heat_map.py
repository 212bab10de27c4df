# SPDX-License-Identifier: Apache-2.0
"""Draw a traffic matrix as a heat map."""

from __future__ import annotations

import numpy as np

from harness.report.figures.plot import INK, plain, svg_of
from harness.run.observation.traffic_matrix import TrafficMatrix

__all__ = ["MAX_CELLS", "heat_map_svg"]

# Largest number of cells per side; a finer heat map would be unreadable.
MAX_CELLS = 128


def heat_map_svg(matrix: TrafficMatrix) -> str:
    """Draw senders as rows and receivers as columns; darker cells have more bytes, lines separate groups.

    A matrix of many ranks is drawn with several ranks per cell.
    """
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

    side = -(-matrix.ranks // MAX_CELLS)
    cells = matrix.cells(side)
    sent = np.ma.masked_equal(cells, 0)
    figure = Figure(figsize=(5.2, 4.4))
    axes = figure.subplots()
    # If all cells are equal, widen the range of the colour scale below.
    low, high = (float(sent.min()), float(sent.max())) if sent.count() else (1.0, 1.0)
    image = axes.imshow(
        sent,
        norm=LogNorm(low if low < high else low / 10, high),
        cmap="viridis_r",
        interpolation="nearest",
        extent=(0, len(cells) * side, len(cells) * side, 0),
    )
    for first in matrix.groups:
        axes.axhline(first, color=INK, linewidth=0.4)
        axes.axvline(first, color=INK, linewidth=0.4)
    axes.set_xlim(0, matrix.ranks)
    axes.set_ylim(matrix.ranks, 0)
    axes.set_xlabel("to rank")
    axes.set_ylabel("from rank")
    plain(axes)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    # By default ticks are powers of ten in mathematical text, which takes longer than the rest of the figure.
    within = low * 1000 > high
    bar = figure.colorbar(image, ax=axes, ticks=LogLocator(subs=(1, 2, 5) if within else (1,)))
    bar.ax.yaxis.set_major_formatter(EngFormatter("B"))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.tick_params(colors=INK)
    return svg_of(figure, "heat-map")
