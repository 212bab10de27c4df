# SPDX-License-Identifier: Apache-2.0
"""Positions of nodes in a drawing of a fabric, by level, board, rack, plane or rail.

A fabric of endpoints alone is a grid: its first dimension runs to the right, the others downwards. A fabric
with planes of switches is drawn rack by rack, racks in the grid that they form, Pods side by side, switches
between racks on top. In other fabrics all endpoints form one grid; a switch of tier 1 stands in the row of
its endpoints, switches of higher tiers stand above. Optical switches stand on top of all.

The unit is the distance of two neighbours; x grows to the right and y downwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import final

from topologies.model.fabric import Fabric, Node
from topologies.model.places import planes, racks

__all__ = ["Group", "Layout", "layout"]

# Least width of a grid below switches, in columns.
_MIN_COLUMNS = 8
# Switches side by side: as many as a plane has.
_MAX_IN_ROW = 18
# Least distance of switches where a tier has more of them than the grid has columns.
_MIN_STEP = 0.46
# Distance of two tiers, where links of many columns meet, and of two Pods.
_TIER_STEP = 1.6
_POD_GAP = 2.0

Place = tuple[float, float]


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Nodes drawn within one box, such as a rack; `kind` is `rack` or `Pod`, `place` its upper left corner.

    The box of a Pod lies around the boxes of its racks, and `nodes` has the nodes of all of them.
    """

    kind: str
    label: str
    place: Place
    size: Place
    nodes: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """Position of each node and of each optical switch by name, and the groups that have a box."""

    places: Mapping[str, Place]
    groups: tuple[Group, ...] = ()


def layout(fabric: Fabric) -> Layout:
    """Return the positions of a fabric's nodes; equal fabrics have equal layouts."""
    switch_planes = planes(fabric) if any(node.tier for node in fabric.nodes) else []
    groups: tuple[Group, ...] = ()
    if not any(node.tier for node in fabric.nodes):
        places = _grid(fabric)
    elif switch_planes:
        places, groups = _with_planes(fabric, switch_planes)
    else:
        places = _with_tiers(fabric)
    _add_optical(fabric, places)
    return Layout(places, groups)


def _grid(fabric: Fabric) -> dict[str, Place]:
    columns = fabric.dims[0]
    return {node.name: (float(node.index % columns), float(node.index // columns)) for node in fabric.nodes}


def _with_tiers(fabric: Fabric) -> dict[str, Place]:
    """Place endpoints row by row and switches above them by tier, each close to its neighbours below."""
    rows: dict[tuple[int, ...], list[Node]] = {}
    tiers: dict[int, list[Node]] = {}
    for node in fabric.nodes:
        if node.tier > 1:
            tiers.setdefault(node.tier, []).append(node)
        else:
            rows.setdefault(node.coordinates[1:], []).append(node)
    columns = max((len(row) for row in rows.values()), default=0)
    widest = max((len(row) for row in tiers.values()), default=0)
    width = max(float(columns), float(_MIN_COLUMNS), _MIN_STEP * widest)
    places: dict[str, Place] = {}
    for at, row in enumerate(rows.values()):
        _spread(places, row, 0.0, width, _TIER_STEP * len(tiers) + at)
    for at, tier in enumerate(sorted(tiers)):
        middles = {node.name: _middle(fabric, node, places) for node in tiers[tier]}
        in_order = sorted(tiers[tier], key=lambda node: (middles[node.name], node.index))
        _spread(places, in_order, 0.0, width, _TIER_STEP * (len(tiers) - 1 - at))
    return places


def _middle(fabric: Fabric, node: Node, places: Mapping[str, Place]) -> float:
    """Return the mean x of the neighbours that have a place."""
    below = [places[name][0] for name in fabric.neighbours(node.name) if name in places]
    return sum(below) / len(below) if below else 0.0


def _with_planes(
    fabric: Fabric, switch_planes: Sequence[Sequence[Node]]
) -> tuple[dict[str, Place], tuple[Group, ...]]:
    """Place nodes rack by rack, racks in the grid of their Pod, Pods in a grid that is as wide as high."""
    plane_of = {node.name: plane for plane in switch_planes for node in plane}
    in_racks = racks(fabric)
    rows_of = [_rows(rack, plane_of) for rack in in_racks]
    columns, rows, pods = (*fabric.dims, 1, 1, 1)[2:5]
    width = float(max(fabric.dims[0], _MIN_COLUMNS))
    height = float(max(len(rack_rows) for rack_rows in rows_of))
    pod_columns = ceil(sqrt(pods))
    pod_width, pod_height = columns * (width + 1) - 1, rows * (height + 1) - 1
    inside = {node.name for rack in in_racks for node in rack}
    between = [node for node in fabric.nodes if node.name not in inside]
    top = 2.0 if between else 0.0
    places: dict[str, Place] = {}
    groups: list[Group] = []
    for number, rack_rows in enumerate(rows_of):
        pod, rest = divmod(number, columns * rows)
        row, column = divmod(rest, columns)
        left = (pod % pod_columns) * (pod_width + _POD_GAP) + column * (width + 1)
        above = top + (pod // pod_columns) * (pod_height + _POD_GAP) + row * (height + 1)
        for at, members in enumerate(rack_rows):
            _spread(places, members, left, width, above + at)
        label = f"rack {column}.{row}" + (f" of Pod {pod}" if pods > 1 else "")
        names = tuple(node.name for members in rack_rows for node in members)
        groups.append(Group("rack", label, (left - 0.5, above - 0.5), (width, height), names))
    whole = min(pods, pod_columns) * (pod_width + _POD_GAP) - _POD_GAP
    _spread(places, between, 0.0, whole, 0.0)
    if pods > 1:
        in_pod = columns * rows
        size = (pod_width, pod_height)
        groups += [
            _pod(number, groups[number * in_pod : (number + 1) * in_pod], size) for number in range(pods)
        ]
    return places, tuple(groups)


def _pod(number: int, in_racks: Sequence[Group], size: Place) -> Group:
    names = tuple(name for rack in in_racks for name in rack.nodes)
    return Group("Pod", f"Pod {number}", in_racks[0].place, size, names)


def _rows(rack: Sequence[Node], plane_of: Mapping[str, Sequence[Node]]) -> list[list[Node]]:
    """Return the rows of a rack: boards, planes of switches in two rows each, single switches, others."""
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
    rows += [alone[first : first + _MAX_IN_ROW] for first in range(0, len(alone), _MAX_IN_ROW)]
    return [row for row in (*boards.values(), *rows, others) if row]


def _spread(places: dict[str, Place], row: Sequence[Node], left: float, width: float, y: float) -> None:
    """Place a row of nodes in the middle of a width, a unit apart, closer together if `width` demands."""
    step = min(1.0, width / max(len(row), 1))
    first = left + (width - 1) / 2 - step * (len(row) - 1) / 2
    places.update({node.name: (first + step * at, y) for at, node in enumerate(row)})


def _add_optical(fabric: Fabric, places: dict[str, Place]) -> None:
    """Place optical switches in a row above all nodes."""
    if not fabric.optical:
        return
    left = min(x for x, _ in places.values())
    width = max(x for x, _ in places.values()) - left
    top = min(y for _, y in places.values()) - _TIER_STEP
    count = len(fabric.optical)
    for at, switch in enumerate(fabric.optical):
        places[switch.name] = (left + width * (at + 0.5) / count, top)
