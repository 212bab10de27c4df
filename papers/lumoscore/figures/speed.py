# SPDX-License-Identifier: Apache-2.0
"""LumosCore's planning time: seconds on this machine, and the authors' published seconds."""

from __future__ import annotations

from collections.abc import Sequence

from papers.claims import Measured, Progress, Values
from papers.lumoscore.plot import growth_svg
from papers.lumoscore.speed import AUTHORS_EXACT, PODS, Change, Cluster, clusters, growth


def planning_time(note: Progress, repeats: int = 1, power: int = 0) -> Values:
    """Measure the seconds to plan circuits on clusters of 16 to 256 Pods; `values` explains the arguments."""
    return values(clusters(lambda pods, share: note(f"{pods} Pods", share)), repeats, power)


def values(result: Sequence[Cluster], repeats: int = 1, power: int = 0) -> Values:
    """Return planning times in seconds, their growth, and the exact program's time divided by LumosCore's.

    `result` is in order of size. `repeats` and `power` are mutations of the claims: they multiply each time
    by `repeats` * (Pods / fewest Pods) ** `power`.
    """

    def seconds(cluster: Cluster, change: Change) -> float:
        return cluster.changes[change].median * repeats * (cluster.pods / PODS[0]) ** power

    measured: dict[str, Measured | float] = {}
    for change in Change:
        for cluster in result:
            timed = cluster.changes[change]
            words = f"{min(timed.seconds):.2g} to {max(timed.seconds):.2g}, {timed.created:,} circuits made"
            measured[f"{change.name}-{cluster.pods}"] = Measured(seconds(cluster, change), detail=words)
        measured[f"growth-{change.name}"] = growth([seconds(cluster, change) for cluster in result])
    done = [(cluster, cluster.exact) for cluster in result if cluster.exact is not None]
    if not done:
        return {**measured, "exact": 0}
    largest, exact = done[-1]
    words = f"{exact:.3g} s with {largest.npus:,} NPUs; the authors' {AUTHORS_EXACT[largest.pods]:g} s"
    return {**measured, "exact": Measured(exact / seconds(largest, Change.job), detail=words)}


def picture() -> str:
    """Return the chart of planning times as SVG."""
    return growth_svg(clusters())
