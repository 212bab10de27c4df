# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder, and draws times beside the busiest channel of each schedule.

Exit code 1 when an assertion fails or a time is below the load of its busiest channel.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from emulation.traffic.collectives import (
    bidirectional_dimension_order,
    borrowing_rings,
    mesh_multi_ring,
    mesh_rings,
)
from emulation.traffic.schedule.schedule import Schedule, check, demand
from harness.report.figures.plot import INK, bare_rows, colour, new_figure, svg_of
from harness.run.collectives.grids import members_of
from harness.run.collectives.schedule import schedule_of
from harness.scenario.schema import Collective
from papers.checking.statements import say
from railyard.command import result_of
from topologies import ub_rack

HERE = Path(__file__).parent
OUT = Path("results", "rack-rings")
DIMS = (8, 8)
ELEMENTS = 2097152
LANE_BPS, LANES = 100e9, 4
# Elements of the schedules that are proved: enough for every ring to carry some.
PROVED = 1 << 14

TITLES = {
    "halves": "direct sends, two halves",
    "rings": "7 rings of each line",
    "both-ways": "6 rings of each line",
    "both-ways-apr": "6 rings, all paths",
    "multi-ring": "6 rings, 2 of idle links",
}


ALGORITHMS = {
    "halves": "bidirectional-dimension-order",
    "rings": "rings",
    "both-ways": "bidirectional-rings",
    "multi-ring": "multi-ring",
}


def busiest_channels() -> dict[str, float]:
    """Return the part of the array on the busiest channel of each schedule that the scenario runs."""
    rack = ub_rack()
    members = members_of(rack, None)
    busiest = {}
    for name, algorithm in ALGORITHMS.items():
        collective = Collective(algorithm=algorithm, elements=ELEMENTS, payload_bytes=4096)
        schedule = schedule_of(rack, members, collective, detours=False)
        busiest[name] = max(demand(schedule, members, 1).values()) / ELEMENTS
    return busiest


def small_schedules() -> list[Schedule]:
    """Return schedules of the same rings for small arrays, with all rings in use."""
    meshes = (mesh_rings(DIMS), mesh_rings(DIMS, "undirected"), borrowing_rings(DIMS))
    direct = bidirectional_dimension_order(DIMS, PROVED)
    return [direct, *(mesh_multi_ring(mesh, PROVED) for mesh in meshes)]


def picture(times: Mapping[str, float], busiest: Mapping[str, float]) -> str:
    """Draw the time of each variant in D/B, and the load of its busiest channel as a line."""
    figure, axes = new_figure(height=2.4)
    for row, (name, value) in enumerate(times.items()):
        axes.barh(row, value, color=colour(0 if name in ("halves", "rings") else 1))
        axes.annotate(
            f"{value:.4f}", (value, row), xytext=(4, 0), textcoords="offset points", va="center", color=INK
        )
        if name in busiest:
            axes.plot([busiest[name]] * 2, [row - 0.4, row + 0.4], color=INK)
    axes.set_yticks(range(len(times)), [TITLES[name] for name in times])
    axes.set_xlim(0, 1.2 * max(times.values()))
    axes.set_xlabel("time in D/B, array over the rate of a link; line: the busiest channel")
    axes.invert_yaxis()
    bare_rows(axes)
    figure.tight_layout()
    return svg_of(figure, "rack-rings")


def main() -> int:
    code, result = result_of(HERE / "scenario.yaml", folder=OUT)
    unit_us = 4 * ELEMENTS * 8 / (LANES * LANE_BPS) * 1e6
    times = {name: result["metrics"][f"{name}.completion_us"] / unit_us for name in TITLES}
    busiest = busiest_channels()
    for schedule in small_schedules():
        check(schedule)
    for name, value in times.items():
        load = f", busiest channel {busiest[name]:.4f} D" if name in busiest else ""
        print(f"{TITLES[name]}: {value:.4f} D/B{load}")
    (OUT / "rings.svg").write_text(picture(times, busiest) + "\n")
    print(f"written: {OUT / 'rings.svg'}")
    return say(
        {
            "all assertions hold": code == 0,
            "no run is faster than its busiest channel": all(times[name] > busiest[name] for name in busiest),
            "rings with borrowed links have nearly the load of direct sends": (
                busiest["multi-ring"] < 1.02 * busiest["halves"]
            ),
        }
    )


if __name__ == "__main__":
    sys.exit(main())
