# SPDX-License-Identifier: Apache-2.0
"""A whole SuperPod: load of its HRS, and what the runs cost."""

from papers.checking.large_runs import frames_received, large_run, spread
from papers.claims import Measured, Progress, Values


def superpod(note: Progress) -> Values:
    """Return the figures of both variants, and the frames of each HRS as shares of the mean."""
    done = large_run(note, "28_superpod_8192/scenario.yaml")
    hrs = [node.name for node in done.fabric.nodes if node.level == 2]
    figures: dict[str, Measured | float] = {**done.figures}
    for variant, seen in done.observations.items():
        frames = frames_received(done.fabric, seen)
        figures |= spread(f"{variant}.hrs", [frames[name] for name in hrs])
    return figures
