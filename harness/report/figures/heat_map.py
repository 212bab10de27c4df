# SPDX-License-Identifier: Apache-2.0
"""Traffic matrix of a run, as a value and as the heat map that papers draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from emulation.traffic.schedule.schedule import Schedule
from harness.report.figures.plot import INK, plain, svg_of
from harness.scenario.schema import ELEMENT_BYTES
from topologies import Fabric

__all__ = ["MAX_CELLS", "TrafficMatrix", "cells_of", "heat_map_svg", "traffic_matrix"]

# Cells a side; a finer heat map could not be read.
MAX_CELLS = 128

Matrix = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class TrafficMatrix:
    """Bytes that rank i has to send to rank j, `bytes[i, j]`, without retransmissions.

    `groups` are the ranks at which another domain or board begins.
    """

    bytes: Matrix
    groups: tuple[int, ...]

    def __str__(self) -> str:
        """Return the number of pairs that send, and the share of the bytes that stays inside the groups."""
        sent, ranks = self.bytes, len(self.bytes)
        group = np.searchsorted(np.array(self.groups), np.arange(ranks), side="right")
        text = f"{np.count_nonzero(sent):,} of {ranks * (ranks - 1):,} ordered pairs send anything"
        if not self.groups or not sent.any():
            return text
        inside = sent[group[:, None] == group[None, :]].sum() / sent.sum()
        return f"{text}; {100 * inside:.1f} % of the bytes stay inside the groups"


def traffic_matrix(schedules: Sequence[Schedule], fabric: Fabric, members: Sequence[str]) -> TrafficMatrix:
    """Return the traffic of schedules, whose ranks follow each other and are `members` in order.

    Groups are members that differ in the first dimension alone.
    """
    matrix = np.zeros((len(members), len(members)))
    first = 0
    for schedule in schedules:
        ends = [(transfer.source + first, transfer.target + first) for transfer in schedule.transfers]
        if ends:
            lengths = np.array([transfer.length for transfer in schedule.transfers], dtype=np.float64)
            np.add.at(matrix, tuple(np.array(ends).T), lengths * ELEMENT_BYTES)
        first += schedule.ranks
    places = [fabric.node(name).coordinates[1:] for name in members]
    groups = (rank for rank in range(1, len(places)) if places[rank] != places[rank - 1])
    return TrafficMatrix(matrix, tuple(groups))


def cells_of(matrix: Matrix) -> tuple[Matrix, int]:
    """Return the matrix in at most MAX_CELLS cells a side, each the mean of its pairs, and ranks a cell."""
    side = -(-len(matrix) // MAX_CELLS)
    if side == 1:
        return matrix, 1
    edges = np.arange(0, len(matrix), side)
    sums = np.add.reduceat(np.add.reduceat(matrix, edges, axis=0), edges, axis=1)
    sizes = np.diff(np.append(edges, len(matrix)))
    return sums / np.outer(sizes, sizes), side


def heat_map_svg(matrix: TrafficMatrix) -> str:
    """Draw senders as rows and receivers as columns; darker is more, and lines separate the groups."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

    cells, side = cells_of(matrix.bytes)
    sent = np.ma.masked_equal(cells, 0)
    figure = Figure(figsize=(5.2, 4.4))
    axes = figure.subplots()
    ranks = len(matrix.bytes)
    # A single value gives colours no range.
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
    axes.set_xlim(0, ranks)
    axes.set_ylim(ranks, 0)
    axes.set_xlabel("to rank")
    axes.set_ylabel("from rank")
    plain(axes)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    # Ticks as powers of ten would be mathematical text, which takes longer than all the rest of the figure.
    within = low * 1000 > high
    bar = figure.colorbar(image, ax=axes, ticks=LogLocator(subs=(1, 2, 5) if within else (1,)))
    bar.ax.yaxis.set_major_formatter(EngFormatter("B"))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.tick_params(colors=INK)
    return svg_of(figure, "heat-map")
