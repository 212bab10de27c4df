# SPDX-License-Identifier: Apache-2.0
"""Curves of links: straight if no other node is in between, else bent aside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import hypot
from typing import TYPE_CHECKING

from topologies.layout.values import Point
from topologies.model.fabric import Fabric

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Centre", "bends_of"]

# Function from both ends of a link to the centre of the circle on which they are drawn; None without circle.
Centre = Callable[[str, str], Point | None]

# Distance from a node at which a link does not touch the node.
_CLEAR = 0.22
# Bend of a link: a length, plus a share of the distance of its ends, up to a maximum.
_BEND, _SHARE, _MOST = 0.25, 0.12, 1.6
# Bend of a chord of a circle towards the centre, as a share of its length.
_INWARDS = 0.32
# Distance between the curves of parallel links.
_PARALLEL = 0.3


def bends_of(fabric: Fabric, positions: Mapping[str, Point], centre: Centre) -> dict[str, Point]:
    """Return the control point of each link's quadratic curve, by name of the link."""
    import numpy as np

    spots = np.array([positions[node.name] for node in fabric.nodes])
    drawn: dict[tuple[str, str], int] = {}
    bends = {}
    for link in fabric.links:
        a, b = sorted((link.a.node, link.b.node))
        (x1, y1), (x2, y2) = positions[a], positions[b]
        x, y = (x1 + x2) / 2, (y1 + y2) / 2
        length = hypot(x2 - x1, y2 - y1) or 1.0
        across = _across((x2 - x1) / length, (y2 - y1) / length)
        middle = centre(a, b)
        if middle is not None:
            out = hypot(middle[0] - x, middle[1] - y)
            part = min(1.0, 2 * _INWARDS * length / out) if out > _CLEAR else 0.0
            x, y = x + (middle[0] - x) * part, y + (middle[1] - y) * part
        elif _passes(spots, positions[a], positions[b], across):
            bend = 2 * min(_MOST, _BEND + _SHARE * length)
            x, y = x + across[0] * bend, y + across[1] * bend
        # Parallel links are drawn side by side.
        beside = _PARALLEL * drawn.get((a, b), 0)
        drawn[a, b] = drawn.get((a, b), 0) + 1
        bends[link.name] = (round(x + across[0] * beside, 4), round(y + across[1] * beside, 4))
    return bends


def _across(x: float, y: float) -> Point:
    """Return the unit vector normal to a direction and upwards, or to the right for a vertical direction."""
    across = (y, -x)
    points_down = across[1] > 1e-9 or (abs(across[1]) <= 1e-9 and across[0] < 0)
    return (-across[0], -across[1]) if points_down else across


def _passes(spots: np.ndarray, start: Point, end: Point, across: Point) -> bool:
    """Return whether a straight link touches a node between its ends; `spots` has a row for each node."""
    offset = spots - start
    along = (end[0] - start[0], end[1] - start[1])
    forward = offset @ along / (along[0] ** 2 + along[1] ** 2 or 1.0)
    aside = abs(offset @ across)
    return bool(((forward > 1e-6) & (forward < 1 - 1e-6) & (aside < _CLEAR)).any())
