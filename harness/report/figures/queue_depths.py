# SPDX-License-Identifier: Apache-2.0
"""Depth of queues, pauses, and rates of flows over time as SVG, panels below each other."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from harness.report.figures.plot import DASHES, INK, bare_rows, colour, new_figure, plain, svg_of
from harness.run.observation.queue_log import FlowSeries, QueueLog, QueueSeries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["queues_svg"]

# Number of samples that are drawn together for a flow: an acknowledgement of many frames at once is no rate.
_JOINED = 8


def queues_svg(log: QueueLog) -> str:
    """Draw the deepest queues, the times at which they were paused, and the rates of the largest flows."""
    paused = [queue for queue in log.queues if any(queue.paused)]
    heights = [2.2, *([0.3 + 0.18 * len(paused)] if paused else []), 2.2]
    figure, _ = new_figure(sum(heights) + 0.4 * len(heights))
    figure.clear()
    panels = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    times = [time / 10**6 for time in log.times_ps]
    for axes in panels:
        plain(axes)
    for index, queue in enumerate(log.queues):
        kib = [waiting / 1024 for waiting in queue.bytes]
        _draw(panels[0], index, times, kib, f"{queue.node} → {queue.to}")
    panels[0].set_ylabel("waiting, KiB")
    if paused:
        _draw_pauses(panels[1], times, paused)
    for index, flow in enumerate(log.flows):
        _draw(panels[-1], index, *_rates(times, flow), f"{flow.source} → {flow.destination}")
    panels[-1].set_ylabel("acknowledged, Gbit/s")
    panels[-1].set_xlabel("virtual time, µs")
    panels[-1].set_xlim(0, times[-1] if times else 1)
    for axes in (panels[0], panels[-1]):
        axes.set_ylim(bottom=0)
        if axes.lines:
            axes.legend(
                frameon=False, labelcolor=INK, loc="upper left", bbox_to_anchor=(1.0, 1.05), fontsize=8
            )
    return svg_of(figure, "queues")


def _draw(axes: Axes, index: int, x: list[float], y: list[float], label: str) -> None:
    axes.plot(x, y, color=colour(index), linestyle=DASHES[index % len(DASHES)], linewidth=1.3, label=label)


def _draw_pauses(axes: Axes, times: list[float], queues: list[QueueSeries]) -> None:
    """Draw a row for each queue, with a bar for each sequence of paused samples."""
    for row, queue in enumerate(queues):
        bars = []
        samples = zip([0.0, *times], times, queue.paused, strict=False)
        for stopped, run in groupby(samples, key=lambda sample: sample[2]):
            spans = list(run)
            if stopped:
                bars.append((spans[0][0], spans[-1][1] - spans[0][0]))
        axes.broken_barh(bars, (row - 0.35, 0.7), color=colour(1))
    axes.set_yticks(range(len(queues)), [f"{queue.node} → {queue.to}" for queue in queues], fontsize=8)
    axes.set_ylim(len(queues) - 0.5, -0.5)
    axes.set_title("paused", loc="left", fontsize=9, color=INK)
    bare_rows(axes)


def _rates(times: list[float], flow: FlowSeries) -> tuple[list[float], list[float]]:
    """Return the middles of groups of samples in us, and a flow's rate in Gbit/s in each group."""
    ends = [(0.0, 0), *list(zip(times, flow.bytes, strict=True))[_JOINED - 1 :: _JOINED]]
    if times and ends[-1][0] < times[-1]:
        ends.append((times[-1], flow.bytes[-1]))
    spans = list(pairwise(ends))
    middles = [(begin + end) / 2 for (begin, _), (end, _) in spans]
    return middles, [8e-3 * max(0, after - before) / (end - begin) for (begin, before), (end, after) in spans]
