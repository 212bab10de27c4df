# SPDX-License-Identifier: Apache-2.0
"""Load of the busiest links over time as a heat map: a row a link, in its busier direction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.recording.records import Kind, Record, Tick
from harness.report.figures.plot import INK, bare_rows, new_figure, svg_of

__all__ = ["link_loads_svg"]

_MOST_LINKS, _COLUMNS = 24, 800
_FULL = 255  # load of a link that sends all the time


def link_loads_svg(records: Sequence[Record], marks: Sequence[tuple[float, str]] = ()) -> str:
    """Draw the load of the links of a run's last variant; return "" if nothing was sent.

    Args:
        records: Records of the run, whose ticks have the load since the tick before.
        marks: Times in us and words of vertical lines.
    """
    names: list[str] = []
    ticks: list[Tick] = []
    for record in records:
        if record.kind is Kind.VARIANT:
            names, ticks = list(record.values["links"]), []
        elif record.kind is Kind.LINKS:
            names += record.values["links"]
        elif record.kind is Kind.TICK:
            ticks.append(Tick.of(record))
    ends = np.array([tick.time_ps for tick in ticks], float) / 10**6
    loads = np.zeros((len(names), len(ticks)))
    for column, tick in enumerate(ticks):
        both = np.frombuffer(tick.links.load, np.uint8).reshape(-1, 2)
        loads[: len(both), column] = both.max(axis=1) * (100 / _FULL)
    widths = np.diff(ends, prepend=0.0)
    busy = loads @ widths
    rows = np.argsort(-busy, kind="stable")[:_MOST_LINKS]
    rows = rows[busy[rows] > 0]
    if not len(rows):
        return ""
    edges = np.concatenate([[0.0], ends])
    shown = np.linspace(0, edges[-1], _COLUMNS + 1)
    means = np.array([_means(edges, loads[row], shown) for row in rows])
    sending = np.ma.masked_less(means, 100 / _FULL / 2)  # what sends nothing stays blank

    figure, axes = new_figure(0.6 + 0.17 * max(6, len(rows)))
    image = axes.pcolormesh(
        shown, np.arange(len(rows) + 1), sending, cmap="viridis_r", vmin=0, vmax=100, rasterized=True
    )
    axes.set_yticks(np.arange(len(rows)) + 0.5, [names[row] for row in rows], fontsize=8)
    axes.set_ylim(len(rows), 0)
    axes.set_xlabel("virtual time, µs")
    bare_rows(axes)
    for time_us, words in marks:
        if time_us <= edges[-1]:
            axes.axvline(time_us, color=INK, linestyle=(0, (4, 3)), linewidth=1)
            axes.annotate(words, (time_us, 1), xycoords=("data", "axes fraction"), color=INK, fontsize=8)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label("load, %", color=INK)
    bar.ax.tick_params(colors=INK)
    return svg_of(figure, "link-loads")


def _means(edges: np.ndarray, loads: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Return the means of a step function of time between neighbouring times of `shown`."""
    area = np.concatenate([[0.0], np.cumsum(loads * np.diff(edges))])
    return np.diff(np.interp(shown, edges, area)) / np.diff(shown)
