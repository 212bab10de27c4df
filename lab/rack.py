"""A fabric drawn as SVG: nodes in a grid, links as arcs that are wider and stronger the busier they were.

One hue in several strengths reads the same on a light and on a dark page and without colour vision.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from html import escape
from math import prod

from topologies import Fabric, Link

__all__ = ["RACK_STYLE", "rack_svg"]

STEP = 62.0
MARGIN = 44.0
NODE = 11.0

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
    columns = fabric.dims[0]
    rows = prod(fabric.dims[1:])
    place = {
        node.name: (MARGIN + STEP * (node.index % columns), MARGIN + STEP * (node.index // columns))
        for node in fabric.nodes
    }
    width, height = 2 * MARGIN + STEP * (columns - 1), 2 * MARGIN + STEP * (rows - 1) + 24
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
        parts.append(f'<text x="{x:g}" y="{y:g}">{node.index}</text>')
    if shares is not None:
        parts += _key(MARGIN - NODE, height - 16, full)
    return "\n".join([*parts, "</svg>"])


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
    if link.dimension == 0:
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
