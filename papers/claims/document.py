# SPDX-License-Identifier: Apache-2.0
"""Contents of experiments.json: claims, measured values as numbers with their unit, and verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from papers.claims.check import Row, counts, passed
from papers.claims.claim import Interval, Measured
from papers.claims.form.reader import ClaimFile

__all__ = ["to_document"]


def to_document(file: ClaimFile, done: Mapping[str, Sequence[Row]], *, finished: bool) -> dict[str, Any]:
    """Return the contents of `experiments.json`.

    Args:
        file: file of claims.
        done: rows of the checks that have run, by name of the check.
        finished: False while requested checks have still to run.
    """
    rows = [row for group in done.values() for row in group]
    return {
        "paper": file.name,
        "title": file.title,
        "finished": finished,
        "passed": passed(rows),
        "counts": {kind.value: dict(counter) for kind, counter in counts(rows).items()},
        "checks": [
            {"name": check.name, "title": check.title, "claims": [_row(row) for row in done[check.name]]}
            for check in file.checks
            if check.name in done
        ],
        "not_run": [check.name for check in file.checks if check.name not in done],
    }


def _row(row: Row) -> dict[str, Any]:
    claim, measured = row.claim, row.measured or Measured(math.nan, samples=0, detail=row.trouble)
    return {
        "name": claim.name,
        "claim": claim.text,
        "place": claim.place,
        "kind": claim.kind.value,
        "unit": claim.unit,
        "paper": _ends(claim.paper) if isinstance(claim.paper, Interval) else claim.paper,
        "holds": _ends(claim.holds),
        "expected": None if claim.expected is None else _ends(claim.expected),
        "value": _finite(measured.value),
        "confidence": None if measured.low is None else [measured.low, measured.high],
        "samples": measured.samples,
        "detail": measured.detail,
        "verdict": row.verdict,
        "reason": claim.reason,
        "mutation": None if claim.mutation is None else claim.mutation.words,
    }


def _ends(interval: Interval) -> list[float | None]:
    """Return the two ends of an interval; None for an open end."""
    return [_finite(interval.low), _finite(interval.high)]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
