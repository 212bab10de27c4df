# SPDX-License-Identifier: Apache-2.0
"""A circle of buffers that wait for each other drawn as SVG: in its place in a full mesh, else as a ring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import cos, hypot, pi, prod, sin

from topologies import Fabric

__all__ = ["CYCLE_STYLE", "cycle_svg"]

SVG = "http://www.w3.org/2000/svg"
STEP = 62.0
MARGIN = 44.0
NODE = 11.0
RING_NODE = 24.0
HEAD = 8.0

# Of a larger mesh only the circle is drawn.
MOST_IN_MESH = 256

CYCLE_STYLE = """
.cycle circle { fill: var(--page, #fff); stroke: currentColor; stroke-opacity: .35; stroke-width: 1; }
.cycle circle.in { stroke: #e0600a; stroke-opacity: 1; stroke-width: 2.4; }
.cycle path.wait { fill: none; stroke: #e0600a; stroke-width: 2.6; }
.cycle path.head { fill: #e0600a; stroke: none; }
.cycle text { fill: currentColor; font: 9px system-ui, sans-serif; text-anchor: middle;
  dominant-baseline: central; }
.cycle text.vl { font-size: 11px; font-weight: 600; }
"""

Point = tuple[float, float]


def cycle_svg(fabric: Fabric, cycle: Sequence[tuple[str, str, int]]) -> str:
    """The circle as an <svg> element in need of CYCLE_STYLE; `cycle` holds (link, "from->to", VL) in waiting
    order.
    """
    ends = [(near, far) for near, far in (way.split("->") for _, way, _ in cycle)]
    inside = [near for near, _ in ends]
    if len(fabric.nodes) == prod(fabric.dims) <= MOST_IN_MESH:
        place, radius = _mesh_places(fabric), NODE
    else:
        place, radius = _ring_places(inside), RING_NODE
    width = MARGIN + max((x for x, _ in place.values()), default=0)
    height = MARGIN + max((y for _, y in place.values()), default=0)
    parts = [
        f'<svg class="cycle" xmlns="{SVG}" viewBox="0 0 {width:g} {height:g}" role="img">',
        f"<title>{escape(fabric.name)}, {len(cycle)} buffers that wait for each other</title>",
    ]
    members = dict.fromkeys(inside)
    for node in place:
        x, y = place[node]
        mark = ' class="in"' if node in members else ""
        label = str(fabric.node(node).index) if radius == NODE else node
        parts.append(
            f'<circle{mark} cx="{x:.6g}" cy="{y:.6g}" r="{radius:g}"><title>{escape(node)}</title></circle>'
        )
        parts.append(f'<text x="{x:.6g}" y="{y:.6g}">{escape(label)}</text>')
    for number, ((near, far), (_, way, vl)) in enumerate(zip(ends, cycle, strict=True)):
        after = cycle[(number + 1) % len(cycle)][1]
        title = f"{way} on VL {vl}: full, and waits for {after}"
        parts += _arrow(place[near], place[far], radius, title, vl)
    return "\n".join([*parts, "</svg>"])


def _mesh_places(fabric: Fabric) -> Mapping[str, Point]:
    columns = fabric.dims[0]
    return {
        node.name: (MARGIN + STEP * (node.index % columns), MARGIN + STEP * (node.index // columns))
        for node in fabric.nodes
    }


def _ring_places(nodes: Sequence[str]) -> Mapping[str, Point]:
    names = list(dict.fromkeys(nodes))
    radius = max(STEP, 2.3 * RING_NODE * 2 * len(names) / (2 * pi))
    middle = MARGIN + radius
    turns = [2 * pi * number / len(names) - pi / 2 for number in range(len(names))]
    return {
        name: (middle + radius * cos(turn), middle + radius * sin(turn))
        for name, turn in zip(names, turns, strict=True)
    }


def _arrow(start: Point, end: Point, radius: float, title: str, vl: int) -> list[str]:
    """A bent arrow, to the right of the straight way: those of the two directions of a link part."""
    (x1, y1), (x2, y2) = start, end
    length = hypot(x2 - x1, y2 - y1)
    right = (y1 - y2) / length, (x2 - x1) / length
    bend = 0.12 * length + 10
    cx, cy = (x1 + x2) / 2 + right[0] * bend, (y1 + y2) / 2 + right[1] * bend
    ax, ay = _towards((x1, y1), (cx, cy), radius)
    tip = _towards((x2, y2), (cx, cy), radius)
    base = _towards((x2, y2), (cx, cy), radius + HEAD)
    dx, dy = (tip[0] - base[0]) * 0.5, (tip[1] - base[1]) * 0.5
    # The middle of the curve, and a little beyond it for the label.
    mx, my = (ax + 2 * cx + base[0]) / 4 + 12 * right[0], (ay + 2 * cy + base[1]) / 4 + 12 * right[1]
    curve = f"M{ax:.6g} {ay:.6g}Q{cx:.6g} {cy:.6g} {base[0]:.6g} {base[1]:.6g}"
    sides = f"L{base[0] - dy:.6g} {base[1] + dx:.6g}L{base[0] + dy:.6g} {base[1] - dx:.6g}Z"
    return [
        f'<path class="wait" d="{curve}"><title>{escape(title)}</title></path>',
        f'<path class="head" d="M{tip[0]:.6g} {tip[1]:.6g}{sides}"/>',
        f'<text class="vl" x="{mx:.6g}" y="{my:.6g}">VL {vl}</text>',
    ]


def _towards(start: Point, end: Point, distance: float) -> Point:
    length = hypot(end[0] - start[0], end[1] - start[1])
    share = distance / length
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
