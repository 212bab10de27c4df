# SPDX-License-Identifier: Apache-2.0
"""Examples from the papers of CASSINI and Sincronia, run by this project's versions of both schedulers.

CASSINI's example: jobs with iterations of 40 and 60 ms share a link. On a circle of 120 ms the first job has
three iterations and the second two. Rotated against each other, their sending never overlaps. Ours: each job
sends for 10 ms an iteration.

Sincronia's order, BSSI: find the busiest port. The coflow with the least weight a byte on this port goes
last. Lower the weights of the other coflows in proportion to their bytes on this port. Order the remaining
coflows in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from controller.jobs import Job, Schedule
from controller.jobs.schedulers import bottleneck_order
from controller.jobs.shifts import interleaving_shifts, largest_excess
from controller.jobs.timeline import utilisation
from papers.claims import Measured, Progress, Values

__all__ = ["baselines"]


def baselines(
    note: Progress, apart: bool = False, rotated: bool = True, by_size: bool = False, reverse: bool = False
) -> Values:
    """Return rotations and gain in CASSINI's example; Sincronia's order, and its worst ratio to the best.

    Args:
        apart: put the two jobs of CASSINI's example on different links.
        rotated: apply the rotation.
        by_size: order coflows by their size instead of BSSI.
        reverse: reverse the order of BSSI.
    """
    note("circles", 0.0)
    turns, excess = cassini_excess(apart=apart, rotated=rotated)
    note("orders", 0.3)
    wanted, order = sincronia_example(by_size=by_size)
    return {
        "turns-40": float(turns[0]),
        "turns-60": float(turns[1]),
        "excess": 100 * excess,
        "gain": cassini_gain(rotated=rotated),
        "order": Measured(
            float(sum(a == b for a, b in zip(wanted, order, strict=True))), detail=", ".join(order)
        ),
        "factor": sincronia_factor(60, reverse=reverse),
    }


def _on(name: str, compute: float, sends: float, link: int = 0) -> Job:
    return Job(name, 8, compute, np.array([sends]), np.array([[[link]]]))


def cassini_excess(*, apart: bool = False, rotated: bool = True) -> tuple[tuple[int, int], float]:
    """Return each job's iterations a circle, and the mean excess of demand over the link's capacity."""
    jobs = [_on("40 ms", 0.03, 0.01), _on("60 ms", 0.05, 0.01, link=1 if apart else 0)]
    choices, rates = [np.zeros(1, np.int64)] * 2, np.ones(2)
    _, turns, shifts = interleaving_shifts(jobs, choices, rates)
    used = shifts if rotated else np.zeros(2)
    return (int(turns[0]), int(turns[1])), largest_excess(jobs, choices, rates, used, 0.12)


def cassini_gain(*, rotated: bool = True) -> float:
    """Return the work of two equal jobs on one link with rotation, divided by the work without rotation."""
    jobs = [_on("a", 1.0, 1.0), _on("b", 1.0, 1.0)]
    choices, rates = [np.zeros(1, np.int64)] * 2, np.ones(1)
    groups, turns, shifts = interleaving_shifts(jobs, choices, rates)
    levels = np.zeros(2, np.int64)
    used = shifts if rotated else np.zeros(2)
    together = utilisation(jobs, Schedule.of(choices), rates, 600.0)
    return utilisation(jobs, Schedule(tuple(choices), levels, groups, turns, used), rates, 600.0) / together


# Bytes of four coflows at three ports; each coflow has weight 1. BSSI by hand:
# 1. Port 0 is the busiest, with 10 bytes. C has the least weight a byte, 1/5, and goes last. The weights of A
#    and B fall to 0.4 and 0.6.
# 2. Port 1 is the busiest, with 7 bytes. B has 0.6/3 = 0.2 a byte, D has 1/4: B goes third. The weight of D
#    falls to 0.2.
# 3. Port 1 is the busiest, with 4 bytes. D goes second, A first.
_COFLOWS = {"A": (3, 0, 3), "B": (2, 3, 0), "C": (5, 0, 2), "D": (0, 4, 0)}


def sincronia_example(*, by_size: bool = False) -> tuple[Sequence[str], Sequence[str]]:
    """Return the order of four coflows by BSSI, computed by hand, and the order by the scheduler.

    `by_size` replaces the scheduler by an order of growing size.
    """
    names = list(_COFLOWS)
    jobs = [_coflow(name, amounts) for name, amounts in _COFLOWS.items()]
    if by_size:
        order = np.argsort([sum(amounts) for amounts in _COFLOWS.values()], kind="stable")
    else:
        order = bottleneck_order(jobs, [np.zeros(3, np.int64)] * len(jobs), np.ones(3))
    return ("A", "D", "B", "C"), [names[index] for index in order.tolist()]


def _coflow(name: str, amounts: Sequence[float]) -> Job:
    paths = np.array([[[port]] for port in range(len(amounts))])
    return Job(name, 1, 1.0, np.array(amounts, float), paths)


def sincronia_factor(draws: int, *, reverse: bool = False) -> float:
    """Return the largest ratio of mean completion time in BSSI's order to that in the best order.

    The ratio is taken for `draws` random sets of coflows; `reverse` turns BSSI's order round. Each port
    sends coflows in order; a coflow completes when its last port has sent its bytes.
    """
    rng = np.random.default_rng(1)
    worst = 1.0
    for _ in range(draws):
        number, ports = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        amounts = rng.integers(0, 9, (number, ports)).astype(float)
        amounts[:, 0] += 1
        jobs = [_coflow(f"c{index}", row) for index, row in enumerate(amounts)]
        order = bottleneck_order(jobs, [np.zeros(ports, np.int64)] * number, np.ones(ports)).tolist()
        best = min(_mean_completion(amounts, other) for other in permutations(range(number)))
        worst = max(worst, _mean_completion(amounts, order[::-1] if reverse else order) / best)
    return worst


def _mean_completion(amounts: np.ndarray, order: Sequence[int]) -> float:
    sent = amounts[list(order)].cumsum(axis=0)
    return float(np.where(amounts[list(order)] > 0, sent, 0.0).max(axis=1).mean())
