# SPDX-License-Identifier: Apache-2.0
"""Median over seeds with its confidence interval, by SciPy's bootstrap."""

from __future__ import annotations

from collections.abc import Sequence

from papers.claims.claim import Measured

__all__ = ["CONFIDENCE", "FEWEST_SEEDS", "over_seeds"]

FEWEST_SEEDS = 10
CONFIDENCE = 0.95


def over_seeds(values: Sequence[float], detail: str = "") -> Measured:
    """Return the median of values, one for each seed, with its 95 % interval by percentile bootstrap.

    The resamples are drawn from a fixed seed, so equal values give an equal interval.

    Raises:
        ValueError: There are fewer than ten values.
    """
    import numpy as np
    from scipy.stats import bootstrap

    if len(values) < FEWEST_SEEDS:
        raise ValueError(
            f"there are {len(values)} seeds, and an interval needs at least {FEWEST_SEEDS}; run more seeds"
        )
    sample = np.asarray(values, dtype=float)
    result = bootstrap(
        (sample,), np.median, confidence_level=CONFIDENCE, method="percentile", rng=np.random.default_rng(1)
    )
    interval = result.confidence_interval
    return Measured(float(np.median(sample)), float(interval.low), float(interval.high), len(values), detail)
