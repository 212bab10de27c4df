# SPDX-License-Identifier: Apache-2.0
"""Positions of nodes by the coordinates and tiers of a family: grids, boards, racks, planes, rails.

    endpoints alone  a grid: the first dimension to the right, the second downwards; further dimensions
                     repeat this grid
    with planes      rack by rack: planes of switches beside the boards, racks in the grid of their Pod, Pods
                     side by side, switches between racks on top
    other fabrics    all endpoints in one grid, switches of tier 1 in the row of their endpoints, higher tiers
                     above

Optical switches are above all other nodes. The unit is the distance between neighbours; x grows to the right
and y downwards.
"""

from collections.abc import Mapping, Sequence
from math import log

from topologies.layout.values import Group, Point
from topologies.model.fabric import Fabric, Node
from topologies.model.places import racks

__all__ = ["add_optical", "grid", "with_planes", "with_tiers"]

# Least width of a grid below switches, in columns.
_MIN_COLUMNS = 8
# Switches side by side: the number of switches of a plane.
_MAX_IN_ROW = 18
# Least distance between switches of a tier that has more switches than the grid has columns.
_MIN_STEP = 0.46
# Distance between the planes of a rack, and number of a plane's switches below the last board.
_PLANE_GAP = 0.4
_OVERHANG = 2
# Width of a picture as a share of its height.
_ASPECT = 1.4
# Distance between two tiers, wide enough for links of many columns, and between two Pods.
_TIER_STEP = 1.6
_POD_GAP = 2.0


def grid(fabric: Fabric) -> dict[str, Point]:
    """Return positions by the first two dimensions; each combination of further coordinates is a plane.

    The planes themselves form a grid.
    """
    columns, rows = (*fabric.dims, 1)[:2]
    count = -(-len(fabric.nodes) // (columns * rows))
    across = _columns(count, columns + 1, rows + 1)
    positions: dict[str, Point] = {}
    for node in fabric.nodes:
        plane, inside = divmod(node.index, columns * rows)
        left, above = (plane % across) * (columns + 1), (plane // across) * (rows + 1)
        positions[node.name] = (float(left + inside % columns), float(above + inside // columns))
    return positions


def _columns(count: int, width: float, height: float) -> int:
    """Return the number of columns of a full grid of `count` boxes with the shape closest to a screen's."""
    divisors = [columns for columns in range(1, count + 1) if count % columns == 0]
    return min(divisors, key=lambda columns: abs(log(columns**2 * width / (count * height * _ASPECT))))


def with_tiers(fabric: Fabric) -> dict[str, Point]:
    """Return positions of endpoints row by row, and of switches above by tier, close to their neighbours."""
    rows: dict[tuple[int, ...], list[Node]] = {}
    tiers: dict[int, list[Node]] = {}
    for node in fabric.nodes:
        if node.tier > 1:
            tiers.setdefault(node.tier, []).append(node)
        else:
            rows.setdefault(node.coordinates[1:], []).append(node)
    row_width = max((len(row) for row in rows.values()), default=0)
    across = _columns(len(rows), row_width + 1, 1) if rows else 1
    down = len(rows) // across
    widest = max((len(row) for row in tiers.values()), default=0)
    width = max(across * (row_width + 1.0) - 1, float(_MIN_COLUMNS), _MIN_STEP * widest)
    positions: dict[str, Point] = {}
    for at, row in enumerate(rows.values()):
        block = width / across
        _spread(positions, row, at // down * block, block, _TIER_STEP * len(tiers) + at % down)
    for at, tier in enumerate(sorted(tiers)):
        middles = {node.name: _middle(fabric, node, positions) for node in tiers[tier]}
        in_order = sorted(tiers[tier], key=lambda node: (middles[node.name], node.index))
        _spread(positions, in_order, 0.0, width, _TIER_STEP * (len(tiers) - 1 - at))
    return positions


def _middle(fabric: Fabric, node: Node, positions: Mapping[str, Point]) -> float:
    """Return the mean x of the neighbours that have a position; 0 if none has."""
    below = [positions[name][0] for name in fabric.neighbours(node.name) if name in positions]
    return sum(below) / len(below) if below else 0.0


def with_planes(
    fabric: Fabric, switch_planes: Sequence[Sequence[Node]]
) -> tuple[dict[str, Point], tuple[Group, ...]]:
    """Return positions of nodes rack by rack, and the boxes of racks and Pods.

    Racks form the grid of their Pod. Pods form a grid whose shape is closest to a screen.
    """
    plane_of = {node.name: plane for plane in switch_planes for node in plane}
    in_racks = racks(fabric)
    inside_of = [_rack(rack, plane_of) for rack in in_racks]
    columns, rows, pods = (*fabric.dims, 1, 1, 1)[2:5]
    width = 1 + max(x for of_rack in inside_of for x, _ in of_rack.values())
    height = 1 + max(y for of_rack in inside_of for _, y in of_rack.values())
    pod_columns = _columns(pods, columns * (width + 1), rows * (height + 1))
    pod_width, pod_height = columns * (width + 1) - 1, rows * (height + 1) - 1
    inside = {node.name for rack in in_racks for node in rack}
    between = [node for node in fabric.nodes if node.name not in inside]
    top = 2.0 if between else 0.0
    positions: dict[str, Point] = {}
    groups: list[Group] = []
    for number, of_rack in enumerate(inside_of):
        pod, rest = divmod(number, columns * rows)
        row, column = divmod(rest, columns)
        left = (pod % pod_columns) * (pod_width + _POD_GAP) + column * (width + 1)
        above = top + (pod // pod_columns) * (pod_height + _POD_GAP) + row * (height + 1)
        positions.update({name: (left + x, above + y) for name, (x, y) in of_rack.items()})
        label = f"rack {column}.{row}" + (f" of Pod {pod}" if pods > 1 else "")
        groups.append(Group("rack", label, (left - 0.5, above - 0.5), (width, height), tuple(of_rack)))
    whole = pod_columns * (pod_width + _POD_GAP) - _POD_GAP
    _spread(positions, between, 0.0, whole, 0.0)
    if pods > 1:
        in_pod = columns * rows
        size = (pod_width, pod_height)
        groups += [
            _pod(number, groups[number * in_pod : (number + 1) * in_pod], size) for number in range(pods)
        ]
    return positions, tuple(groups)


def _pod(number: int, in_racks: Sequence[Group], size: Point) -> Group:
    names = tuple(name for rack in in_racks for name in rack.nodes)
    return Group("Pod", f"Pod {number}", in_racks[0].place, size, names)


def _rack(rack: Sequence[Node], plane_of: Mapping[str, Sequence[Node]]) -> dict[str, Point]:
    """Return positions in a rack: boards as rows, planes of switches to the right, other nodes below.

    A plane has two columns: its switches of the lowest tier, each in the row of its board, and next to them
    its switches of higher tiers.
    """
    boards: dict[tuple[int, ...], list[Node]] = {}
    planes_here: dict[str, Sequence[Node]] = {}
    rest: list[Node] = []
    for node in rack:
        if node.kind.member:
            boards.setdefault(node.coordinates[1:], []).append(node)
        elif len(plane_of.get(node.name, ())) > 1:
            planes_here[plane_of[node.name][0].name] = plane_of[node.name]
        else:
            rest.append(node)
    width = float(max([_MIN_COLUMNS, *(len(board) for board in boards.values())]))
    positions: dict[str, Point] = {}
    for row, board in enumerate(boards.values()):
        _spread(positions, board, 0.0, width, float(row))
    depth, right = len(boards), width + _PLANE_GAP
    for plane in planes_here.values():
        low = min(member.tier for member in plane)
        for column in ([m for m in plane if m.tier == low], [m for m in plane if m.tier > low]):
            for first in range(0, len(column), depth + _OVERHANG):
                part = column[first : first + depth + _OVERHANG]
                positions.update({node.name: (right, float(row)) for row, node in enumerate(part)})
                right += 1
        right += _PLANE_GAP
    width = right - _PLANE_GAP if planes_here else width
    below = 1 + max(y for _, y in positions.values())
    most = max(_MAX_IN_ROW, round(width))
    for at, first in enumerate(range(0, len(rest), most)):
        _spread(positions, rest[first : first + most], 0.0, width, below + at)
    return positions


def _spread(positions: dict[str, Point], row: Sequence[Node], left: float, width: float, y: float) -> None:
    """Add positions of a row of nodes, centred in a width: a unit apart, closer if `width` is too small."""
    step = min(1.0, width / max(len(row), 1))
    first = left + (width - 1) / 2 - step * (len(row) - 1) / 2
    positions.update({node.name: (first + step * at, y) for at, node in enumerate(row)})


def add_optical(fabric: Fabric, positions: dict[str, Point]) -> None:
    """Add positions of optical switches, in a row above all nodes."""
    if not fabric.optical:
        return
    left = min(x for x, _ in positions.values())
    width = max(x for x, _ in positions.values()) - left
    top = min(y for _, y in positions.values()) - _TIER_STEP
    count = len(fabric.optical)
    for at, switch in enumerate(fabric.optical):
        positions[switch.name] = (left + width * (at + 0.5) / count, top)
