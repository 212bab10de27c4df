# SPDX-License-Identifier: Apache-2.0
"""Shared parts of tests of claims: which claims run, and rules for all findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck

LEFT = {
    "ub-mesh": ("dependency-graphs", "superpod", "moe-dispatch", "moe-mix"),
}
"""Claims of ten seconds to half a minute, which `railyard experiments` runs and no test does."""


def short(claims: Iterable[FindingsCheck]) -> list[FindingsCheck]:
    """Return the claims that tests run."""
    return [claim for claim in claims if not claim.long and claim.name not in LEFT.get(claim.paper, ())]


def as_expected(run: Callable[[Progress], Sequence[Finding]]) -> None:
    """Every finding is as the paper says, or says why not; work is told as shares."""
    told: list[float] = []
    findings = run(lambda _, share: told.append(share))
    assert findings
    assert [finding for finding in findings if finding.fails] == []
    assert all(0 <= share <= 1 for share in told)
    for finding in findings:
        assert finding.source
        assert finding.reason or finding.verdict == "holds"
