# SPDX-License-Identifier: Apache-2.0
"""LumosCore's planning time: seconds on this machine beside those that the authors published of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from papers.claims import Check, Claim, Interval, Kind, Measured, Progress, Values, between, changed, exactly
from papers.lumoscore.published import AUTHORS, AUTHORS_EXACT, NPUS_A_POD, PODS, TARGET, Change

if TYPE_CHECKING:
    from papers.lumoscore.speed import Cluster

__all__ = ["CHECKS", "values"]

_CODE = "LumosCore, released code"

# How many times as fast as the exact program; the authors' are 45 to 72 times.
_FASTER = 40
_FIRST = (
    "six rounds of halvings, each a min-cost flow of half a millisecond and the arrays around it, are more"
    " than"
    " a tenth of what was published for the smallest cluster"
)
_REPLACED = (
    "more is new than can be placed circuit by circuit, so halvings decide, four times over: two dozen"
    " min-cost"
    " flows of a millisecond or more, over a tenth of what was published for small clusters"
)
_FULL = (
    "with no port spare circuits are placed by chains of moves first, and where those find no end halvings"
    " start"
    " over: both are paid for"
)
# The most Pods of the clusters in which a change is known to miss the target, and why.
_MISSES = {"job": (0, ""), "first": (16, _FIRST), "replaced": (64, _REPLACED), "full": (128, _FULL)}
_SLOW = changed("every change planned fifty times", repeats=50)


def _time(change: Change, pods: int) -> Claim:
    target = TARGET * AUTHORS[pods]
    largest, why = _MISSES[change.name]
    return Claim(
        name=f"{change.name}-{pods}",
        text=f"{change}, {pods * NPUS_A_POD:,} NPUs: median seconds, at most a tenth of the authors'",
        place=f"{_CODE}; a tenth is a target of this project",
        kind=Kind.derived,
        unit="s",
        paper=exactly(AUTHORS[pods]),
        holds=between(0, target),
        expected=between(target, 10 * target) if pods <= largest else None,
        reason=why if pods <= largest else "",
        mutation=_SLOW,
    )


CLAIMS = (
    *(_time(change, pods) for change in Change for pods in PODS),
    *(
        Claim(
            name=f"growth-{change.name}",
            text=f"times as long for twice the NPUs, mean: {change}",
            place=_CODE,
            kind=Kind.stated,
            unit="x",
            paper=exactly(round((AUTHORS[PODS[-1]] / AUTHORS[PODS[0]]) ** (1 / (len(PODS) - 1)), 2)),
            holds=between(1, 5.75),
            mutation=changed("planning time as the cube of the Pods", power=2),
        )
        for change in Change
    ),
    Claim(
        name="exact",
        text="exact program over ours, one job's change, largest cluster that both plan",
        place=f"{_CODE}; {_FASTER} is a target of this project",
        kind=Kind.derived,
        unit="x",
        paper=between(45, 73),
        holds=Interval(low=_FASTER),
        reason="HiGHS, given two minutes; another program, on another machine, for another change than"
        " theirs",
        mutation=_SLOW,
    ),
)


def _run(note: Progress, repeats: int = 1, power: int = 0) -> Values:
    from papers.lumoscore.speed import clusters

    return values(clusters(lambda pods, share: note(f"{pods} Pods", share)), repeats, power)


def values(result: Sequence[Cluster], repeats: int = 1, power: int = 0) -> Values:
    """Return the values for clusters in order of size; times are scaled by `repeats` and Pods ** `power`."""
    from papers.lumoscore.speed import growth

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


def _picture() -> str:
    from papers.lumoscore.plot import growth_svg
    from papers.lumoscore.speed import clusters

    return growth_svg(clusters())


CHECKS = (
    Check(
        "planning-time",
        "lumoscore",
        "seconds to plan a change of 2k to 32k NPUs, on this machine",
        CLAIMS,
        _run,
        long=True,
        picture=_picture,
    ),
)
