# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder, LumosCore with 8,192 accelerators, or variants of it; says what is true.

Exit code 1 when a statement does not hold.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import railyard
from papers.checking.large_runs import check_run
from papers.checking.statements import spread

SHOWN = (
    "correct_npus",
    "completion_us",
    "a0.communication_us",
    "b0.communication_us",
    "sent_frames",
    "retransmitted_frames",
    "lost_frames",
    "entries_rewritten",
    "table_entries",
)

# Circuits that come as the first jobs begin, as the others begin, and as the first end. Of 4,096 circuits, 8
# join the two Pods of a job at the start; later half of the circuits of every job move.
CREATED = [4096 - 32 * 8, 2048, 2048]

# Drain, the mirrors, detection and processing: as with 128 accelerators.
CHANGE_US = 5 + 20 + 1 + 1


def frames_by_spine(result: railyard.Result, variant: str) -> list[int]:
    """Return the frames that each spine sends over its circuits."""
    frames = Counter[str]()
    for link in result.links(variant):
        if str(link["link"]).startswith("ocs"):
            frames[str(link["source"])] += int(link["frames"] or 0)
    return list(frames.values())


def facts(result: railyard.Result) -> Iterator[tuple[str, bool]]:
    changes = json.loads(result.to_json())["reconfigurations"]
    for variant in result.variants:
        least, most = spread(f"spines ({variant})", frames_by_spine(result, variant))
        if variant != "light":
            yield f"{variant}: every spine carries 0.95 to 1.05 of the mean", least >= 0.95 and most <= 1.05
        for change in changes.get(variant, ()):
            moved = ", ".join(f"{len(change[key]):,} {key}" for key in ("kept", "torn", "made"))
            print(
                f"{variant}, {change['at_us']:g} to {change['stands_us']:g} us: circuits {moved}; "
                f"{change['updates']:,} entries written, {len(change['lacks'])} jobs lack circuits"
            )
        if variant == "follow":
            created = [len(change["made"]) for change in changes[variant]]
            yield f"circuits created: {CREATED}", created == CREATED
            times = [change["stands_us"] - change["at_us"] for change in changes[variant]]
            yield f"every change takes {CHANGE_US} us", all(abs(time - CHANGE_US) < 0.01 for time in times)
        if variant == "light":
            dark = next(change for change in changes[variant] if change["why"].startswith("no light"))
            lacks = [lack["wanted"] - lack["has"] for lack in dark["lacks"]]
            yield "each of 64 jobs lacks one circuit of 64", lacks == [1] * 64


if __name__ == "__main__":
    scenario = Path(__file__).with_name("scenario.yaml")
    sys.exit(check_run(railyard.run, scenario, SHOWN, facts, most_seconds=300, most_gb=16))
