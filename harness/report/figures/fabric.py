# SPDX-License-Identifier: Apache-2.0
"""Draw a fabric as SVG: circles for nodes, arcs for links; a busier link is wider and darker.

`topologies.layout` computes the coordinates of nodes. Links differ in strength of a single hue, which is
readable on light and dark pages and without colour vision.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html import escape
from typing import final

from topologies import Fabric, Link, Node
from topologies.layout.layout import layout
from topologies.layout.values import Group

__all__ = ["FABRIC_STYLE", "fabric_svg", "too_large"]

STEP = 62.0
MARGIN = 44.0
NODE = 11.0

# Largest number of links that is drawn; a larger drawing takes megabytes and is unreadable.
MAX_LINKS = 6000

# Number of letters that fit into a circle.
SHORT_NAME = 4
LONGEST_LABEL = 6

# SVG attributes of links in a drawing without loads.
PLAIN = 'stroke-width="0.9" stroke-opacity="0.45"'

# Up to this number of links a busy link is drawn at full width; with more links, all links are thinner.
MANY_LINKS = 120

# Distance between two entries of the key, and width of its last entry.
KEY_STEP, KEY_LAST = 92.0, 76.0

FABRIC_STYLE = """
.fabric path { fill: none; stroke: #3f8fe0; stroke-linecap: round; }
.fabric path.cut { stroke: #e0600a; stroke-width: 2.6; stroke-dasharray: 5 4; stroke-opacity: 1; }
.fabric .cross { stroke: #e0600a; stroke-width: 3; stroke-linecap: round; }
.fabric rect { fill: none; stroke: currentColor; stroke-opacity: 0.25; }
.fabric circle { fill: #fff; fill: var(--page, #fff); stroke: currentColor; stroke-width: 1; }
.fabric text { fill: currentColor; font: 9px system-ui, sans-serif; text-anchor: middle;
  dominant-baseline: central; }
.fabric text.small { font-size: 6.5px; }
.fabric text.key { font-size: 11px; text-anchor: start; }
"""


def fabric_svg(
    fabric: Fabric,
    shares: Mapping[str, tuple[float, float]] | None = None,
    cut: Collection[str] = (),
    *,
    full: float = 1.0,
) -> str:
    """Return a fabric as an <svg> element; the page needs FABRIC_STYLE.

    Args:
        fabric: The fabric; one with too many links is replaced by a sentence.
        shares: Busy share of each link in both directions, 0 to 1; None draws neither loads nor a key.
        cut: Names of links that are drawn as cut.
        full: Busy share that is drawn at full strength.
    """
    if words := too_large(fabric):
        return _words(fabric, words)
    drawn = layout(fabric)
    positions = {name: _scaled(at) for name, at in drawn.places.items()}
    bends = {name: _scaled(at) for name, at in drawn.bends.items()}
    labels = _labels(fabric)
    thin = min(1.0, (MANY_LINKS / max(1, len(fabric.links))) ** 0.75)
    known = shares or {}
    quiet_first = sorted(fabric.links, key=lambda link: (link.name in cut, max(known.get(link.name, (0, 0)))))
    arcs = [
        _arc(link, positions, bends.get(link.name), known.get(link.name), link.name in cut, full, thin)
        for link in quiet_first
    ]
    boxes = [_box(group) for group in drawn.groups if group.kind == "group"]
    corners = [
        *positions.values(),
        *(arc.middle for arc in arcs),
        *(corner for box in boxes for corner in box.corners),
    ]
    left, right = min(x for x, _ in corners) - MARGIN, max(x for x, _ in corners) + MARGIN
    top, bottom = min(y for _, y in corners) - MARGIN, max(y for _, y in corners) + MARGIN
    key: list[str] = []
    if shares is not None:
        # If the fabric is narrower than the key, widen the drawing so that the fabric stands above its
        # middle.
        missing = max(0.0, 4 * KEY_STEP + KEY_LAST + 2 * NODE - (right - left))
        left, right = left - missing / 2, right + missing / 2
        bottom += 24
        key = _key(left + NODE, bottom - 16, full)
    box = f"{left:g} {top:g} {right - left:g} {bottom - top:g}"
    parts = [f'<svg class="fabric" xmlns="http://www.w3.org/2000/svg" viewBox="{box}" role="img">']
    parts.append(f"<title>{escape(fabric.name)}, busy share of its links</title>")
    parts += [box.svg for box in boxes]
    parts += [arc.svg for arc in arcs]
    for node in fabric.nodes:
        x, y = positions[node.name]
        label = labels[node.name]
        small = ' class="small"' if len(label) > 3 else ""
        parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{NODE:g}"><title>{escape(node.name)}</title></circle>'
        )
        parts.append(f'<text{small} x="{x:g}" y="{y:g}">{label}</text>')
    return "\n".join([*parts, *key, "</svg>"])


def too_large(fabric: Fabric) -> str:
    """Return why a fabric is not drawn, in words; empty for a fabric that is drawn."""
    if len(fabric.links) <= MAX_LINKS:
        return ""
    size = f"{len(fabric.nodes)} nodes and {len(fabric.links)} links"
    return f"{size} are too many to draw; at most {MAX_LINKS} links can be drawn"


def _words(fabric: Fabric, words: str) -> str:
    spaces = 'class="fabric" xmlns="http://www.w3.org/2000/svg" role="img"'
    title = escape(fabric.name)
    parts = [f'<svg {spaces} viewBox="0 0 560 60">', f"<title>{title}, not drawn</title>"]
    for y, line in ((20, title), (40, words)):
        parts.append(f'<text class="key" x="12" y="{y}">{line}</text>')
    return "\n".join([*parts, "</svg>"])


def _scaled(position: tuple[float, float]) -> tuple[float, float]:
    return MARGIN + STEP * position[0], MARGIN + STEP * position[1]


def _labels(fabric: Fabric) -> dict[str, str]:
    """Return a label for each node, short enough for a circle.

    Nodes that would have equal labels get the first letter of their name and its numbers instead.
    """
    labels = {node.name: _label(node, own_name=fabric.graph_routed) for node in fabric.nodes}
    counts = Counter(labels.values())
    for name, label in labels.items():
        if counts[label] > 1:
            letters = re.match(r"[A-Za-z]*", name)
            number = re.sub(r"[^\d.]", "", name)
            labels[name] = f"{letters[0][:1] if letters else ''}{number}" if number else name[:5]
    return labels


def _label(node: Node, *, own_name: bool) -> str:
    """Return a label of a node, short enough for a circle.

    A node that can be a member has its index as label. A switch has the numbers of its name: `n3` for
    lrs0p1n3, `0l1` for rail0l1, `0.1.2` for tor0.1.2, a letter and a number for other switches. With
    `own_name` a switch has its whole name if it is short, else the first letter and the numbers of its name;
    a node whose name has several words has the initial and the number of each, as `s0g2` for srv0-gpu2.
    """
    if own_name and len(node.name) > SHORT_NAME and re.search(r"[-_]", node.name):
        words = re.findall(r"([A-Za-z])[A-Za-z]*(\d*)", node.name)
        label = "".join(initial + number for initial, number in words)
        if 0 < len(label) <= LONGEST_LABEL:
            return label
    if node.kind.member:
        return str(node.index)
    if own_name:
        short = node.name[:1] + re.sub(r"[^\d.]", "", node.name)
        return node.name if len(node.name) <= SHORT_NAME else short
    parts = re.findall(r"([a-z]*)(\d+)", node.name)
    if "." in node.name:
        return ".".join(number for _, number in parts)
    if len(parts) > 1:
        return "".join((parts[0][1] if len(parts) == 2 else "", *parts[-1]))
    return node.kind.symbol + parts[0][1] if parts else str(node.index)


@final
@dataclass(frozen=True, slots=True)
class _Arc:
    """SVG element of a link, and the middle of its curve."""

    svg: str
    middle: tuple[float, float]


def _arc(
    link: Link,
    positions: Mapping[str, tuple[float, float]],
    bend: tuple[float, float] | None,
    share: tuple[float, float] | None,
    cut: bool,
    full: float,
    thin: float,
) -> _Arc:
    (x1, y1), (x2, y2) = positions[link.a.node], positions[link.b.node]
    # A long link bulges further, so that it does not run through the nodes between its ends.
    bulge = 4.0 + 4.6 * (max(abs(x2 - x1), abs(y2 - y1)) / STEP - 1)
    if bend is not None:
        control = bend
    elif link.dimension is None and y1 != y2 and (abs(x2 - x1) > NODE or abs(y2 - y1) < 2 * STEP):
        control = ((x1 + x2) / 2, (y1 + y2) / 2)
    elif y1 == y2:
        control = ((x1 + x2) / 2, y1 - 2 * bulge)
    else:
        control = ((x1 + x2) / 2 + 2 * bulge, (y1 + y2) / 2)
    title = escape(link.name)
    if share is not None:
        title += f": busy {100 * share[0]:.1f} % and {100 * share[1]:.1f} %"
    path = f"M{x1:g} {y1:g}Q{control[0]:g} {control[1]:g} {x2:g} {y2:g}"
    x, y = (x1 + 2 * control[0] + x2) / 4, (y1 + 2 * control[1] + y2) / 4
    if cut:
        cross = f"M{x - 5:g} {y - 5:g}l10 10m0 -10l-10 10"
        line = f'<path class="cut" d="{path}"><title>{title}, cut</title></path>'
        return _Arc(f'{line}<path class="cross" d="{cross}"/>', (x, y))
    stroke = _stroke(max(share) / full, thin) if share else PLAIN
    return _Arc(f'<path d="{path}" {stroke}><title>{title}</title></path>', (x, y))


def _stroke(strength: float, thin: float = 1.0) -> str:
    strength = min(max(strength, 0.0), 1.0)
    return f'stroke-width="{0.6 + 2.2 * thin * strength:.2f}" stroke-opacity="{0.14 + 0.8 * strength:.2f}"'


@final
@dataclass(frozen=True, slots=True)
class _Box:
    """SVG of a box around a group of nodes, and two opposite corners that enclose the box and its label."""

    svg: str
    corners: tuple[tuple[float, float], tuple[float, float]]


def _box(group: Group) -> _Box:
    (left, top), (width, height) = _scaled(group.place), group.size
    right, bottom = left + STEP * width, top + STEP * height
    rect = f'<rect x="{left:g}" y="{top:g}" width="{STEP * width:g}" height="{STEP * height:g}" rx="8"/>'
    label = f'<text class="key" x="{left + 4:g}" y="{top - 7:g}">{escape(group.label)}</text>'
    return _Box(rect + label, ((left, top - 14), (right, bottom)))


def _key(x: float, y: float, full: float) -> list[str]:
    parts = []
    for index, fraction in enumerate((0.0, 0.25, 0.5, 0.75, 1.0)):
        left = x + KEY_STEP * index
        parts.append(f'<path d="M{left:g} {y:g}h30" {_stroke(fraction)}/>')
        parts.append(f'<text class="key" x="{left + 36:g}" y="{y:g}">{100 * fraction * full:.0f} %</text>')
    return parts
