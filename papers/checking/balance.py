# SPDX-License-Identifier: Apache-2.0
"""Frames of a run on each cable up and each aggregation switch of HPN: the balance of its hash."""

from __future__ import annotations

from papers.checking.large_runs import directions, large_run, spread
from papers.claims import Measured, Progress, Values
from topologies import NodeKind

__all__ = ["balance"]


def balance(note: Progress, scenario: str, favoured: int) -> Values:
    """Run a scenario on HPN whose jobs use all segments.

    Args:
        note: told of the progress.
        scenario: file below `experiments/`, with a variant `healthy`.
        favoured: aggregation switches of a plane that have nine values of the hash; the others have eight.

    Returns:
        The figures of `large_run`; VARIANT.aggs and VARIANT.cables, least and most, as shares of the mean;
        `favoured`, frames of a favoured aggregation switch over those of another, in the healthy run.
    """
    done = large_run(note, scenario)
    figures: dict[str, Measured | float] = {**done.figures}
    kinds = {node.name: node.kind for node in done.fabric.nodes}
    for variant, seen in done.observations.items():
        by_agg: dict[str, list[int]] = {}
        for _, source, destination, frames in directions(done.fabric, seen):
            if (kinds[source], kinds[destination]) == (NodeKind.RAIL, NodeKind.SPINE):
                by_agg.setdefault(destination, []).append(frames)
        figures |= spread(f"{variant}.aggs", map(sum, by_agg.values()))
        figures |= spread(f"{variant}.cables", [count for counts in by_agg.values() for count in counts])
        if variant == "healthy":
            sums = {name: sum(counts) for name, counts in by_agg.items()}
            many = [count for name, count in sums.items() if int(name.split(".")[1]) < favoured]
            few = [count for name, count in sums.items() if int(name.split(".")[1]) >= favoured]
            figures["favoured"] = sum(many) / len(many) / (sum(few) / len(few))
    return figures
