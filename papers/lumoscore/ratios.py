# SPDX-License-Identifier: Apache-2.0
"""Circuits created by a reconfiguration, divided by the fewest possible (by integer program)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from controller.circuits import (
    CircuitPlan,
    Method,
    allocate,
    assign_exact,
    assign_pairs,
    count_moves,
    symmetric_split,
)
from controller.circuits.flow import Ints
from papers.lumoscore.load import feasible, refilled, states

__all__ = ["METHODS", "SMALL", "full_ratio", "ratios", "two_pairs"]

# Pods, spines, ports a spine: sizes that an integer program solves quickly.
SMALL = ((4, 2, 4), (6, 2, 8), (8, 2, 8), (8, 4, 4), (12, 2, 8), (16, 2, 8), (16, 4, 8))

METHODS: tuple[Method, ...] = ("flow", "greedy", "scratch")


def ratios(
    shape: tuple[int, int, int], seeds: Iterable[int], changes: int
) -> Mapping[Method, Sequence[float]]:
    """Return each method's created circuits divided by the fewest possible, for changes of job traces.

    If the integer program creates no circuit, the ratio is the number that the method creates, plus 1.

    Args:
        shape: Pods, spines, ports a spine.
        seeds: seeds of traces.
        changes: number of changes of a trace.
    """
    cases = [case for seed in seeds for case in states(*shape, seed, changes)]
    rows = [_ratios(*case, shape, METHODS) for case in cases]
    return dict(zip(METHODS, zip(*rows, strict=True), strict=True))


def full_ratio(shape: tuple[int, int, int], seed: int, method: Method = "flow") -> float:
    """Return the ratio of a method for one change, if demands leave no port free."""
    return _ratios(*refilled(*shape, seed), shape, (method,))[0]


def _ratios(
    demand: Ints, plan: CircuitPlan, shape: tuple[int, int, int], methods: Sequence[Method]
) -> list[float]:
    _, spines, ports = shape
    fewest, *created = (
        allocate(demand, spines, ports, plan, method, seconds=math.inf).moves.added
        for method in ("exact", *methods)
    )
    return [each / fewest if fewest else each + 1.0 for each in created]


def two_pairs(
    draws: int,
    rng: np.random.Generator,
    note: Callable[[float], None] = lambda share: None,
    *,
    fresh: bool = False,
) -> tuple[int, int, int]:
    """Compare `assign_pairs` on two pairs of switches with an integer program, under random changes.

    A change withdraws about a third of the circuits, and asks for new circuits on free ports. `fresh`: the
    assignment does not know the existing circuits.

    Returns:
        Number of draws in which the assignment makes as few changes as the integer program, circuits kept,
        and circuits removed.
    """
    best = kept = removed = 0
    for draw in range(draws):
        note(draw / draws)
        n = int(rng.integers(3, 17))
        matrix = symmetric_split(feasible(rng, n, 4))
        standing = assign_pairs(matrix, 2)
        matrix = rng.binomial(matrix, 2 / 3)
        for i, j in rng.integers(0, n, (2 * n, 2)):
            matrix[i, j] += i != j and matrix[i].sum() < 2 and matrix[:, j].sum() < 2
        ours, exact = (
            count_moves(standing, assigned)
            for assigned in (
                assign_pairs(matrix, 2, None if fresh else standing),
                assign_exact(matrix, 2, standing),
            )
        )
        best, kept, removed = best + (ours == exact), kept + ours.kept, removed + ours.removed
    return best, kept, removed
