# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder: 16,384 GPUs; says what is true, how even the spines are, and its cost.

Exit code 1 when a statement does not hold.
"""

import sys
from collections import Counter
from pathlib import Path

import railyard
from papers.claims.command import cost_of, say
from topologies import NodeKind

HERE = Path(__file__).parent

# Largest processor time in seconds, and peak of memory in GB.
MOST_SECONDS, MOST_GB = 300, 16

SHOWN = (
    "correct_npus",
    "completion_us",
    "ratio_to_bound",
    "sent_frames",
    "cross_rail_frames",
    "table_entries",
)


def main() -> int:
    result, seconds, peak_gb = cost_of(lambda: railyard.run(HERE / "scenario.yaml"))
    for name in SHOWN:
        print(name, f"{result.metric('run', name):,}", sep=" | ")
    frames = Counter[str]()
    for link in result.links("run"):
        frames[str(link["destination"])] += int(link["frames"] or 0)
    by_kind = {
        kind: [frames[node.name] for node in result.fabric.nodes if node.kind is kind]
        for kind in (NodeKind.RAIL, NodeKind.SPINE)
    }
    for kind, counts in by_kind.items():
        mean = sum(counts) / len(counts)
        shares = f"{min(counts) / mean:.3f} to {max(counts) / mean:.3f} of the mean"
        print(f"{kind}: {len(counts)}, {mean:,.0f} frames each, {shares}")
    spines = by_kind[NodeKind.SPINE]
    even = sum(spines) / len(spines)
    return say(
        {
            "all assertions hold": result.passed,
            "every spine carries 0.75 to 1.25 of the mean": (
                0.75 * even <= min(spines) and max(spines) <= 1.25 * even
            ),
            f"at most {MOST_SECONDS} s and {MOST_GB} GB": seconds <= MOST_SECONDS and peak_gb <= MOST_GB,
        }
    )


if __name__ == "__main__":
    sys.exit(main())
