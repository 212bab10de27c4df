# SPDX-License-Identifier: Apache-2.0
"""Figures of closed formulas as findings of a claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from papers.claims import Progress
from papers.claims.findings import Finding
from papers.claims.model_figure import Figure, Kind

__all__ = ["computing", "finding"]


def finding(figure: Figure) -> Finding:
    """Judged as the figure is; what was fitted says so and is no evidence."""
    ours = f"{figure.shown(figure.ours)} ({figure.kind})"
    paper = figure.shown(figure.paper)
    if figure.judged:
        verdict = "holds" if figure.holds else "differs"
        if figure.kind is not Kind.counted or figure.difference:
            ours = f"{figure.shown(figure.ours)}, {figure.difference_shown} ({figure.kind})"
        return Finding(figure.name, figure.source, paper, ours, verdict, figure.reason, figure.known)
    reason = figure.reason
    if figure.kind is Kind.fitted:
        reason = f"fitted to this figure, so no evidence for it; {reason}"
    return Finding(figure.name, figure.source, paper, ours, "not judged", reason)


def computing(figures: Callable[[], Sequence[Figure]]) -> Callable[[Progress], Sequence[Finding]]:
    """Return the `run` of a claim whose figures are computed at once."""

    def run(note: Progress) -> Sequence[Finding]:
        note("computing", 0.0)
        return tuple(finding(figure) for figure in figures())

    return run
