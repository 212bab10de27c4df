# SPDX-License-Identifier: Apache-2.0
"""Draw the cycle of full buffers of a deadlock as SVG: inside a small full mesh, or as a ring of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from math import cos, hypot, pi, prod, sin
from typing import final

from topologies import Fabric

__all__ = ["CYCLE_STYLE", "cycle_svg"]

SVG = "http://www.w3.org/2000/svg"
STEP = 62.0
MARGIN = 8.0
NODE = 11.0
RING_NODE = 24.0
HEAD = 8.0

# Width and height reserved for a label such as "VL 0"; browsers need a little less.
LABEL_WIDTH, LABEL_HEIGHT = 30.0, 14.0

# Largest mesh that is drawn in full; of a larger mesh only the nodes of the cycle are drawn.
MAX_MESH_NODES = 256

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
Box = tuple[float, float, float, float]
"""Coordinates of a rectangle: left, top, right, bottom."""


def cycle_svg(fabric: Fabric, cycle: Sequence[tuple[str, str, int]]) -> str:
    """Return the cycle of a deadlock as an <svg> element; the page needs CYCLE_STYLE.

    `cycle` has (link, "from->to", VL) for each full buffer; each buffer waits for room in the next buffer.
    """
    hops = [(source, target) for source, target in (hop.split("->") for _, hop, _ in cycle)]
    members = dict.fromkeys(source for source, _ in hops)
    if len(fabric.nodes) == prod(fabric.dims) <= MAX_MESH_NODES:
        positions, radius = _mesh_places(fabric), NODE
    else:
        positions, radius = _ring_places(list(members)), RING_NODE
    arrows = [_Arrow.between(positions[source], positions[target], radius) for source, target in hops]
    circles = [(x - radius, y - radius, x + radius, y + radius) for x, y in positions.values()]
    labels = _label_places(arrows, circles)
    parts = [
        f'<svg class="cycle" xmlns="{SVG}" viewBox="{_view_box(arrows, circles, labels)}" role="img">',
        f"<title>{escape(fabric.name)}, {len(cycle)} buffers that wait for each other</title>",
    ]
    for node, (x, y) in positions.items():
        mark = ' class="in"' if node in members else ""
        label = str(fabric.node(node).index) if radius == NODE else node
        parts.append(
            f'<circle{mark} cx="{x:.6g}" cy="{y:.6g}" r="{radius:g}"><title>{escape(node)}</title></circle>'
        )
        parts.append(f'<text x="{x:.6g}" y="{y:.6g}">{escape(label)}</text>')
    for number, (arrow, (_, hop, vl)) in enumerate(zip(arrows, cycle, strict=True)):
        following = cycle[(number + 1) % len(cycle)][1]
        parts += arrow.paths(f"{hop} on VL {vl}: full, and waits for {following}")
    for (x, y), (_, _, vl) in zip(labels, cycle, strict=True):
        parts.append(f'<text class="vl" x="{x:.6g}" y="{y:.6g}">VL {vl}</text>')
    return "\n".join([*parts, "</svg>"])


@final
@dataclass(frozen=True, slots=True)
class _Arrow:
    """A curved arrow: a quadratic Bezier curve from `start` to `base`, and a head from `base` to `tip`."""

    start: Point
    control: Point
    base: Point
    tip: Point

    @classmethod
    def between(cls, source: Point, target: Point, radius: float) -> _Arrow:
        """Return an arrow between two circles, bent to its right to keep opposite arrows apart."""
        (x1, y1), (x2, y2) = source, target
        length = hypot(x2 - x1, y2 - y1)
        bend = 0.12 * length + 10
        control = (x1 + x2) / 2 + (y1 - y2) / length * bend, (y1 + y2) / 2 + (x2 - x1) / length * bend
        return cls(
            _towards(source, control, radius),
            control,
            _towards(target, control, radius + HEAD),
            _towards(target, control, radius),
        )

    def at(self, share: float) -> Point:
        """Return the point of the curve at parameter `share`, from 0 at the start to 1 at the base."""
        a, b, c = (1 - share) ** 2, 2 * share * (1 - share), share**2
        return (
            a * self.start[0] + b * self.control[0] + c * self.base[0],
            a * self.start[1] + b * self.control[1] + c * self.base[1],
        )

    def points(self) -> Iterator[Point]:
        """Yield points along the curve at distances smaller than the height of a label."""
        yield from (self.at(step / 40) for step in range(41))
        yield self.tip

    def label_places(self) -> Iterator[Point]:
        """Yield possible centres of a label beside the curve, the best first."""
        for distance, share, side in product((13, 19, 26), (0.5, 0.36, 0.64, 0.22, 0.78), (1, -1)):
            (x1, y1), (x2, y2) = self.at(share - 0.05), self.at(share + 0.05)
            x, y = self.at(share)
            length = hypot(x2 - x1, y2 - y1)
            # A label is wider than high, so it needs a larger distance beside an upright curve.
            across, down = side * (y1 - y2) / length, side * (x2 - x1) / length
            yield x + across * (distance + 7 * abs(across)), y + down * distance

    def paths(self, title: str) -> list[str]:
        """Return SVG elements of the curve, with a tooltip, and of its head."""
        (ax, ay), (cx, cy), (bx, by), (tx, ty) = self.start, self.control, self.base, self.tip
        dx, dy = (tx - bx) * 0.5, (ty - by) * 0.5
        curve = f"M{ax:.6g} {ay:.6g}Q{cx:.6g} {cy:.6g} {bx:.6g} {by:.6g}"
        sides = f"L{bx - dy:.6g} {by + dx:.6g}L{bx + dy:.6g} {by - dx:.6g}Z"
        return [
            f'<path class="wait" d="{curve}"><title>{escape(title)}</title></path>',
            f'<path class="head" d="M{tx:.6g} {ty:.6g}{sides}"/>',
        ]


def _label_places(arrows: Sequence[_Arrow], circles: Sequence[Box]) -> list[Point]:
    """Return the centre of each arrow's label, with few overlaps with circles, labels and arrows."""
    points = [point for arrow in arrows for point in arrow.points()]
    taken = list(circles)
    chosen: list[Point] = []
    for arrow in arrows:
        candidates = list(arrow.label_places())
        costs = []
        for rank, (x, y) in enumerate(candidates):
            box = _label_box((x, y))
            overlaps = sum(_overlap(box, other) for other in taken)
            crossed = sum(box[0] < px < box[2] and box[1] < py < box[3] for px, py in points)
            costs.append((overlaps, crossed, rank))
        position = candidates[min(costs)[2]]
        taken.append(_label_box(position))
        chosen.append(position)
    return chosen


def _label_box(centre: Point) -> Box:
    x, y = centre
    return x - LABEL_WIDTH / 2, y - LABEL_HEIGHT / 2, x + LABEL_WIDTH / 2, y + LABEL_HEIGHT / 2


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _view_box(arrows: Sequence[_Arrow], circles: Sequence[Box], labels: Sequence[Point]) -> str:
    boxes = [*circles, *map(_label_box, labels)]
    points = [point for arrow in arrows for point in arrow.points()]
    left = min([box[0] for box in boxes] + [x for x, _ in points]) - MARGIN
    top = min([box[1] for box in boxes] + [y for _, y in points]) - MARGIN
    right = max([box[2] for box in boxes] + [x for x, _ in points]) + MARGIN
    bottom = max([box[3] for box in boxes] + [y for _, y in points]) + MARGIN
    return f"{left:.6g} {top:.6g} {right - left:.6g} {bottom - top:.6g}"


def _mesh_places(fabric: Fabric) -> Mapping[str, Point]:
    columns = fabric.dims[0]
    return {
        node.name: (STEP * (node.index % columns), STEP * (node.index // columns)) for node in fabric.nodes
    }


def _ring_places(names: Sequence[str]) -> Mapping[str, Point]:
    radius = max(STEP, 2.3 * RING_NODE * 2 * len(names) / (2 * pi))
    angles = [2 * pi * number / len(names) - pi / 2 for number in range(len(names))]
    return {
        name: (radius * cos(angle), radius * sin(angle)) for name, angle in zip(names, angles, strict=True)
    }


def _towards(start: Point, end: Point, distance: float) -> Point:
    share = distance / hypot(end[0] - start[0], end[1] - start[1])
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
