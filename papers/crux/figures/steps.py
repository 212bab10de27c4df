# SPDX-License-Identifier: Apache-2.0
"""Each of Crux's three steps against the optimum by exhaustive search."""

from __future__ import annotations

from controller.jobs import (
    Job,
    best_cut,
    compress,
    contention,
    cut_weight,
    has_inversion,
    intensity,
    least_congested,
    ranking,
)
from papers.claims import Measured, Progress, Values, over_seeds
from papers.crux.steps import drawn, reached

__all__ = ["measure_compression", "measure_paths", "measure_steps"]


def measure_paths(note: Progress, draws: int = 200, turned: bool = False) -> Values:
    """Count draws in which two of the most intensive jobs share a link.

    A draw has twice as many jobs as disjoint paths; the more intensive half of the jobs counts. A job takes
    the path least loaded by earlier jobs. `turned` gives the least intensive jobs the first choice.
    """
    import numpy as np

    rng = np.random.default_rng(1)
    met = 0
    for draw in range(draws):
        note("paths", draw / draws)
        ways = int(rng.integers(2, 9))
        paths = np.array([[[spine, ways + spine] for spine in range(ways)]])
        jobs = [
            Job(f"job{n}", int(2 ** rng.integers(3, 9)), rng.uniform(0.2, 2), rng.uniform(0.1, 1, 1), paths)
            for n in range(2 * ways)
        ]
        rates = np.ones(2 * ways)
        value = np.array([intensity(job, np.zeros(1, np.int64), rates) for job in jobs])
        order = ranking(value).tolist()
        choices = least_congested(jobs, order[::-1] if turned else order, rates)
        met += len({int(choices[number][0]) for number in order[:ways]}) < ways
    return {"met": float(met)}


def measure_compression(
    note: Progress, draws: int = 200, turned: bool = False, crude: bool = False
) -> Values:
    """Compress priorities on random contention graphs; measure the cut weight in percent of the best cut.

    Args:
        note: progress callback.
        draws: number of graphs.
        turned: reverse the levels.
        crude: separate only the job of highest priority from the rest.
    """
    import numpy as np

    rng = np.random.default_rng(1)
    shares, inverted = [], 0
    for draw in range(draws):
        note("graphs", draw / draws)
        number, levels = int(rng.integers(3, 9)), int(rng.integers(2, 5))
        uses = rng.random((number, 6)) < rng.uniform(0.2, 0.5)
        order = rng.permutation(number)
        weights = contention(uses, order, rng.uniform(0.1, 10, number))
        result = compress(weights, levels)
        if turned:
            result = result.max() - result
        if crude:
            result = (np.arange(number) != order[0]).astype(np.int64)
        inverted += has_inversion(weights, result)
        most = cut_weight(weights, best_cut(weights, levels))
        shares.append(cut_weight(weights, result) / most if most else 1.0)
    mean = f"mean {100 * float(np.mean(shares)):.2f} %"
    return {"inverted": float(inverted), "least-cut": Measured(100 * min(shares), detail=mean)}


# Steps for which the paper gives the share of the optimum.
_STEPS = ("paths", "priorities", "compression")


def measure_steps(note: Progress, jobs: int = 4, levels: int = 2, cases: int = 20) -> Values:
    """Measure the work with one step by Crux and the other steps optimal, as a share of the optimum."""
    import numpy as np

    rng = np.random.default_rng(1)
    result = []
    for case in range(cases):
        note(f"case {case + 1} of {cases}", case / cases)
        some, rates = drawn(rng, jobs)
        result.append(reached(some, rates, levels))
    values: dict[str, Measured | float] = {}
    for name in (*_STEPS, "first"):
        shares = [100 * getattr(item, name) for item in result]
        words = f"mean {np.mean(shares):.2f} %, least {min(shares):.2f} %"
        values[name] = over_seeds(shares, words) if cases >= 10 else Measured(float(np.median(shares)))
    return values
