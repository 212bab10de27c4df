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
MOST = 1.25
X, Y, Z = (("x", 8),), (("y", 8),), (("z", 4),)


def model_us(dims: Sequence[int], lanes: Sequence[int], op: Op, group: Group, size: float) -> float:
    """Return the time of a collective of `size` bytes by the model, in us."""
    return mesh(dims, lanes).share(op, group) * size * 8 / LANE_BPS * 1e6


def modelled() -> Iterator[tuple[str, str, float]]:
    """Yield scenario, variant and modelled time."""
    whole = 4 * 262144
    for name, lanes in RATIOS.items():
        yield "scenario", f"board-{name}", model_us(RACK, lanes, Op.allgather, X, whole)
        yield "scenario", f"column-{name}", model_us(RACK, lanes, Op.allgather, Y, whole)
        yield "scenario", f"all-{name}", model_us(RACK, lanes, Op.allreduce, (*X, *Y), 2 * whole)
    for uplink, lanes in OUT.items():
        # The model's trade has as many lanes to the peers of a dimension as the links here together.
        assert interconnect(uplink=uplink, trade=True).lanes["x"] == 3 * lanes[0]
        inside = mesh(TRADE, lanes).share(Op.allgather, (("x", 4), ("y", 4)))
        outside = mesh(TRADE, lanes).share(Op.allgather, Z)
        for mix, share in (("short", 1 / 12), ("long", 1 / 3)):
            size = 4 * 393216
            time = ((1 - share) * inside + share * outside) * size * 8 / LANE_BPS * 1e6
            yield "trade", f"{mix}-{uplink}", time


def main() -> int:
    """Print packets beside the model, and return the exit code."""
    results = {name: railyard.run(HERE / f"{name}.yaml") for name in ("scenario", "trade")}
    good = all(result.passed for result in results.values())
    for name, variant, model in modelled():
        packets = float(results[name].metric(variant, "completion_us"))
        fits = model <= packets <= MOST * model  # the model counts data alone
        good = good and fits
        print(f"{variant:10} packets {packets:7.3f} us, model {model:7.3f} us{'' if fits else '  <- off'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
