# SPDX-License-Identifier: Apache-2.0
"""Adaptive sources beside static shares: a slow link, incast, two jobs, one path in use, shares over time.

Runs the scenarios of this folder, and a run in which a link slows down and recovers while a pair sends; its
shares come from the counters of links. Draws the figure. Exit code 1 if something is not as the README says.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from math import isnan
from pathlib import Path

import railyard
from harness.report.figures.plot import INK, bare_rows, colour, new_figure, plain, svg_of
from papers.checking.statements import say
from papers.ub_mesh.shares import BIN_US, shares_over_time

HERE = Path(__file__).parent
OUT = Path("results", "adaptive", "adaptive.svg")
SCENARIOS = ("scenario", "two_jobs", "only_path")
# Label, scenario, and its variants with static and with adaptive shares.
CASES = (
    ("AllReduce, healthy", "scenario", "healthy", "healthy-adaptive"),
    ("AllReduce, a link at 10 %", "scenario", "slow", "slow-adaptive"),
    ("AllReduce, at 10 % from 4 µs on", "scenario", "onset", "onset-adaptive"),
    ("incast of fifteen", "scenario", "incast", "incast-adaptive"),
    ("two jobs that share links", "two_jobs", "static", "adaptive"),
    ("one path in use, healthy", "only_path", "pair", "pair-adaptive"),
    ("one path in use, at 10 %", "only_path", "pair-slow", "pair-slow-adaptive"),
    ("ring of four, a link at 10 %", "only_path", "ring-slow", "ring-slow-adaptive"),
)
ONSET_US, CLEAR_US, END_US = 20, 100, 160
# Time after which a source has left a slow link, or come back, and queues have drained.
SETTLED_US = 40


def picture(times: Sequence[tuple[str, float, float]], over_time: dict[str, list[float]]) -> str:
    """Draw the times of all cases, and the share of the link over time."""
    figure, _ = new_figure(height=3.6)
    figure.clear()
    bars, lines = figure.subplots(1, 2, width_ratios=(5, 4))
    for axes in (bars, lines):
        plain(axes)
    for row, (_, static, adaptive) in enumerate(times):
        for number, (value, word) in enumerate(((static, "static shares"), (adaptive, "adaptive"))):
            place = row - 0.2 + 0.4 * number
            bars.barh(place, value, 0.36, color=colour(number), label=word if not row else None)
            bars.annotate(
                f"{value:.1f}",
                (value, place),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                color=INK,
            )
    bars.set_xscale("log")
    bars.set_xlim(5, 2500)
    bars.set_yticks(range(len(times)), [label for label, _, _ in times])
    bars.invert_yaxis()
    bars.set_xlabel("time, µs")
    bare_rows(bars)
    for number, values in enumerate(over_time.values()):
        lines.plot([BIN_US * place for place in range(len(values))], values, color=colour(number))
    lines.axvspan(ONSET_US, CLEAR_US, color="#808080", alpha=0.2, linewidth=0)
    lines.set_ylim(0, 1)
    lines.set_xlabel("time, µs; grey: npu0-npu1 at 10 %")
    lines.set_ylabel("share of npu0-npu1")
    bars.legend(frameon=False, labelcolor=INK, loc="upper right", fontsize=8)
    figure.tight_layout()
    return svg_of(figure, "adaptive")


def main() -> int:
    """Run everything, draw, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, default=OUT, help="file of the figure")
    out: Path = parser.parse_args().picture
    results = {name: railyard.run(HERE / f"{name}.yaml") for name in SCENARIOS}
    times = []
    for label, name, static, adaptive in CASES:
        result = results[name]
        pair = (result.metric(static, "completion_us"), result.metric(adaptive, "completion_us"))
        again = [result.metric(variant, "retransmitted_frames") for variant in (static, adaptive)]
        times.append((label, *pair))
        print(f"{label:34} static {pair[0]:8.2f} us, adaptive {pair[1]:7.2f} us; sent again {again}")
    over_time: dict[str, list[float]] = {}
    for strategy in ("all-path", "adaptive"):
        over_time[strategy], _ = shares_over_time(
            strategy, elements=4194304, percent=10, onset_us=ONSET_US, clear_us=CLEAR_US, until_us=END_US
        )
    for strategy, values in over_time.items():
        print(strategy, " ".join(f"{value:.2f}" for value in values))
    ends = (0, ONSET_US, ONSET_US + SETTLED_US, CLEAR_US, CLEAR_US + SETTLED_US, END_US)
    before, _, slow, _, after = (
        [share for share in over_time["adaptive"][begin // BIN_US : end // BIN_US] if not isnan(share)]
        for begin, end in pairwise(ends)
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(picture(times, over_time) + "\n")
    print(f"written: {out}")
    checks = {f"all assertions of {name} hold": result.passed for name, result in results.items()}
    checks |= {
        "a healthy link keeps its half": all(0.4 < share < 0.6 for share in before),
        "the source leaves the slow link": max(slow) < 0.15,
        "its shares do not swing": max(abs(b - a) for a, b in pairwise(slow)) < 0.12,
        "it comes back": all(0.4 < share < 0.6 for share in after),
    }
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())
