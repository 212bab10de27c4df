# SPDX-License-Identifier: Apache-2.0
"""Times by the iteration model for the fabrics of this folder, beside those of packets."""

from collections.abc import Mapping, Sequence
from typing import Any

from papers.training.interconnect import Group, interconnect, mesh
from papers.training.workload import Op

LANE_BPS = 100e9
RACK, TRADE = (8, 8), (4, 4, 4)
RATIOS = {"44": (4, 4), "62": (6, 2), "71": (7, 1)}
OUT = {12: (10, 10, 4), 24: (8, 8, 8), 48: (4, 4, 16)}
X, Y, Z = (("x", 8),), (("y", 8),), (("z", 4),)


def model_us(dims: Sequence[int], lanes: Sequence[int], op: Op, group: Group, size: float) -> float:
    """Return the time of a collective of `size` bytes by the model, in us."""
    return mesh(dims, lanes).share(op, group) * size * 8 / LANE_BPS * 1e6


def modelled(result: Mapping[str, Any]) -> Mapping[str, float]:
    """Return times of packets over those of the model, least and most of each kind of collective."""
    took = {name: result["metrics"][f"{name}.completion_us"] for name in result["faults"]}
    ratios: dict[str, list[float]] = {}
    whole = 4 * 262144
    for name, lanes in RATIOS.items():
        for where, group in (("board", X), ("column", Y)):
            time = model_us(RACK, lanes, Op.allgather, group, whole)
            ratios.setdefault("line", []).append(took[f"{where}-{name}"] / time)
        time = model_us(RACK, lanes, Op.allreduce, (*X, *Y), 2 * whole)
        ratios.setdefault("all", []).append(took[f"all-{name}"] / time)
    figures = {f"{kind}.{word}": of(some) for kind, some in ratios.items() for word, of in ENDS.items()}
    least, most = [], []
    size = 4 * 393216
    for uplink, lanes in OUT.items():
        # The model's trade has as many lanes to the peers of a dimension as the links of this mesh together.
        assert interconnect(uplink=uplink, trade=True).lanes["x"] == 3 * lanes[0]
        inside = model_us(TRADE, lanes, Op.allgather, (("x", 4), ("y", 4)), size)
        for mix, share in (("short", 1 / 11), ("long", 1 / 2)):
            outside = model_us(TRADE, lanes, Op.allgather, Z, share * size)
            least.append(took[f"{mix}-{uplink}"] / max(inside, outside))
            most.append(took[f"{mix}-{uplink}"] / (inside + outside))
    return {**figures, "trade.least": min(least), "trade.most": max(most)}


ENDS = {"least": min, "most": max}
