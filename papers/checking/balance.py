# SPDX-License-Identifier: Apache-2.0
"""Balance of HPN's hash: frames on each uplink to an aggregation switch, and on each such switch."""

from __future__ import annotations

from papers.checking.large_runs import directions, large_run, spread
from papers.claims import Measured, Progress, Values
from topologies import NodeKind

__all__ = ["balance"]


def balance(note: Progress, scenario: str, favoured: int) -> Values:
    """Run a scenario on HPN with jobs over all segments, and return the balance of frames.

    Args:
        scenario: file below `experiments/`, with a variant `healthy`.
        favoured: number of aggregation switches of a plane with nine values of the hash; the remaining
            switches have eight.

    Returns:
        - All figures of `large_run`.
        - VARIANT.aggs.least and .most: least and most frames of an aggregation switch, as shares of the mean.
        - VARIANT.cables.least and .most: likewise for a cable from a ToR to an aggregation switch.
        - `favoured`: mean frames of a favoured aggregation switch divided by those of the remaining
          switches, in the variant `healthy`.
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
