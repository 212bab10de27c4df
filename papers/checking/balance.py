# SPDX-License-Identifier: Apache-2.0
"""Frames of a run on each cable up and each aggregation switch of HPN: the balance of its hash."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from papers.checking.large_runs import Outcome, Run, check_run
from papers.checking.statements import TRAFFIC, spread
from topologies import NodeKind

__all__ = ["balance", "check_balance"]

SHOWN = (
    *TRAFFIC,
    "cross_plane_frames",
    "nodes_notified",
    "notices",
    "convergence_us",
    "entries_rewritten",
    "table_entries",
)


def uplinks(result: Outcome, variant: str) -> dict[str, list[int]]:
    """Return the frames on each cable up from a ToR, by the aggregation switch to which it leads."""
    kinds = {node.name: node.kind for node in result.fabric.nodes}
    frames: dict[str, list[int]] = {}
    for link in result.links(variant):
        source, destination = str(link["source"]), str(link["destination"])
        if (kinds[source], kinds[destination]) == (NodeKind.RAIL, NodeKind.SPINE):
            frames.setdefault(destination, []).append(int(link["frames"] or 0))
    return frames


def balance(result: Outcome, *, favoured: int, fullest: float, told: int) -> Iterator[tuple[str, bool]]:
    """Say of the variant `healthy` how even it is, and of the others how many nodes act on a notice.

    Args:
        result: of a scenario on HPN whose jobs use all segments.
        favoured: aggregation switches of a plane that have nine values of the hash; the others have eight.
        fullest: largest load of a cable that is stated, as a multiple of the mean.
        told: number of nodes that act on a notice, as computed from the topology.

    Yields:
        A statement, and whether it holds.
    """
    for variant in result.variants:
        by_agg = uplinks(result, variant)
        sums = {name: sum(counts) for name, counts in by_agg.items()}
        cables = [count for counts in by_agg.values() for count in counts]
        spread(f"aggregation switches ({variant})", list(sums.values()))
        low, high = spread(f"cables up ({variant})", cables)
        if variant != "healthy":
            count = result.metric(variant, "nodes_notified")
            yield f"{told} GPUs and ToRs act on a notice", count == told
            continue
        many = [count for name, count in sums.items() if int(name.split(".")[1]) < favoured]
        few = [count for name, count in sums.items() if int(name.split(".")[1]) >= favoured]
        ratio = sum(many) / len(many) / (sum(few) / len(few))
        print(f"the first {favoured} of a plane carry {ratio:.3f} times as much as the others")
        yield (
            f"the first {favoured} aggregation switches of a plane carry 9/8 of the others",
            1.1 < ratio < 1.15,
        )
        yield f"no cable up is idle, and none carries {fullest:g} times the mean", low > 0 and high <= fullest


def check_balance(
    run: Run[Outcome],
    scenario: Path,
    *,
    favoured: int,
    fullest: float,
    told: int,
    most_seconds: float,
    most_gb: float,
) -> int:
    """Run a scenario on HPN and print its figures; return the exit code, 1 when something is not true.

    Args:
        run: `railyard.run`.
        scenario: file of the scenario; the command line may name variants of it.
        favoured: as in `balance`.
        fullest: as in `balance`.
        told: as in `balance`.
        most_seconds: largest processor time of a variant, in seconds.
        most_gb: largest peak of memory, in GB.
    """
    facts = partial(balance, favoured=favoured, fullest=fullest, told=told)
    return check_run(run, scenario, SHOWN, facts, most_seconds=most_seconds, most_gb=most_gb)
