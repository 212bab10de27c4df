# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder: 16,384 GPUs; says what is true, how even the spines are, and its cost.

Exit code 1 when a statement does not hold.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import railyard
from papers.checking.large_runs import check_run, frames_received
from papers.checking.statements import spread
from topologies import NodeKind

SHOWN = (
    "correct_npus",
    "completion_us",
    "ratio_to_bound",
    "sent_frames",
    "cross_rail_frames",
    "table_entries",
)


def facts(result: railyard.Result) -> Iterator[tuple[str, bool]]:
    frames = frames_received(result, "run")
    for kind in (NodeKind.RAIL, NodeKind.SPINE):
        counts = [frames[node.name] for node in result.fabric.nodes if node.kind is kind]
        least, most = spread(f"switches of kind {kind}", counts)
        if kind is NodeKind.SPINE:
            yield "every spine carries 0.75 to 1.25 of the mean", least >= 0.75 and most <= 1.25


if __name__ == "__main__":
    scenario = Path(__file__).with_name("scenario.yaml")
    sys.exit(check_run(railyard.run, scenario, SHOWN, facts, most_seconds=300, most_gb=16))
