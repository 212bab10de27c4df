# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of this folder and compares every time with the iteration model; exit code 1 if off."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import railyard
from papers.training.interconnect import Group, interconnect, mesh
from papers.training.workload import Op

HERE = Path(__file__).parent
LANE_BPS = 100e9
RACK, TRADE = (8, 8), (4, 4, 4)
RATIOS = {"44": (4, 4), "62": (6, 2), "71": (7, 1)}
OUT = {12: (10, 10, 4), 24: (8, 8, 8), 48: (4, 4, 16)}
# Packets carry headers, and frames fill the links only after a while.
MOST = 1.1
# The model counts loads and no order; at 7:1 the stage along Y is late for the stages along X.
MOST_OF_ALL = 1.45
X, Y, Z = (("x", 8),), (("y", 8),), (("z", 4),)


def model_us(dims: Sequence[int], lanes: Sequence[int], op: Op, group: Group, size: float) -> float:
    """Return the time of a collective of `size` bytes by the model, in us."""
    return mesh(dims, lanes).share(op, group) * size * 8 / LANE_BPS * 1e6


def modelled() -> Iterator[tuple[str, str, float, float, float]]:
    """Yield scenario, variant, modelled time, and the least and the most that packets may take."""
    whole = 4 * 262144
    for name, lanes in RATIOS.items():
        for where, group in (("board", X), ("column", Y)):
            time = model_us(RACK, lanes, Op.allgather, group, whole)
            yield "scenario", f"{where}-{name}", time, time, MOST * time
        time = model_us(RACK, lanes, Op.allreduce, (*X, *Y), 2 * whole)
        yield "scenario", f"all-{name}", time, time, MOST_OF_ALL * time
    size = 4 * 393216
    for uplink, lanes in OUT.items():
        # The model's trade has as many lanes to the peers of a dimension as the links here together.
        assert interconnect(uplink=uplink, trade=True).lanes["x"] == 3 * lanes[0]
        inside = model_us(TRADE, lanes, Op.allgather, (("x", 4), ("y", 4)), size)
        for mix, share in (("short", 1 / 11), ("long", 1 / 2)):
            outside = model_us(TRADE, lanes, Op.allgather, Z, share * size)
            # The model counts one after the other; packets of both overlap.
            time = inside + outside
            yield "trade", f"{mix}-{uplink}", time, max(inside, outside), MOST * time


def main() -> int:
    """Print packets beside the model, and return the exit code."""
    results = {name: railyard.run(HERE / f"{name}.yaml") for name in ("scenario", "trade")}
    good = all(result.passed for result in results.values())
    for name, variant, model, least, most in modelled():
        packets = float(results[name].metric(variant, "completion_us"))
        fits = least <= packets <= most
        good = good and fits
        print(f"{variant:10} packets {packets:7.3f} us, model {model:7.3f} us{'' if fits else '  <- off'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
