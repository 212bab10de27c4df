# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's training performance by lanes out of the rack (§6.3, Fig. 20), by the closed-form model.

The paper does not give the speed of an NPU, the rate of a lane, or the overlap of computation and
collectives. The model has two readings, each with its own verdict: collectives inside a rack borrow idle
uplinks, or they do not. Both readings have the same interval, which was chosen after first runs of the model.
"""

from __future__ import annotations

from harness.files import EXPERIMENTS
from papers.claims import Progress, Values
from papers.training.study import READINGS, load, run

__all__ = ["training_bandwidth"]


def training_bandwidth(note: Progress, lane_gbps: float = 100.0, traded: str = "-traded") -> Values:
    """Return the gains of more lanes out of the rack under both readings, and the best numbers of lanes.

    Args:
        note: progress callback.
        lane_gbps: rate of a lane.
        traded: ending of the names of variants that take uplink lanes from the lanes to peers.
    """
    note("searching layouts", 0.0)
    study = load(EXPERIMENTS / "06_bandwidth/model.yaml")
    given = study.assumptions.model_copy(update={"lane_gbps": lane_gbps})
    outcome = run(study.model_copy(update={"assumptions": given}))
    lanes = {4: f"x4{traded}", 8: f"x8{traded}", 16: "x16", 32: f"x32{traded}"}
    figures: dict[str, float] = {}
    for name, span, new, old in (("short", "8K-32K", "x16", "x8"), ("long", "64K-10M", "x32", "x16")):
        lengths = study.span(span)
        for reading in READINGS:
            figures[f"{name}-{reading}"] = outcome.percent(reading, new, None, lengths, old) - 100
        percents = {
            count: outcome.percent("apart", variant, None, lengths) for count, variant in lanes.items()
        }
        figures[f"best-{name}"] = max(percents, key=percents.__getitem__)
    return figures
