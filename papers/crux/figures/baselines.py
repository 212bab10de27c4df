# SPDX-License-Identifier: Apache-2.0
"""The baselines of Crux, each held against an example of its own paper; these papers are recalled."""

from __future__ import annotations

from papers.claims import Measured, Progress, Values
from papers.crux.baselines import cassini_excess, cassini_gain, sincronia_example, sincronia_factor

__all__ = ["baselines"]


def baselines(
    note: Progress, apart: bool = False, rotated: bool = True, by_size: bool = False, reverse: bool = False
) -> Values:
    """Return the figures of the check `baselines`."""
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
