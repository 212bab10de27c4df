# SPDX-License-Identifier: Apache-2.0
"""The baselines of Crux, each held against an example of its own paper; these papers are recalled."""

from __future__ import annotations

from papers.claims import (
    Check,
    Claim,
    Kind,
    Measured,
    Progress,
    Values,
    around,
    between,
    changed,
    exactly,
)

__all__ = ["CHECKS"]

_CASSINI = "CASSINI (NSDI 2024), unified circle: jobs of 40 and 60 ms on a circle of 120 ms; recalled"
_SINCRONIA = "Sincronia (SIGCOMM 2018), algorithm BSSI; recalled"

_CLAIMS = (
    *(
        Claim(
            name=f"turns-{length}",
            text=f"CASSINI-like: rounds of a job of {length} ms on the circle shared with the other job",
            place=_CASSINI,
            kind=Kind.recalled,
            unit="rounds",
            paper=exactly(turns),
            holds=exactly(turns),
            mutation=changed("the jobs share no link", apart=True),
        )
        for length, turns in ((40, 3), (60, 2))
    ),
    Claim(
        name="excess",
        text="CASSINI-like: demand above the link's capacity with both jobs rotated, mean over the circle",
        place=_CASSINI,
        kind=Kind.recalled,
        unit="%",
        paper=exactly(0),
        holds=between(0, 0.01),
        mutation=changed("both begin together", rotated=False),
    ),
    Claim(
        name="gain",
        text="CASSINI-like: work of two equal jobs that send for half of the time, against both at once",
        place="derived here: 1 s of computing and 1 s of sending each, 2 s alone and 3 s together",
        kind=Kind.derived,
        unit="x",
        holds=around(1.5, 0.02),
        mutation=changed("both begin together", rotated=False),
    ),
    Claim(
        name="order",
        text="Sincronia-like: places of coflows as BSSI gives them by hand, of 4",
        place=f"{_SINCRONIA}; the steps by hand are in docs/crux.md",
        kind=Kind.derived,
        unit="places",
        holds=exactly(4),
        mutation=changed("coflows in order of their size", by_size=True),
    ),
    Claim(
        name="factor",
        text="Sincronia-like: mean completion over the best order's, worst of 60 draws of 2 to 5 coflows",
        place=f"{_SINCRONIA}: within 4 times of the best",
        kind=Kind.recalled,
        unit="x",
        paper=between(1, 4),
        holds=between(1, 1.6),
        reason="far below 4 is expected of few coflows; an order turned round leaves the interval",
        mutation=changed("the order turned round", reverse=True),
    ),
)


def _measure(
    note: Progress,
    apart: bool = False,
    rotated: bool = True,
    by_size: bool = False,
    reverse: bool = False,
) -> Values:
    from papers.crux.baselines import cassini_excess, cassini_gain, sincronia_example, sincronia_factor

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
