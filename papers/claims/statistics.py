# SPDX-License-Identifier: Apache-2.0
"""Median over seeds with its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from harness.sweeps.statistics import median_interval
from papers.claims.claim import Measured

__all__ = ["FEWEST_SEEDS", "over_seeds"]

FEWEST_SEEDS = 10
_RESAMPLES = 9999


def over_seeds(values: Sequence[float], detail: str = "") -> Measured:
    """Return the median of values, one for each seed, with its 95 % interval by percentile bootstrap.

    The resamples are drawn from a fixed seed, so equal values give an equal interval.

    Raises:
        ValueError: There are fewer than ten values.
    """
    if len(values) < FEWEST_SEEDS:
        raise ValueError(
            f"there are {len(values)} seeds, and an interval needs at least {FEWEST_SEEDS}; run more seeds"
        )
    return Measured(float(median(values)), *median_interval(values, _RESAMPLES, seed=1), len(values), detail)
