# SPDX-License-Identifier: Apache-2.0
"""Draw the frames of capture files over time."""

from __future__ import annotations

from collections.abc import Mapping

from harness.report.captures import KINDS, Capture
from harness.report.figures.plot import COLOURS, DASHES, INK, plain, svg_of

__all__ = ["captures_svg"]

# Largest number of captures in a figure; the report says how many are left out.
MAX_CAPTURES = 8


def captures_svg(captures: Mapping[str, Capture]) -> str:
    """Draw the cumulative number of frames over time: a panel for each capture, a line for each kind."""
    from matplotlib.figure import Figure

    shown = dict(list(captures.items())[:MAX_CAPTURES])
    figure = Figure(figsize=(8.6, 0.5 + 1.5 * len(shown)))
    panels = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for axes, (name, capture) in zip(panels, shown.items(), strict=True):
        for index, kind in enumerate(KINDS):
            if times := sorted(capture.times_us[kind]):
                axes.step(
                    times,
                    range(1, len(times) + 1),
                    where="post",
                    color=COLOURS[index],
                    linestyle=DASHES[index],
                    label=f"{kind}, {len(times)}",
                )
        axes.set_title(name, loc="left", fontsize=9, color=INK)
        axes.set_ylabel("frames")
        plain(axes)
        if axes.lines:
            axes.legend(
                frameon=False, fontsize=8, labelcolor=INK, loc="center left", bbox_to_anchor=(1.0, 0.5)
            )
    panels[-1].set_xlabel("time since the first frame of the capture, µs")
    figure.tight_layout()
    return svg_of(figure, "captures")
