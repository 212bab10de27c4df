# SPDX-License-Identifier: Apache-2.0
"""LumosCore with 8,192 accelerators: load of the spines, circuits that move, and what the runs cost."""

from collections import Counter

from harness.report.document import to_document
from papers.checking.large_runs import LargeRun, directions, large_run, spread
from papers.claims import Measured, Progress, Values

# Circuits that come as the first jobs begin, as the others begin, and as the first end. Of 4,096 circuits, 8
# join the two Pods of a job at the start; later half of the circuits of every job move.
CREATED = [4096 - 32 * 8, 2048, 2048]


def circuits(note: Progress) -> Values:
    """Return the figures of all variants: spines as shares of the mean, circuits created, times, lacks."""
    done = large_run(note, "41_lumoscore_8192/scenario.yaml")
    changes = to_document(done.result)["reconfigurations"]
    figures: dict[str, Measured | float] = {**done.figures}
    for variant in done.observations:
        figures |= spread(f"{variant}.spines", _by_spine(done, variant).values())
    created = [len(change["made"]) for change in changes["follow"]]
    times = [change["stands_us"] - change["at_us"] for change in changes["follow"]]
    dark = next(change for change in changes["light"] if change["why"].startswith("no light"))
    lacks = [lack["wanted"] - lack["has"] for lack in dark["lacks"]]
    words = ", ".join(f"{count:,}" for count in created)
    return {
        **figures,
        "created": Measured(sum(created) if created == CREATED else -1, detail=words),
        "shortest_us": min(times),
        "longest_us": max(times),
        "lacking": Measured(len(lacks), detail=f"each at most {max(lacks)}"),
        "lack": max(lacks),
    }


def _by_spine(done: LargeRun, variant: str) -> Counter[str]:
    """Return the frames that each spine sends over its circuits."""
    frames = Counter[str]()
    for link, source, _, count in directions(done.fabric, done.observations[variant]):
        if link.startswith("ocs"):
            frames[source] += count
    return frames
