# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder, a whole SuperPod, or the variants named; says what is true, and its cost.

Exit code 1 when a statement does not hold.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import railyard
from papers.checking.large_runs import check_run, frames_received
from papers.checking.statements import TRAFFIC, spread

SHOWN = (
    *TRAFFIC,
    "nodes_notified",
    "notices",
    "entries_rewritten",
    "table_entries",
)


def loads(result: railyard.Result, variant: str) -> dict[str, int]:
    """Return the frames that each HRS received."""
    hrs = [node.name for node in result.fabric.nodes if node.level == 2]
    frames = frames_received(result, variant)
    return {name: frames[name] for name in hrs}


def facts(result: railyard.Result) -> Iterator[tuple[str, bool]]:
    for variant in result.variants:
        least, most = spread(f"HRS ({variant})", list(loads(result, variant).values()))
        if variant == "healthy":
            yield "every HRS carries 0.75 to 1.25 of the mean", least >= 0.75 and most <= 1.25


if __name__ == "__main__":
    scenario = Path(__file__).with_name("scenario.yaml")
    sys.exit(check_run(railyard.run, scenario, SHOWN, facts, most_seconds=400, most_gb=16))
