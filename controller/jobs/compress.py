# SPDX-License-Identifier: Apache-2.0
"""Assign priorities to few levels: a Max-K-Cut of the contention graph that inverts no priority.

Published (Crux, section 4.3, algorithm 1):

    graph   If two jobs share a link, an edge leads from the job of higher priority to the job of lower
            priority. The weight of the edge is the intensity of the job of higher priority. An edge between
            two jobs of the same level does not count towards the cut.
    orders  Breadth-first search draws m = 10 random topological orders of the jobs.
    cut     Dynamic programming finds the best cut of each order into levels. The best cut of all orders is
            the result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from controller.errors import PlanError
from controller.jobs.job import Floats, Ints

__all__ = ["SAMPLES", "best_cut", "compress", "contention", "cut_weight", "has_inversion"]

# Number of topological orders, m in the paper.
SAMPLES = 10


def contention(uses: NDArray[np.bool_], order: Ints, intensities: Floats) -> Floats:
    """Return the edge weights of the contention graph, (jobs, jobs).

    Element [i, j] is the weight of the edge from job i to job j, or 0 without an edge.

    Args:
        uses: Whether each job sends over each link, (jobs, links).
        order: Jobs by falling priority.
        intensities: Intensity of each job, (jobs,).
    """
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    shared = uses.astype(np.float32)
    shared = (shared @ shared.T) > 0
    return np.where(shared & (rank[:, None] < rank), np.asarray(intensities)[:, None], 0.0)


def cut_weight(weights: Floats, levels: Ints) -> float:
    """Return the total weight of edges between different levels."""
    return float(weights[levels[:, None] != levels].sum())


def has_inversion(weights: Floats, levels: Ints) -> bool:
    """Return whether any edge leads from a later level to an earlier level."""
    return bool(((weights > 0) & (levels[:, None] > levels)).any())


def compress(weights: Floats, levels: int, samples: int = SAMPLES, seed: int = 0) -> Ints:
    """Return the level of each job, 0 (served first) to at most `levels` - 1, for the best cut found.

    Args:
        weights: Edge weights of the contention graph, (jobs, jobs).
        levels: Number of levels.
        samples: Number of random topological orders.
        seed: Seed of the random orders.

    Raises:
        PlanError: `levels` or `samples` is below 1, or the graph has a cycle.
    """
    if levels < 1 or samples < 1:
        raise PlanError(
            f"expected at least 1 level and 1 sample, got {levels} levels and {samples} samples",
            remedy="give at least one of each",
        )
    rng = np.random.default_rng(seed)
    best: Ints = np.zeros(len(weights), np.int64)
    most = -1.0
    whole = float(weights.sum())
    for _ in range(samples):
        order = _topological(weights, rng)
        inside, ends = _partition(weights[np.ix_(order, order)], levels)
        if whole - inside > most:
            most = whole - inside
            best = np.empty(len(order), np.int64)
            best[order] = np.searchsorted(ends, np.arange(len(order)), side="right")
        if inside <= 0:
            break
    # Drop empty levels, and number the remaining levels from 0.
    return np.unique(best, return_inverse=True)[1].astype(np.int64)


def _topological(weights: Floats, rng: np.random.Generator) -> Ints:
    """Return a random topological order of the jobs, by breadth-first search.

    Each round appends, in random order, the jobs whose predecessors are all in the order.
    """
    edges = weights > 0
    waiting = edges.sum(axis=0)
    front = np.flatnonzero(waiting == 0)
    order: list[int] = []
    while len(front):
        front = rng.permutation(front)
        order += front.tolist()
        waiting[front] = -1
        waiting -= edges[front].sum(axis=0)
        front = np.flatnonzero(waiting == 0)
    if len(order) < len(weights):
        raise PlanError(
            f"the contention graph gives {len(weights) - len(order)} jobs no order: a cycle of edges puts a "
            "job before another and after it",
            remedy="give edges that follow one order of priorities",
        )
    return np.array(order, np.int64)


def _partition(weights: Floats, levels: int) -> tuple[float, Ints]:
    """Split jobs in topological order into at most `levels` runs, with the least weight inside runs.

    Returns this weight, and for each run except the last, the index of the first job after the run. `weights`
    has the jobs in topological order.
    """
    number = len(weights)
    sums = np.zeros((number + 1, number + 1))
    sums[1:, 1:] = weights.cumsum(axis=0).cumsum(axis=1)
    own = np.diagonal(sums)
    # inside[i, j]: weight of the edges among jobs i to j - 1.
    inside = own[None, :] - sums - sums.T + own[:, None]
    inside[np.tril_indices(number + 1, -1)] = np.inf
    best = inside[0].copy()
    taken: list[Ints] = []
    for _ in range(levels - 1):
        sums_of = best[:, None] + inside
        taken.append(np.argmin(sums_of, axis=0).astype(np.int64))
        best = sums_of.min(axis=0)
    ends = []
    at = number
    for before in reversed(taken):
        at = int(before[at])
        ends.append(at)
    return max(float(best[number]), 0.0), np.array(ends[::-1], np.int64)


def best_cut(weights: Floats, levels: int) -> Ints:
    """Return the best level of each job, found by trying all assignments: largest cut, no inverted priority.

    Raises:
        PlanError: `levels` is below 1, or there are more than two million assignments.
    """
    number = len(weights)
    if levels < 1 or levels**number > 2_000_000:
        raise PlanError(
            f"{number} jobs on {levels} levels cannot be tried; expected at least 1 level and at most "
            "2,000,000 assignments",
            remedy="use fewer jobs or levels, or call compress",
        )
    every = (
        np.stack(np.unravel_index(np.arange(levels**number), (levels,) * number), axis=1) if number else None
    )
    if every is None:
        return np.zeros(0, np.int64)
    value = np.zeros(len(every))
    good = np.ones(len(every), bool)
    for higher, lower in np.argwhere(weights > 0):
        value += weights[higher, lower] * (every[:, higher] != every[:, lower])
        good &= every[:, higher] <= every[:, lower]
    return every[np.argmax(np.where(good, value, -1.0))].astype(np.int64)
