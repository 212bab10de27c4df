# SPDX-License-Identifier: Apache-2.0
"""Failures in rail-only on the emulator: GPUs that are cut off, and takeover by spares."""

from __future__ import annotations

from papers.claims import Measured, Progress, Values
from papers.claims.runs import observed

_SPARES = "13_rail_faults/scenario.yaml"
_BARE = "13_rail_faults/bare.yaml"

# Rank of the rail switch that fails in the scenarios of experiment 13.
_RANK = 1

# Variants in which spares take over.
_HEALED = ("rail", "gpu", "domain")


def faults(note: Progress, bare: str = "rail", file: str = _SPARES) -> Values:
    """Measure the percentage of correct arrays after failures of a rail switch, a GPU and a domain.

    Args:
        bare: variant without spares that counts the GPUs cut off.
        file: scenario with spares.
    """
    ready, seen = observed(_BARE, note, (bare,))[bare]
    below = {name for name in ready.members if ready.fabric.node(name).coordinates[0] == _RANK}
    cut_off = seen.cut_off.partition(" are cut off")[0]
    lost = set(cut_off.split(", ")) if cut_off else set()
    share = 100 * len(lost & below) / len(lost) if below <= lost else 0.0
    result: dict[str, Measured | float] = {"below": Measured(share, detail=cut_off)}
    runs = observed(file, note, _HEALED)
    for name in _HEALED:
        # A fabric without spare domains has no variant in which a whole domain fails.
        _, run = runs.get(name, (None, None))
        took = f"after {run.takeovers[0]}" if run is not None and run.takeovers else "no takeover"
        right = 100 * run.correct_nodes / run.nodes if run is not None and run.takeovers else 0.0
        result[name] = Measured(right, detail=took)
    return result
