# SPDX-License-Identifier: Apache-2.0
"""Curves of links that pass no node between their ends: straight where that is possible, else bent aside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import hypot
from typing import TYPE_CHECKING

from topologies.layout.values import Point
from topologies.model.fabric import Fabric

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Centre", "bends_of"]

# Middle of a circle on which both ends of a link stand, by their names; None if they stand on no circle.
Centre = Callable[[str, str], Point | None]

# Distance from a node at which a link does not pass it.
_CLEAR = 0.22
# How far a link is bent aside: a length, and a part of the distance of its ends, up to a most.
_BEND, _SHARE, _MOST = 0.25, 0.12, 1.6
# How far a chord of a circle is drawn to the middle, as a part of its length.
_INWARDS = 0.32
# Distance of the curves of parallel links.
_PARALLEL = 0.3


def bends_of(fabric: Fabric, places: Mapping[str, Point], centre: Centre) -> dict[str, Point]:
    """Return the control point of each link's quadratic curve, by name of the link."""
    import numpy as np

    spots = np.array([places[node.name] for node in fabric.nodes])
    drawn: dict[tuple[str, str], int] = {}
    bends = {}
    for link in fabric.links:
        a, b = sorted((link.a.node, link.b.node))
        (x1, y1), (x2, y2) = places[a], places[b]
        x, y = (x1 + x2) / 2, (y1 + y2) / 2
        length = hypot(x2 - x1, y2 - y1) or 1.0
        across = _across((x2 - x1) / length, (y2 - y1) / length)
        middle = centre(a, b)
        if middle is not None:
            out = hypot(middle[0] - x, middle[1] - y)
            part = min(1.0, 2 * _INWARDS * length / out) if out > _CLEAR else 0.0
            x, y = x + (middle[0] - x) * part, y + (middle[1] - y) * part
        elif _passes(spots, places[a], places[b], across):
            bend = 2 * min(_MOST, _BEND + _SHARE * length)
            x, y = x + across[0] * bend, y + across[1] * bend
        # Parallel links lie beside each other.
        beside = _PARALLEL * drawn.get((a, b), 0)
        drawn[a, b] = drawn.get((a, b), 0) + 1
        bends[link.name] = (round(x + across[0] * beside, 4), round(y + across[1] * beside, 4))
    return bends


def _across(x: float, y: float) -> Point:
    """Return the unit vector across a direction that points upwards, or to the right."""
    across = (y, -x)
    points_down = across[1] > 1e-9 or (abs(across[1]) <= 1e-9 and across[0] < 0)
    return (-across[0], -across[1]) if points_down else across


def _passes(spots: np.ndarray, start: Point, end: Point, across: Point) -> bool:
    """Return whether a straight link passes a node between its ends; `spots` has a row for each node."""
    offset = spots - start
    along = (end[0] - start[0], end[1] - start[1])
    forward = offset @ along / (along[0] ** 2 + along[1] ** 2 or 1.0)
    aside = abs(offset @ across)
    return bool(((forward > 1e-6) & (forward < 1 - 1e-6) & (aside < _CLEAR)).any())
