# SPDX-License-Identifier: Apache-2.0
"""Load of a NIC's two ports in the runs of this folder."""

from papers.claims import Measured, Progress, Values
from papers.claims.runs import observed
from papers.hpn.figures.paths import idle_downlinks, port_imbalance


def ports(note: Progress) -> Values:
    """Return the heavier port's load over the lighter's by fabric and variant, and the wrong runs."""
    figures: dict[str, Measured | float] = {}
    wrong = 0
    for name in ("typical", "planes"):
        for variant, (ready, seen) in observed(f"17_paths/{name}.yaml", note).items():
            idle = f"{100 * idle_downlinks(ready, seen):.0f} % of the links down are idle"
            figures[f"{name}-{variant}"] = Measured(port_imbalance(ready, seen), detail=idle)
            wrong += seen.correct_nodes != seen.nodes
    return {**figures, "wrong": wrong}
