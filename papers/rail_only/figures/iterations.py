# SPDX-License-Identifier: Apache-2.0
"""Rail-only's iteration times by domain, bandwidth, NIC and batch, from the inputs of the paper."""

from __future__ import annotations

from dataclasses import replace

from papers.claims import Measured, Progress, Values
from papers.rail_only.iteration import VARIANTS, Cluster, figures

__all__ = ["iteration"]

# Name of a comparison -> (the figure that is larger in the paper, the smaller figure).
_ORDERS = {
    "order-domains": ("domains-8", "domains-256"),
    "order-models": ("small-ideal", "large-ideal"),
    "order-hb": ("hb-256", "hb-8"),
    "order-nic": ("nic-8", "nic-256"),
}


def iteration(note: Progress, hb: float = 1.0, nic: float = 1.0) -> Values:
    """Return the paper's comparisons of iteration times in percent, with their spread over assumptions.

    `hb` multiplies all bandwidths inside domains, `nic` all bandwidths of NICs.
    """
    note("searching layouts", 0.0)
    base = Cluster()
    ours = figures(base, hb, nic)
    others = []
    for done, changes in enumerate(VARIANTS.values()):
        note("other assumptions", done / len(VARIANTS))
        others.append(figures(replace(base, **changes), hb, nic))

    def spread(values: list[float]) -> str:
        return f"{min(values):.1f} to {max(values):.1f} with other assumptions"

    result: dict[str, Measured | float] = {}
    for name in ours:
        result[name] = Measured(ours[name], detail=spread([other[name] for other in others]))
    for name, (more, less) in _ORDERS.items():
        result[name] = Measured(
            ours[more] - ours[less], detail=spread([other[more] - other[less] for other in others])
        )
    return result
