# SPDX-License-Identifier: Apache-2.0
"""Loads of the schedules of this folder, each schedule proved, and a picture of times beside loads."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from emulation.traffic.collectives import (
    bidirectional_dimension_order,
    borrowing_rings,
    mesh_multi_ring,
    mesh_rings,
)
from emulation.traffic.schedule.schedule import check, demand
from harness.report.figures.plot import INK, bare_rows, colour, new_figure, svg_of, write_beside
from harness.run.collectives.grids import members_of
from harness.run.collectives.schedule import schedule_of
from harness.scenario.schema import Collective
from topologies import ub_rack

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


def loads(result: Mapping[str, Any]) -> Mapping[str, float]:
    """Return the load of the busiest channel of each schedule, and how many schedules are proved."""
    meshes = (mesh_rings(DIMS), mesh_rings(DIMS, "undirected"), borrowing_rings(DIMS))
    direct = bidirectional_dimension_order(DIMS, PROVED)
    small = [direct, *(mesh_multi_ring(mesh, PROVED) for mesh in meshes)]
    for schedule in small:
        check(schedule)
    return {**{f"busiest.{name}": load for name, load in busiest_channels().items()}, "proved": len(small)}


@cache
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


def picture(result: Mapping[str, Any]) -> str:
    """Draw the time of each variant in D/B, and the load of its busiest channel as a line."""
    unit_us = 4 * ELEMENTS * 8 / (LANES * LANE_BPS) * 1e6
    times = {name: result["metrics"][f"{name}.completion_us"] / unit_us for name in TITLES}
    busiest = busiest_channels()
    figure, axes = new_figure(height=2.4)
    for row, (name, value) in enumerate(times.items()):
        axes.barh(row, value, color=colour(0 if name in ("halves", "rings") else 1))
        write_beside(axes, f"{value:.4f}", (value, row))
        if name in busiest:
            axes.plot([busiest[name]] * 2, [row - 0.4, row + 0.4], color=INK)
    axes.set_yticks(range(len(times)), [TITLES[name] for name in times])
    axes.set_xlim(0, 1.2 * max(times.values()))
    axes.set_xlabel("time in D/B, array over the rate of a link; line: the busiest channel")
    axes.invert_yaxis()
    bare_rows(axes)
    figure.tight_layout()
    return svg_of(figure, "rack-rings")
