# SPDX-License-Identifier: Apache-2.0
"""Share of a link over time as it slows down and recovers, and a picture of all times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import isnan
from typing import Any

from harness.report.figures.plot import INK, bare_rows, colour, new_figure, plain, svg_of, write_beside
from papers.ub_mesh.shares import BIN_US, shares_over_time

# Label, and the variants with static and with adaptive shares.
CASES = (
    ("AllReduce, healthy", "healthy", "healthy-adaptive"),
    ("AllReduce, a link at 10 %", "slow", "slow-adaptive"),
    ("AllReduce, at 10 % from 4 µs on", "onset", "onset-adaptive"),
    ("incast of fifteen", "incast", "incast-adaptive"),
    ("two jobs that share links", "static", "adaptive"),
    ("one path in use, healthy", "pair", "pair-adaptive"),
    ("one path in use, at 10 %", "pair-slow", "pair-slow-adaptive"),
    ("ring of four, a link at 10 %", "ring-slow", "ring-slow-adaptive"),
)
ONSET_US, CLEAR_US, END_US = 20, 100, 160
# Time after which a source has left a slow link, or come back, and queues have drained.
SETTLED_US = 40


@cache
def over_time(strategy: str) -> Sequence[float]:
    """Return the share of a source's traffic on a link that slows down and recovers, by time."""
    shares, _ = shares_over_time(
        strategy, elements=4194304, percent=10, onset_us=ONSET_US, clear_us=CLEAR_US, until_us=END_US
    )
    return shares


def shares(result: Mapping[str, Any]) -> Mapping[str, float]:
    """Return an adaptive source's share of the link before it slows down, while it is slow, and after."""
    ends = (0, ONSET_US, ONSET_US + SETTLED_US, CLEAR_US, CLEAR_US + SETTLED_US, END_US)
    before, _, slow, _, after = (
        [share for share in over_time("adaptive")[begin // BIN_US : end // BIN_US] if not isnan(share)]
        for begin, end in pairwise(ends)
    )
    return {
        "before.least": min(before),
        "before.most": max(before),
        "slow.most": max(slow),
        "slow.swing": max(abs(b - a) for a, b in pairwise(slow)),
        "after.least": min(after),
        "after.most": max(after),
    }


def picture(result: Mapping[str, Any]) -> str:
    """Draw the times of all cases, and the share of the link over time."""
    took = {name: result["metrics"][f"{name}.completion_us"] for _, *names in CASES for name in names}
    times = [(label, took[static], took[adaptive]) for label, static, adaptive in CASES]
    figure, _ = new_figure(height=3.6)
    figure.clear()
    bars, lines = figure.subplots(1, 2, width_ratios=(5, 4))
    for axes in (bars, lines):
        plain(axes)
    for row, (_, static, adaptive) in enumerate(times):
        for number, (value, word) in enumerate(((static, "static shares"), (adaptive, "adaptive"))):
            place = row - 0.2 + 0.4 * number
            bars.barh(place, value, 0.36, color=colour(number), label=word if not row else None)
            write_beside(bars, f"{value:.1f}", (value, place), 3, fontsize=7)
    bars.set_xscale("log")
    bars.set_xlim(5, 2500)
    bars.set_yticks(range(len(times)), [label for label, _, _ in times])
    bars.invert_yaxis()
    bars.set_xlabel("time, µs")
    bare_rows(bars)
    for number, values in enumerate(map(over_time, ("all-path", "adaptive"))):
        lines.plot([BIN_US * place for place in range(len(values))], values, color=colour(number))
    lines.axvspan(ONSET_US, CLEAR_US, color="#808080", alpha=0.2, linewidth=0)
    lines.set_ylim(0, 1)
    lines.set_xlabel("time, µs; grey: npu0-npu1 at 10 %")
    lines.set_ylabel("share of npu0-npu1")
    bars.legend(frameon=False, labelcolor=INK, loc="upper right", fontsize=8)
    figure.tight_layout()
    return svg_of(figure, "adaptive")
