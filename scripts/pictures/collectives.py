# SPDX-License-Identifier: Apache-2.0
"""Collectives over time and over links, and groups of a training job in space."""

from __future__ import annotations

from fractions import Fraction

from emulation.traffic.collectives import arcs_of, bidirectional_dimension_order, borrowing_rings
from emulation.traffic.frames.values import Combine
from papers.training.interconnect import DIMENSIONS
from papers.training.placement import place
from papers.training.workload import Layout
from scripts.pictures.svg import Box, arrow, picture, stroke, text

__all__ = ["idle_links", "placement", "steps"]


def steps() -> str:
    """Draw the four steps of an AllReduce over 4 x 4 NPUs; the transfers of rank 5 are in colour."""
    side, rank, elements = 4, 5, 32
    schedule = bidirectional_dimension_order((side, side), elements)
    cell, panel, top = 40.0, 172.0, 46.0
    parts: list[str] = []
    for step in range(schedule.steps):
        left = 10 + panel * step
        transfers = [transfer for transfer in schedule.transfers if transfer.step == step]
        reduces = {transfer.op for transfer in transfers} == {Combine.REDUCE}
        share = Fraction(transfers[0].length, elements)
        parts.append(
            text(left + 70, 16, f"step {step}: {'reduce-scatter' if reduces else 'all-gather'}", "title")
        )
        parts.append(text(left + 70, 32, f"{share} of the array to each peer"))
        for transfer in sorted(transfers, key=lambda each: each.source == rank):
            half = "blue" if transfer.offset < elements // 2 else "orange"
            (x1, y1), (x2, y2) = (
                (left + 10 + cell * (index % side), top + 10 + cell * (index // side))
                for index in (transfer.source, transfer.target)
            )
            bulge = 0 if abs(x2 - x1) + abs(y2 - y1) <= cell else 9
            middle = ((x1 + x2) / 2 + (bulge if x1 == x2 else 0), (y1 + y2) / 2 - (bulge if y1 == y2 else 0))
            path = f"M{x1:g} {y1:g}Q{middle[0]:g} {middle[1]:g} {x2:g} {y2:g}"
            parts.append(stroke(path, half) if transfer.source == rank else stroke(path, "faint"))
        for index in range(side * side):
            x, y = left + 10 + cell * (index % side), top + 10 + cell * (index // side)
            parts += Box(x - 8, y - 8, 16, 16, (), "box" if index == rank else "quiet").svg()
            parts.append(text(x, y + 4, str(index)))
    bottom = top + cell * (side - 1) + 44
    parts += [
        *Box(10, bottom - 9, 12, 10, (), "blue").svg(),
        text(28, bottom, "first half of the array: X first", "small left"),
        *Box(230, bottom - 9, 12, 10, (), "orange").svg(),
        text(248, bottom, "second half: Y first; in every step both X and Y links carry data", "small left"),
    ]
    title = "Steps of an AllReduce over 4 x 4 NPUs, transfers of NPU 5 in colour"
    return picture(10 + panel * schedule.steps, bottom + 12, title, parts)


def idle_links() -> str:
    """Draw the cycle through a rack's links that the rings of its boards and columns leave idle."""
    side, cell, left, top = 8, 62.0, 24.0, 54.0
    mesh = borrowing_rings((side, side))
    cycle = mesh.around[0]
    parts = [text(left - 14, 16, "Links that no ring of a board or column uses", "title left")]
    for a, b in arcs_of(cycle):
        (x1, y1), (x2, y2) = ((left + cell * (rank % side), top + cell * (rank // side)) for rank in (a, b))
        length = (abs(x2 - x1) + abs(y2 - y1)) / cell
        bulge = 9 * length if length > 1 else 0.0
        middle = ((x1 + x2) / 2 + (bulge if x1 == x2 else 0), (y1 + y2) / 2 - (bulge if y1 == y2 else 0))
        style = "blue" if y1 == y2 else "orange"
        parts.append(stroke(f"M{x1:g} {y1:g}Q{middle[0]:g} {middle[1]:g} {x2:g} {y2:g}", style))
    for number, rank in enumerate(cycle):
        x, y = left + cell * (rank % side), top + cell * (rank // side)
        parts += Box(x - 11, y - 9, 22, 18, (), "box" if number == 0 else "quiet").svg()
        parts.append(text(x, y + 4, str(number)))
    bottom = top + cell * (side - 1) + 34
    note = "along X, a link of each NPU; orange: along Y. Numbers: places on the cycle of 64"
    parts += [
        *Box(left - 14, bottom - 9, 12, 10, (), "blue").svg(),
        text(left + 4, bottom, note, "small left"),
    ]
    title = "Idle links of a rack of 8 x 8 NPUs form one cycle through all NPUs"
    return picture(left + cell * (side - 1) + 30, bottom + 12, title, parts)


def placement() -> str:
    """Draw the groups of TP8 SP8 PP8 DP16 on 8,192 NPUs, from a board outwards."""
    layout = Layout(tp=8, sp=8, pp=8, dp=16)
    where = place(layout)
    names = {
        "x": "slots of a board", "y": "boards of a rack", "z": "racks of a row", "w": "rows of a Pod",
        "pod": "Pods of a SuperPod",
    }  # fmt: skip
    parts = [text(10, 16, where.where, "title left")]
    y = 30.0
    for name, extent in DIMENSIONS:
        if name not in names:
            continue
        parts.append(text(10, y + 20, f"{extent} {names[name]}", "small left"))
        x, width = 150.0, 400.0
        used = 1
        for axis in where.order:
            size = dict(where.groups[axis]).get(name, 1)
            if size == 1:
                continue
            repeats = extent // (used * size)
            span = width / repeats
            if repeats > 1:
                for number in range(repeats):
                    parts += Box(x + span * number, y, span - 6, 30, (f"{axis} over {size}",)).svg()
            elif used > 1:
                parts.append(arrow(f"M{x + 40:g} {y + 36:g}H{x + width - 46:g}"))
                parts.append(
                    text(x + width / 2, y + 50, f"{axis} over {size}: between the groups above", "title")
                )
                y += 22
            else:
                parts += Box(x, y, width - 6, 30, (f"{axis} over {size}",)).svg()
            used *= size
        y += 42
    return picture(560, y + 4, "Groups of a training job, from a board outwards", parts)
