# SPDX-License-Identifier: Apache-2.0
"""A fabric drawn as SVG: nodes in a grid, links as arcs that are wider and stronger the busier they were.

With planes of switches, each rack is drawn by itself: its members in a grid, its planes below, on top what
joins racks. With other switches, the endpoints are one grid; a switch of tier 1 stands beside its row, higher
ones above.

One hue in several strengths reads the same on a light and on a dark page and without colour vision.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from html import escape

from topologies import Fabric, Link, Node
from topologies.model.places import planes, racks

__all__ = ["RACK_STYLE", "rack_svg", "too_large"]

STEP = 62.0
MARGIN = 44.0
NODE = 11.0

# More would be a picture of some megabytes that shows nothing.
MAX_LINKS = 6000

# So wide that the key has room below.
MIN_COLUMNS = 8
# As many switches side by side as a plane has.
MAX_IN_ROW = 18
# Where there are more above a grid than it has columns, the least room for one.
MIN_STEP = 2.6 * NODE

RACK_STYLE = """
.rack path { fill: none; stroke: #3f8fe0; stroke-linecap: round; }
.rack path.cut { stroke: #e0600a; stroke-width: 2.6; stroke-dasharray: 5 4; stroke-opacity: 1; }
.rack .cross { stroke: #e0600a; stroke-width: 3; stroke-linecap: round; }
.rack circle { fill: var(--page, #fff); stroke: currentColor; stroke-width: 1; }
.rack text { fill: currentColor; font: 9px system-ui, sans-serif; text-anchor: middle;
  dominant-baseline: central; }
.rack text.key { font-size: 11px; text-anchor: start; }
"""


def rack_svg(
    fabric: Fabric,
    shares: Mapping[str, tuple[float, float]] | None = None,
    cut: Collection[str] = (),
    *,
    full: float = 1.0,
) -> str:
    """The fabric as an <svg> element in need of RACK_STYLE.

    `shares` is the busy share of each link, there and back; a share of `full` is drawn at full strength.
    """
    if words := too_large(fabric):
        return _words(fabric, words)
    place = _places(fabric)
    width = max(x for x, _ in place.values()) + MARGIN
    height = max(y for _, y in place.values()) + MARGIN + 24
    known = shares or {}
    quiet_first = sorted(fabric.links, key=lambda link: (link.name in cut, max(known.get(link.name, (0, 0)))))
    parts = [
        f'<svg class="rack" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">'
    ]
    parts.append(f"<title>{escape(fabric.name)}, busy share of its links</title>")
    parts += [_arc(link, place, known.get(link.name), link.name in cut, full) for link in quiet_first]
    for node in fabric.nodes:
        x, y = place[node.name]
        parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{NODE:g}"><title>{escape(node.name)}</title></circle>'
        )
        parts.append(f'<text x="{x:g}" y="{y:g}">{_short(node)}</text>')
    if shares is not None:
        parts += _key(MARGIN - NODE, height - 16, full)
    return "\n".join([*parts, "</svg>"])


def too_large(fabric: Fabric) -> str:
    """Why there is no picture of a fabric; empty when there is one."""
    if len(fabric.links) <= MAX_LINKS:
        return ""
    size = f"{len(fabric.nodes)} nodes and {len(fabric.links)} links"
    return f"{size} are too many to draw: {MAX_LINKS} links at most"


def _words(fabric: Fabric, words: str) -> str:
    spaces = 'class="rack" xmlns="http://www.w3.org/2000/svg" role="img"'
    title = escape(fabric.name)
    parts = [f'<svg {spaces} viewBox="0 0 560 60">', f"<title>{title}, not drawn</title>"]
    for y, line in ((20, title), (40, words)):
        parts.append(f'<text class="key" x="12" y="{y}">{line}</text>')
    return "\n".join([*parts, "</svg>"])


def _places(fabric: Fabric) -> dict[str, tuple[float, float]]:
    if not any(node.tier for node in fabric.nodes):
        return _grid(fabric)
    found = planes(fabric)
    return _with_planes(fabric, found) if found else _with_tiers(fabric)


def _grid(fabric: Fabric) -> dict[str, tuple[float, float]]:
    columns = fabric.dims[0]
    return {
        node.name: (MARGIN + STEP * (node.index % columns), MARGIN + STEP * (node.index // columns))
        for node in fabric.nodes
    }


def _with_tiers(fabric: Fabric) -> dict[str, tuple[float, float]]:
    """Endpoints row by row, switches above in rows by tier, each as near as may be to what is below it."""
    rows: dict[tuple[int, ...], list[Node]] = {}
    tiers: dict[int, list[Node]] = {}
    for node in fabric.nodes:
        if node.tier > 1:
            tiers.setdefault(node.tier, []).append(node)
        else:
            rows.setdefault(node.coordinates[1:], []).append(node)
    columns = max(len(row) for row in rows.values())
    widest = max((len(row) for row in tiers.values()), default=0)
    width = max(STEP * max(columns, MIN_COLUMNS), MIN_STEP * widest)
    place: dict[str, tuple[float, float]] = {}
    for at, row in enumerate(rows.values()):
        # Room between tiers, where links of many columns meet.
        _spread(place, row, MARGIN, width, MARGIN + STEP * (1.6 * len(tiers) + at))
    for at, tier in enumerate(sorted(tiers)):
        middles = {node.name: _middle(fabric, node, place) for node in tiers[tier]}
        row = sorted(tiers[tier], key=lambda node: (middles[node.name], node.index))
        _spread(place, row, MARGIN, width, MARGIN + STEP * 1.6 * (len(tiers) - 1 - at))
    return place


def _middle(fabric: Fabric, node: Node, place: Mapping[str, tuple[float, float]]) -> float:
    below = [place[far][0] for far in fabric.neighbours(node.name) if far in place]
    return sum(below) / len(below) if below else 0.0


def _with_planes(fabric: Fabric, found: Sequence[Sequence[Node]]) -> dict[str, tuple[float, float]]:
    """Rack by rack, in the columns and rows in which the racks are; Pods one below the other."""
    plane_of = {node.name: plane for plane in found for node in plane}
    in_racks = racks(fabric)
    rows_of = [_rows(rack, plane_of) for rack in in_racks]
    columns = (*fabric.dims, 1, 1)[2]
    width = STEP * max(fabric.dims[0], MIN_COLUMNS)
    height = STEP * max(len(rows) for rows in rows_of)
    place: dict[str, tuple[float, float]] = {}
    inside = {node.name for rack in in_racks for node in rack}
    between = [node for node in fabric.nodes if node.name not in inside]
    top = MARGIN + (1.6 * STEP if between else 0)
    for number, rows in enumerate(rows_of):
        left, above = number % columns * (width + STEP), number // columns * (height + STEP)
        for at, row in enumerate(rows):
            _spread(place, row, MARGIN + left, width, top + above + STEP * at)
    _spread(place, between, MARGIN, columns * (width + STEP) - STEP, MARGIN)
    return place


def _rows(rack: Sequence[Node], plane_of: Mapping[str, Sequence[Node]]) -> list[list[Node]]:
    """Members board by board, planes of switches in two rows each, switches that are alone, the others."""
    boards: dict[tuple[int, ...], list[Node]] = {}
    rows: list[list[Node]] = []
    drawn: set[str] = set()
    alone: list[Node] = []
    others: list[Node] = []
    for node in rack:
        if node.kind.member:
            boards.setdefault(node.coordinates[1:], []).append(node)
        elif node.name not in plane_of:
            others.append(node)
        elif len(plane_of[node.name]) == 1:
            alone.append(node)
        elif node.name not in drawn:
            plane = plane_of[node.name]
            low = min(member.tier for member in plane)
            rows.append([member for member in plane if member.tier == low])
            rows.append([member for member in plane if member.tier > low])
            drawn.update(member.name for member in plane)
    rows += [alone[first : first + MAX_IN_ROW] for first in range(0, len(alone), MAX_IN_ROW)]
    return [row for row in (*boards.values(), *rows, others) if row]


def _spread(
    place: dict[str, tuple[float, float]], row: Sequence[Node], left: float, width: float, y: float
) -> None:
    """A row of nodes in the middle of a width, a step apart, or less when there is less room."""
    step = min(STEP, width / max(len(row), 1))
    first = left + (width - STEP) / 2 - step * (len(row) - 1) / 2
    place.update({node.name: (first + step * at, y) for at, node in enumerate(row)})


def _short(node: Node) -> str:
    """What fits a circle: a number, or of names of several the end, as n3 of lrs0p1n3 and 0l1 of rail0l1."""
    if node.kind.member:
        return str(node.index)
    parts = re.findall(r"([a-z]*)(\d+)", node.name)
    if len(parts) > 1:
        return "".join((parts[0][1] if len(parts) == 2 else "", *parts[-1]))
    return node.kind.symbol + parts[0][1] if parts else str(node.index)


def _arc(
    link: Link,
    place: Mapping[str, tuple[float, float]],
    share: tuple[float, float] | None,
    cut: bool,
    full: float,
) -> str:
    (x1, y1), (x2, y2) = place[link.a.node], place[link.b.node]
    # Long links bulge further, so that none runs through the nodes between its ends.
    bulge = 4.0 + 4.6 * (max(abs(x2 - x1), abs(y2 - y1)) / STEP - 1)
    if link.dimension is None and y1 != y2 and (abs(x2 - x1) > NODE or abs(y2 - y1) < 2 * STEP):
        control = ((x1 + x2) / 2, (y1 + y2) / 2)
    elif y1 == y2:
        control = ((x1 + x2) / 2, y1 - 2 * bulge)
    else:
        control = ((x1 + x2) / 2 + 2 * bulge, (y1 + y2) / 2)
    title = escape(link.name)
    if share is not None:
        title += f": busy {100 * share[0]:.1f} % and {100 * share[1]:.1f} %"
    path = f"M{x1:g} {y1:g}Q{control[0]:g} {control[1]:g} {x2:g} {y2:g}"
    if cut:
        x, y = (x1 + 2 * control[0] + x2) / 4, (y1 + 2 * control[1] + y2) / 4
        cross = f"M{x - 5:g} {y - 5:g}l10 10m0 -10l-10 10"
        line = f'<path class="cut" d="{path}"><title>{title}, cut</title></path>'
        return f'{line}<path class="cross" d="{cross}"/>'
    stroke = _stroke(max(share) / full if share else 0.0)
    return f'<path d="{path}" {stroke}><title>{title}</title></path>'


def _stroke(strength: float) -> str:
    strength = min(max(strength, 0.0), 1.0)
    return f'stroke-width="{0.6 + 2.2 * strength:.2f}" stroke-opacity="{0.14 + 0.8 * strength:.2f}"'


def _key(x: float, y: float, full: float) -> list[str]:
    parts = []
    for index, fraction in enumerate((0.0, 0.25, 0.5, 0.75, 1.0)):
        left = x + 92 * index
        parts.append(f'<path d="M{left:g} {y:g}h30" {_stroke(fraction)}/>')
        parts.append(f'<text class="key" x="{left + 36:g}" y="{y:g}">{100 * fraction * full:.0f} %</text>')
    return parts
