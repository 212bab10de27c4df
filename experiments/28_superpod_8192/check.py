# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder, a whole SuperPod, or the variants named; says what is true, and its cost.

Exit code 1 when a statement does not hold.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import railyard
from papers.claims.command import cost_of, say

HERE = Path(__file__).parent

# Largest processor time of a variant in seconds, and peak of memory in GB.
MOST_SECONDS, MOST_GB = 400, 16

SHOWN = (
    "correct_npus",
    "completion_us",
    "sent_frames",
    "retransmitted_frames",
    "lost_frames",
    "nodes_notified",
    "notices",
    "entries_rewritten",
    "table_entries",
)


def loads(result: railyard.Result, variant: str) -> dict[str, int]:
    """Return the frames that each HRS received."""
    hrs = [node.name for node in result.fabric.nodes if node.level == 2]
    frames = Counter[str]()
    for link in result.links(variant):
        frames[str(link["destination"])] += int(link["frames"] or 0)
    return {name: frames[name] for name in hrs}


def facts(result: railyard.Result) -> Iterator[tuple[str, bool]]:
    yield "all assertions hold", result.passed
    for variant in result.variants:
        frames = loads(result, variant).values()
        mean = sum(frames) / len(frames)
        least, most = min(frames) / mean, max(frames) / mean
        print(f"{variant}: {mean:,.0f} frames an HRS, {least:.3f} to {most:.3f} of that")
        if variant == "healthy":
            yield "every HRS carries 0.75 to 1.25 of the mean", least >= 0.75 and most <= 1.25


def main() -> int:
    result, seconds, peak_gb = cost_of(
        lambda: railyard.run(HERE / "scenario.yaml", variant=sys.argv[1:] or None)
    )
    for name in SHOWN:
        print(name, *(f"{result.metric(variant, name):,}" for variant in result.variants), sep=" | ")
    said = dict(facts(result))
    said[f"at most {MOST_SECONDS} s a variant"] = seconds <= MOST_SECONDS * len(result.variants)
    said[f"at most {MOST_GB} GB"] = peak_gb <= MOST_GB
    return say(said)


if __name__ == "__main__":
    sys.exit(main())
