# SPDX-License-Identifier: Apache-2.0
"""Paths of frames, a row of nodes each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from controller.path_probing import PathProbe
from controller.paths.source_route import pack
from controller.planner import make_plan
from controller.recovery.spare import takeover
from emulation.traffic.frames.layers import LPH, SRH, Ether
from harness.frames.craft import TABLES, Order, craft
from harness.frames.walk import walk
from scripts.pictures.svg import Box, arrow, picture, text
from topologies import HOST_PORT, End, full_mesh, hpn, ub_pod, ub_rack
from topologies.transform.spares import Replacement

__all__ = ["hops", "paths", "shell", "spare"]

WIDTH, HEIGHT, GAP = 104.0, 44.0, 84.0


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A path: lines of every node's box, and a label above and below each link.

    `title` stands above the row.
    """

    title: str
    nodes: Sequence[tuple[str, ...]]
    links: Sequence[tuple[str, str]]
    style: str = "box"

    def svg(self, y: float) -> Iterator[str]:
        """Yield the row, whose title is at height `y`."""
        yield text(10, y, self.title, "title left")
        for number, lines in enumerate(self.nodes):
            x = 10 + (WIDTH + GAP) * number
            yield from Box(x, y + 12, WIDTH, HEIGHT, lines, self.style).svg()
            if number < len(self.links):
                above, below = self.links[number]
                middle, end = x + WIDTH + GAP / 2, y + 12 + HEIGHT / 2
                yield arrow(f"M{x + WIDTH:g} {end:g}h{GAP:g}")
                yield text(middle, end - 7, above)
                yield text(middle, end + 16, below)


def rows_picture(title: str, rows: Sequence[Row]) -> str:
    """Return a picture of rows, one below the other."""
    step = HEIGHT + 44
    longest = max(len(row.nodes) for row in rows)
    parts = [part for number, row in enumerate(rows) for part in row.svg(20 + step * number)]
    return picture(20 + longest * (WIDTH + GAP) - GAP, step * len(rows), title, parts)


def hops() -> str:
    """Draw the frame of the guide to Wireshark, hop by hop, as the switches carried it."""
    mesh = full_mesh((4, 4))
    order = Order("npu5", "npu10", route=("npu4", "npu6", TABLES))
    journey = walk(make_plan(mesh), bytes(craft(mesh, order)), End("npu5", HOST_PORT))
    links = []
    for crossing in journey.crossings:
        packet = Ether(crossing.frame)
        if crossing.port not in (None, HOST_PORT):
            links.append((f"VL {packet[LPH].vl}", f"ptr {packet[SRH].ptr}"))
    nodes = [(hop.node, hop.decided_by.partition(":")[2].strip() or hop.decided_by) for hop in journey.hops]
    deciders = [hop.decided_by.partition(":")[0] for hop in journey.hops]
    boxes = [
        (name, f"{decider}: {decision}" if decider != decision else decider)
        for (name, decision), decider in zip(nodes, deciders, strict=True)
    ]
    title = "source route npu4, npu6, then tables; each box says what decides the hop"
    return rows_picture("A frame from npu5 to npu10, hop by hop", [Row(title, boxes, links)])


def shell() -> str:
    """Draw the path of bucket 0 from npu5 to npu9 before and after the entry of the guide is written."""
    rack = ub_rack()
    planned = make_plan(rack, peers=[("npu5", "npu9")]).routes["npu5", "npu9"][0]
    rows = []
    for title, path in (("as planned", planned), ("after te.modify()", ("npu5", "npu13", "npu9"))):
        ports = [rack.port_to(*pair) for pair in pairwise(path)]
        bitmap, instructions = pack(ports)
        labels = [(f"port {port}", "") for port in ports]
        entry = f"{title}: bitmap {bitmap:012b}, instr 0x{instructions:012x}"
        rows.append(Row(entry, [(name,) for name in path], labels))
    return rows_picture("The path of bucket 0 from npu5 to npu9, before and after", rows)


def spare() -> str:
    """Draw the path to an NPU, and the path to the spare NPU that has its address after it failed."""
    racks = ub_pod(dims=(2, 2, 2, 1), planes=1, uplink_lanes=8)
    before = make_plan(racks)
    after, _ = takeover(before, Replacement({"npu1": "spare0"}))
    rows = []
    for title, plan, target in (
        ("npu1 works", before, "npu1"),
        ("npu1 has failed, spare0 has its address", after, "spare0"),
    ):
        path = plan.routes["npu0", target][0]
        boxes = [(name, f"address {plan.fabric.node(name).address:#06x}") for name in path]
        rows.append(Row(title, boxes, [("", "")] * (len(path) - 1)))
    return rows_picture("The path from npu0 to an NPU, and to its spare", rows)


def paths() -> str:
    """Draw the paths from gpu0 to gpu7 of a small HPN, and how many values of lb lead over each."""
    fabric = hpn(segments=2, hosts=2, rails=2, aggs=3)
    probe = PathProbe(make_plan(fabric, strategy="hashed", peers=[("gpu0", "gpu7")]))
    counts = {path: len(values) for path, values in probe.lbs_by_path("gpu0", "gpu7").items()}
    columns = [sorted({path[place] for path in counts}) for place in range(5)]
    height, step = 50.0 * max(map(len, columns)), 150.0
    place = {
        name: (10 + step * at, 24 + height * (row + 0.5) / len(column) - 14)
        for at, column in enumerate(columns)
        for row, name in enumerate(column)
    }
    parts: list[str] = []
    for source, target in sorted({pair for path in counts for pair in pairwise(path)}):
        (x1, y1), (x2, y2) = place[source], place[target]
        parts.append(arrow(f"M{x1 + 84:g} {y1 + 14:g}L{x2:g} {y2 + 14:g}"))
    for name, (x, y) in place.items():
        parts += Box(x, y, 84, 28, (name,)).svg()
    for path, count in counts.items():
        x, y = place[path[2]]
        parts.append(text(x + 42, y - 5, f"{count} of 256 values of lb"))
    return picture(20 + step * 4 + 84, 34 + height, "Paths from gpu0 to gpu7, by the value of lb", parts)
