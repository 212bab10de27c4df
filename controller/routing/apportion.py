# SPDX-License-Identifier: Apache-2.0
"""Shares as whole numbers: a few buckets dealt among many, by weight."""

from collections.abc import Sequence
from math import gcd
from typing import TypeVar

from controller.errors import PlanError
from controller.plan import BUCKETS

__all__ = ["apportion"]

T = TypeVar("T")


def apportion(
    paths: Sequence[T], weights: Sequence[float], offset: int = 0, buckets: int = BUCKETS
) -> tuple[T, ...]:
    """Buckets, 16 unless given, in proportion to the weights, by largest remainder.

    The buckets of a path are spread over the range, so a sender that counts through them sends evenly. Of
    more paths of equal weight than buckets some have none: which, follows from `turn`, so that pairs with
    other turns use others.
    """
    order = _spread_order(len(paths), offset, buckets)
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise PlanError(
            f"weights {list(weights)} of {len(paths)} paths", remedy="give one above 0, none below"
        )
    quotas = [buckets * weight / total for weight in weights]
    counts = [int(quota) for quota in quotas]
    # Rounded, so that quotas which differ only by floating-point noise are ties and the earlier path wins.
    by_remainder = sorted(range(len(paths)), key=lambda at: (round(counts[at] - quotas[at], 9), order[at]))
    for at in by_remainder[: buckets - sum(counts)]:
        counts[at] += 1
    slots = sorted(((turn + 0.5) / count, at) for at, count in enumerate(counts) for turn in range(count))
    return tuple(paths[at] for _, at in slots)


def _spread_order(count: int, turn: int, buckets: int) -> Sequence[int]:
    """The place of each of `count` paths in the order in which they are taken: neighbours far apart."""
    if count <= buckets:
        return range(count)
    step = next(step for step in range(round(count * 0.618), count) if gcd(step, count) == 1)
    return [(at - turn) * step % count for at in range(count)]
