# SPDX-License-Identifier: Apache-2.0
"""Circuits of optical switches: how long a change of demand takes to plan, and how many circuits it moves.

`python -m bench.circuits` prints JSON. What is planned, and beside which figures, papers.lumoscore says;
`railyard experiments lumoscore` judges the same. One core; times are processor time.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import chain

import numpy as np

from bench.figures import Series, machine
from papers.lumoscore.ratios import METHODS, SMALL, ratios
from papers.lumoscore.speed import AUTHORS, AUTHORS_EXACT, Change, Cluster, clusters

__all__ = ["reconfiguration_figures", "time_figures"]


def time_figures() -> list[dict[str, object]]:
    """One a cluster: seconds of each sort of change, circuits made and those that had to be made.

    And seconds of the exact program for one job's change, None from the first cluster on where it exceeds its
    limit.
    """
    result = clusters(lambda pods, share: print(f"{pods} Pods", file=sys.stderr))
    return [_row(item) for item in result]


def _row(cluster: Cluster) -> dict[str, object]:
    row: dict[str, object] = {
        "npus": cluster.npus,
        "pods": cluster.pods,
        "target_seconds": cluster.target,
        "authors_seconds": AUTHORS[cluster.pods],
        "authors_exact_seconds": AUTHORS_EXACT[cluster.pods],
        "exact_seconds": cluster.exact,
    }
    for change, timed in cluster.changes.items():
        row[change.name] = {
            "what": change.value,
            "seconds": Series(timed.seconds).as_json(),
            "circuits_created": timed.created,
            "circuits_made_at_least": timed.least,
        }
    print(f"    {Series(cluster.changes[Change.job].seconds)} s", file=sys.stderr)
    return row


def reconfiguration_figures(seeds: int = 6, changes: int = 3) -> dict[str, object]:
    """Circuits made by each method over those of the exact program; where that makes none, one and those."""
    every = [ratios(shape, range(seeds), changes) for shape in SMALL]
    return {method: _spread(list(chain.from_iterable(some[method] for some in every))) for method in METHODS}


def _spread(values: list[float]) -> dict[str, object]:
    return {
        "changes": len(values),
        "mean": float(np.mean(values)),
        "deciles": np.quantile(values, np.linspace(0, 1, 11)).round(3).tolist(),
    }


if __name__ == "__main__":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    figures = {
        "machine": machine(),
        "reconfigurations_over_exact": reconfiguration_figures(),
        "times": time_figures(),
    }
    json.dump(figures, sys.stdout, indent=2)
    print()
