# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder, a whole Pod of HPN, or variants of it; says what is true, and its cost.

Exit code 1 when a statement does not hold.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import railyard
from papers.claims.command import cost_of, say
from topologies import NodeKind

HERE = Path(__file__).parent

# Largest processor time of a variant in seconds, and peak of memory in GB.
MOST_SECONDS, MOST_GB = 300, 16

# Of the 512 values of the hash that a group of 60 distinguishes, its first 32 members have nine each, the
# others eight.
FAVOURED = 512 % 60

SHOWN = (
    "correct_npus",
    "completion_us",
    "sent_frames",
    "retransmitted_frames",
    "lost_frames",
    "cross_plane_frames",
    "nodes_notified",
    "notices",
    "convergence_us",
    "entries_rewritten",
    "table_entries",
)


def uplinks(result: railyard.Result, variant: str) -> dict[str, list[int]]:
    """Return the frames on each cable up from a ToR, by the aggregation switch to which it leads."""
    kinds = {node.name: node.kind for node in result.fabric.nodes}
    frames: dict[str, list[int]] = {}
    for link in result.links(variant):
        source, destination = str(link["source"]), str(link["destination"])
        if (kinds[source], kinds[destination]) == (NodeKind.RAIL, NodeKind.SPINE):
            frames.setdefault(destination, []).append(int(link["frames"] or 0))
    return frames


def shares(counts: Sequence[int]) -> tuple[float, float]:
    """Return the least and the largest count as shares of the mean."""
    mean = sum(counts) / len(counts)
    return min(counts) / mean, max(counts) / mean


def facts(result: railyard.Result) -> Iterator[tuple[str, bool]]:
    yield "all assertions hold", result.passed
    for variant in result.variants:
        by_agg = uplinks(result, variant)
        sums = [sum(counts) for counts in by_agg.values()]
        cables = [count for counts in by_agg.values() for count in counts]
        for name, counts in (("aggregation switches", sums), ("cables up", cables)):
            low, high = shares(counts)
            mean = sum(counts) / len(counts)
            print(
                f"{variant}: {len(counts)} {name}, {mean:,.1f} frames each, {low:.3f} to {high:.3f} of that"
            )
        if variant == "healthy":
            favoured = [sum(counts) for name, counts in by_agg.items() if int(name.split(".")[1]) < FAVOURED]
            rest = [sum(counts) for name, counts in by_agg.items() if int(name.split(".")[1]) >= FAVOURED]
            ratio = sum(favoured) / len(favoured) / (sum(rest) / len(rest))
            print(f"the first {FAVOURED} of a plane carry {ratio:.3f} times as much as the others")
            yield "the first 32 aggregation switches of a plane carry 9/8 of the others", 1.1 < ratio < 1.15
            low, high = shares(cables)
            yield "no cable up is idle, and none carries thrice the mean", low > 0 and high <= 3
        else:
            told = result.metric(variant, "nodes_notified")
            yield "768 GPUs and 119 ToRs act on a notice", told == 768 + 119


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
