# SPDX-License-Identifier: Apache-2.0
"""LumosCore's planning time: seconds on this machine beside those that the authors published of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck

if TYPE_CHECKING:
    from papers.lumoscore.speed import Change, Cluster

__all__ = ["CHECKS", "judged"]

_CODE = "LumosCore, released code"
_OURS = f"{_CODE}; a tenth is our target"

# How much faster than the exact program; the authors' are 45 to 72 times.
_FASTER = 40
_FIRST = (
    "Six rounds of halvings, each a min-cost flow of half a millisecond and the arrays around it, are more"
    " than a tenth of what was published for the smallest cluster"
)
_REPLACED = (
    "More is new than can be placed circuit by circuit, so halvings decide, four times over: two dozen"
    " min-cost flows of a millisecond or more, over a tenth of what was published for small clusters"
)
_FULL = (
    "With no port spare circuits are placed by chains of moves first, and where those find no end halvings"
    " start over: both are paid for"
)
# The most Pods of the clusters in which a change is known to miss the target, and why.
_MISSES = {"job": (0, ""), "first": (16, _FIRST), "replaced": (64, _REPLACED), "full": (128, _FULL)}
_MACHINE = "The target is in seconds and this machine slower, or busier, than the one it was set on"


def _run(note: Progress) -> Sequence[Finding]:
    from papers.lumoscore.speed import clusters

    return judged(clusters(lambda pods, share: note(f"{pods} Pods", share)))


def judged(result: Sequence[Cluster]) -> Sequence[Finding]:
    """Return the findings for clusters in order of size."""
    from papers.lumoscore.speed import Change

    rows = [_row(cluster, change) for change in Change for cluster in result]
    return (*rows, _growth(result), *_exact(result))


def _row(cluster: Cluster, change: Change) -> Finding:
    from papers.lumoscore.speed import AUTHORS

    timed = cluster.changes[change]
    good = timed.median <= cluster.target
    largest, why = _MISSES[change.name]
    known = cluster.pods <= largest
    return Finding(
        f"{change}, {cluster.npus:,} NPUs",
        _OURS,
        f"{AUTHORS[cluster.pods]:g} s; at most {cluster.target:.3g} s",
        f"{_seconds(timed.median)} ({min(timed.seconds):.2g} to {max(timed.seconds):.2g}), "
        f"{timed.created:,} circuits made, {timed.least:,} at least",
        "holds" if good else "differs",
        "" if good else why if known else _MACHINE,
        known=not good and known,
    )


def _growth(result: Sequence[Cluster]) -> Finding:
    from papers.lumoscore.speed import AUTHORS, Change, growth

    ours = {change: growth([item.changes[change].median for item in result]) for change in Change}
    theirs = growth([AUTHORS[item.pods] for item in result])
    slower = [change for change, times in ours.items() if times > theirs]
    return Finding(
        f"times as long for twice the NPUs, on average: {'; '.join(ours)}",
        _CODE,
        f"x{theirs:.1f}",
        "; ".join(f"x{times:.1f}" for times in ours.values()),
        "differs" if slower else "holds",
        f"grows faster than the authors' times: {'; '.join(slower)}" if slower else "",
    )


def _exact(result: Sequence[Cluster]) -> Iterable[Finding]:
    from papers.lumoscore.speed import AUTHORS, AUTHORS_EXACT, EXACT_LIMIT_S, Change

    done = [(item, item.exact) for item in result if item.exact is not None]
    if not done:
        return
    largest, seconds = done[-1]
    times = seconds / largest.changes[Change.job].median
    theirs = [AUTHORS_EXACT[item.pods] / AUTHORS[item.pods] for item in result]
    yield Finding(
        f"exact program over ours, {largest.npus:,} NPUs, one job's change",
        _CODE,
        f"{min(theirs):.0f} to {max(theirs):.0f} times; at least {_FASTER} is our target",
        f"{_seconds(seconds)}, {times:,.0f} times",
        "holds" if times >= _FASTER else "differs",
    )
    yield Finding(
        "exact program, one job's change: largest cluster where it finishes",
        _CODE,
        f"{result[-1].npus:,} NPUs in {AUTHORS_EXACT[result[-1].pods]:,.0f} s",
        f"{largest.npus:,} NPUs; " + ", ".join(_seconds(each) for _, each in done),
        "not judged",
        f"HiGHS, here given {EXACT_LIMIT_S:g} s; another program, on another machine, for another change",
    )


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"


def _picture() -> str:
    from papers.lumoscore.plot import growth_svg
    from papers.lumoscore.speed import clusters

    return growth_svg(clusters())


CHECKS = (
    FindingsCheck(
        "planning-time",
        "lumoscore",
        "Seconds to plan a change of 2k to 32k NPUs, on this machine",
        _run,
        long=True,
        picture=_picture,
    ),
)
