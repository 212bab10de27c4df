# SPDX-License-Identifier: Apache-2.0
"""Layout of a fabric: positions, boxes, curves. The unit is the distance of neighbours; y grows downwards."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

__all__ = ["Group", "Layout", "Point"]

Point = tuple[float, float]


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Nodes drawn within one box; `kind` is `rack`, `Pod` or `group`, `place` the upper left corner.

    The box of a Pod encloses the boxes of its racks, and `nodes` has the nodes of all its racks.
    """

    kind: str
    label: str
    place: Point
    size: Point
    nodes: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """Positions (`places`) of nodes and optical switches by name, and the groups with a box.

    `bends` has the control point of each link's quadratic curve, by name of the link. If `bends` is empty,
    each link is an arc whose form follows from the positions of its ends.
    """

    places: Mapping[str, Point]
    groups: tuple[Group, ...] = ()
    bends: Mapping[str, Point] = field(default_factory=dict)
