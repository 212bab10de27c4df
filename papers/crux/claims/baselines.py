# SPDX-License-Identifier: Apache-2.0
"""The baselines of Crux, each held against an example of its own paper; these papers are recalled."""

from __future__ import annotations

from papers.claims import Check, Measured, Progress, Values
from papers.claims.declare import between, changed, derived, recalled
from papers.crux.baselines import cassini_excess, cassini_gain, sincronia_example, sincronia_factor

__all__ = ["CHECKS"]

_CASSINI = "CASSINI (NSDI 2024), unified circle: jobs of 40 and 60 ms on a circle of 120 ms; recalled"
_SINCRONIA = "Sincronia (SIGCOMM 2018), algorithm BSSI; recalled"

_CLAIMS = (
    *(
        recalled(
            f"turns-{length}",
            f"CASSINI-like: rounds of a job of {length} ms on the circle shared with the other job",
            turns,
            "rounds",
            changed("the jobs share no link", apart=True),
            place=_CASSINI,
        )
        for length, turns in ((40, 3), (60, 2))
    ),
    recalled(
        "excess",
        "CASSINI-like: demand above the link's capacity with both jobs rotated, mean over the circle",
        0,
        "%",
        changed("both begin together", rotated=False),
        place=_CASSINI,
        holds=between(0, 0.01),
    ),
    derived(
        "gain",
        "CASSINI-like: work of two equal jobs that send for half of the time, against both at once",
        1.5,
        "x",
        changed("both begin together", rotated=False),
        place="derived here: 1 s of computing and 1 s of sending each, 2 s alone and 3 s together",
        within=0.02,
    ),
    derived(
        "order",
        "Sincronia-like: places of coflows as BSSI gives them by hand, of 4",
        4,
        "places",
        changed("coflows in order of their size", by_size=True),
        place=f"{_SINCRONIA}; the steps by hand are in docs/fabrics/crux.md",
    ),
    recalled(
        "factor",
        "Sincronia-like: mean completion over the best order's, worst of 60 draws of 2 to 5 coflows",
        between(1, 4),
        "x",
        changed("the order turned round", reverse=True),
        place=f"{_SINCRONIA}: within 4 times of the best",
        holds=between(1, 1.6),
        reason="far below 4 is expected of few coflows; an order turned round leaves the interval",
    ),
)


def _measure(
    note: Progress, apart: bool = False, rotated: bool = True, by_size: bool = False, reverse: bool = False
) -> Values:
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


CHECKS = (Check("baselines", "crux", "Each baseline on an example of its own paper", _CLAIMS, _measure),)
