# SPDX-License-Identifier: Apache-2.0
"""Counters of links as CSV, for `railyard run --links`."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railyard.api.results import Result

__all__ = ["links_csv"]


def links_csv(results: Sequence[Result]) -> str:
    """Return a table with a row for each scenario, variant, link and direction; empty without results.

    The columns are `scenario`, `seed`, and those of `Result.links`.
    """
    rows = [
        {"scenario": result.scenario.name, "seed": result.verdict.seed, **record}
        for result in results
        for record in result.links()
    ]
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
