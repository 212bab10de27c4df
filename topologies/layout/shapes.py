# SPDX-License-Identifier: Apache-2.0
"""Positions of the nodes of a graph, in the first of these forms that fits.

    given    for graphs whose nodes, except leaves, all have a position
    groups   for graphs with named groups: a circle of groups, each a circle of its nodes
    levels   for switches of several tiers, for trees: a row for each level, endpoints below their switches
    circle   for rings, for graphs of small diameter, for very small and for very large graphs
    springs  for all other graphs: neighbours close to each other (Kamada and Kawai)

A leaf is an endpoint whose only neighbour is a switch. It is drawn beside the switch, away from other nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import atan2, cos, dist, hypot, pi, sin, sqrt
from statistics import median
from typing import TYPE_CHECKING, final

from topologies.layout.curves import bends_of
from topologies.layout.rows import rows_of
from topologies.layout.values import Group, Layout, Point
from topologies.model.fabric import Fabric, Node

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["place_graph"]

# Distance of a leaf from its switch, between two rings of leaves, and between two leaves of a ring.
_LEAF, _RING, _BESIDE = 0.75, 0.46, 0.46
# Half of the angle over which the leaves of a switch are spread.
_FAN = 0.38 * pi
# Space between the circles of two groups, and around the nodes of a box.
_GROUP_GAP, _BOX = 0.6, 0.35
# Distance of two boxes' centres at which they do not touch, as a multiple of half their width.
_SQUARE = 2.3
# Least distance between nodes in a layout by springs.
_APART = 0.4
# Number of nodes up to which springs take about a second.
_MOST_SPRINGS = 250
# Diameter up to which a circle shows a graph better than springs.
_FEW_HOPS = 3
# Number of nodes on a circle up to which straight links touch no other node.
_FEW = 12
# Number of nodes whose nearest neighbours determine the scale of given positions.
_SAMPLE = 200
# Direction from a node to its leaves if the fabric gives positions: down and to the left, away from the links
# of rows and columns.
_DOWN_LEFT = 0.75 * pi


@final
@dataclass(frozen=True, slots=True)
class _Graph:
    """Nodes without leaves (`core`), the graph of the core, and the leaves of each node of the core."""

    core: Sequence[Node]
    graph: nx.Graph
    leaves: Mapping[str, Sequence[Node]]

    def room(self, name: str) -> float:
        """Return the width needed by a node and its leaves."""
        most = max((count for count in _rings(len(self.leaves[name]))), default=1)
        return max(1.0, _BESIDE * most)

    def depth(self, name: str) -> float:
        """Return the distance from a node to its outermost ring of leaves; 0 without leaves."""
        rings = len(list(_rings(len(self.leaves[name]))))
        return _LEAF + _RING * (rings - 1) if rings else 0.0


def place_graph(fabric: Fabric) -> Layout:
    """Return the layout of a graph in the first form that fits (see the module)."""
    shape = _graph(fabric)
    names = {node.name: node.group for node in shape.core}
    if all(node.position is not None for node in shape.core):
        positions = _given(shape)
        return Layout(positions, _boxes(shape, positions), bends_of(fabric, positions, lambda a, b: None))
    if any(names.values()):
        positions = _grouped(shape)

        def between(a: str, b: str) -> Point | None:
            apart = a in names and b in names and names[a] != names[b]
            return (0.0, 0.0) if apart else None

        return Layout(positions, _boxes(shape, positions), bends_of(fabric, positions, between))
    if levels := _levels(shape):
        positions = rows_of(levels, shape.graph, shape.leaves)
        return Layout(positions, (), bends_of(fabric, positions, lambda a, b: None))
    if _is_round(shape):
        positions = _circle(shape)
        centre = (0.0, 0.0) if len(names) > _FEW else None
        return Layout(
            positions,
            (),
            bends_of(fabric, positions, lambda a, b: centre if a in names and b in names else None),
        )
    positions = _springs(shape)
    return Layout(positions, (), bends_of(fabric, positions, lambda a, b: None))


def _graph(fabric: Fabric) -> _Graph:
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(node.name for node in fabric.nodes)
    graph.add_edges_from((link.a.node, link.b.node) for link in fabric.links)
    is_leaf = {
        node.name: node.kind.member
        and graph.degree(node.name) == 1
        and not fabric.node(next(iter(graph[node.name]))).kind.member
        for node in fabric.nodes
    }
    core = [node for node in fabric.nodes if not is_leaf[node.name]]
    leaves: dict[str, list[Node]] = {node.name: [] for node in core}
    for node in fabric.nodes:
        if is_leaf[node.name]:
            leaves[next(iter(graph[node.name]))].append(node)
    return _Graph(core, graph.subgraph(node.name for node in core), leaves)


def _rings(leaves: int) -> Iterator[int]:
    """Yield the number of leaves in each ring around a node, from the inside outwards."""
    radius = _LEAF
    while leaves > 0:
        here = min(leaves, 1 + int(2 * _FAN * radius / _BESIDE))
        yield here
        leaves -= here
        radius += _RING


def _with_leaves(shape: _Graph, positions: dict[str, Point], angles: Mapping[str, float]) -> dict[str, Point]:
    """Add the positions of leaves; `angles` is the direction from each node to its leaves."""
    for name, leaves in shape.leaves.items():
        (x, y), angle, first = positions[name], angles[name], 0
        for ring, count in enumerate(_rings(len(leaves))):
            radius = _LEAF + _RING * ring
            for at, leaf in enumerate(leaves[first : first + count]):
                turn = angle + (at - (count - 1) / 2) * _BESIDE / radius
                positions[leaf.name] = (x + radius * cos(turn), y + radius * sin(turn))
            first += count
    return positions


def _given(shape: _Graph) -> dict[str, Point]:
    """Return the positions given by the fabric, scaled to the layout's unit.

    A leaf without a given position is drawn next to its neighbour.
    """
    given = {node.name: node.position for node in shape.core if node.position is not None}
    spots = list(given.values())
    nearest = [min((dist(a, b) for b in spots if b != a), default=1.0) for a in spots[:_SAMPLE]]
    room = max(map(shape.room, given)) + max(map(shape.depth, given))
    scale = room / median(nearest)
    positions = {name: (x * scale, y * scale) for name, (x, y) in given.items()}
    angles = dict.fromkeys(given, _DOWN_LEFT)
    positions = _with_leaves(shape, positions, angles)
    for leaves in shape.leaves.values():
        positions |= {
            leaf.name: (leaf.position[0] * scale, leaf.position[1] * scale)
            for leaf in leaves
            if leaf.position is not None
        }
    return positions


def _ring_places(
    names: Sequence[str], rooms: Sequence[float], least: float
) -> tuple[dict[str, Point], float]:
    """Return positions on a circle around (0, 0), clockwise from the top, and the radius of the circle.

    `rooms` are the widths of the nodes, `least` is the least radius; a single node is at (0, 0).
    """
    whole = sum(rooms)
    radius = max(least, whole / (2 * pi)) if len(names) > 1 else 0.0
    positions = {}
    before = 0.0
    for name, room in zip(names, rooms, strict=True):
        angle = 2 * pi * (before + room / 2 - rooms[0] / 2) / whole - pi / 2
        positions[name] = (radius * cos(angle), radius * sin(angle))
        before += room
    return positions, radius


def _circle(shape: _Graph) -> dict[str, Point]:
    names = [node.name for node in shape.core]
    if len(names) == 1 and len(shape.leaves[names[0]]) > _FEW // 2:
        leaves = [leaf.name for leaf in shape.leaves[names[0]]]
        return {names[0]: (0.0, 0.0), **_ring_places(leaves, [0.7] * len(leaves), 1.0)[0]}
    positions, _ = _ring_places(names, [shape.room(name) for name in names], 1.0)
    return _with_leaves(shape, positions, {name: atan2(y, x) for name, (x, y) in positions.items()})


def _grouped(shape: _Graph) -> dict[str, Point]:
    members: dict[str, list[str]] = {}
    for node in shape.core:
        members.setdefault(node.group, []).append(node.name)
    inside, reach = {}, []
    for group, names in members.items():
        inside[group], radius = _ring_places(names, [shape.room(name) for name in names], 0.7)
        # The box of a group is wider than the circle of its nodes.
        reach.append(_SQUARE * (radius + max(map(shape.depth, names)) + _BOX) + _GROUP_GAP)
    centres, _ = _ring_places(list(members), reach, max(reach) / 2)
    positions: dict[str, Point] = {}
    angles: dict[str, float] = {}
    for group, spots in inside.items():
        left, top = centres[group]
        for name, (x, y) in spots.items():
            positions[name] = (left + x, top + y)
            # The leaves of a group with a single node are outside the circle of groups.
            angles[name] = atan2(y, x) if hypot(x, y) > 0 else atan2(top, left)
    return _with_leaves(shape, positions, angles)


def _boxes(shape: _Graph, positions: Mapping[str, Point]) -> tuple[Group, ...]:
    """Return a box around the nodes and leaves of each named group."""
    members: dict[str, list[str]] = {}
    for node in shape.core:
        own = [leaf.name for leaf in shape.leaves[node.name]]
        if node.group:
            members.setdefault(node.group, []).extend([node.name, *own])
    boxes = []
    for label, names in members.items():
        xs, ys = zip(*(positions[name] for name in names), strict=True)
        corner = (min(xs) - _BOX, min(ys) - _BOX)
        size = (max(xs) - min(xs) + 2 * _BOX, max(ys) - min(ys) + 2 * _BOX)
        boxes.append(Group("group", label, corner, size, tuple(names)))
    return tuple(boxes)


def _levels(shape: _Graph) -> list[list[Node]]:
    """Return the nodes of each level, from the lowest level upwards; empty if the graph has no levels."""
    import networkx as nx

    by_tier: dict[int, list[Node]] = {}
    for node in shape.core:
        by_tier.setdefault(node.tier, []).append(node)
    if len([tier for tier in by_tier if tier]) > 1:
        return [by_tier[tier] for tier in sorted(by_tier)]
    if len(shape.core) > 2 and nx.is_tree(shape.graph):
        root = min(nx.center(shape.graph))
        depth = nx.single_source_shortest_path_length(shape.graph, root)
        if max(depth.values()) == len(shape.core) // 2 and max(dict(shape.graph.degree()).values()) < 3:
            return [list(shape.core)]  # a chain is drawn as a row
        height = max(depth.values())
        return [
            [node for node in shape.core if depth[node.name] == height - row] for row in range(height + 1)
        ]
    return []


def _is_round(shape: _Graph) -> bool:
    import networkx as nx

    graph = shape.graph
    degrees = [degree for _, degree in graph.degree()]
    if len(shape.core) < 4 or len(shape.core) > _MOST_SPRINGS or max(degrees) == min(degrees) == 2:
        return True
    return median(degrees) > 2 and nx.is_connected(graph) and nx.diameter(graph) <= _FEW_HOPS


def _springs(shape: _Graph) -> dict[str, Point]:
    import networkx as nx

    spots = nx.kamada_kawai_layout(shape.graph)
    lengths = [dist(spots[a], spots[b]) for a, b in shape.graph.edges]
    nearest = [min(dist(spots[a], spots[b]) for b in spots if b != a) for a in spots]
    room = max(shape.room(node.name) + shape.depth(node.name) for node in shape.core)
    wanted = max(1.3, room)
    scale = max(wanted / median(lengths), min(1.0 / min(nearest), sqrt(len(spots)) * 3))
    drawn: dict[str, Point] = {}
    # Results differ slightly between machines; scale up until leaves of different nodes do not overlap.
    for wider in (1.0, 1.25, 1.6, 2.0, 2.5):
        drawn = _spread(
            shape,
            {name: (float(x) * scale * wider, float(y) * scale * wider) for name, (x, y) in spots.items()},
        )
        if _least_distance(drawn) >= _APART:
            break
    return drawn


def _spread(shape: _Graph, positions: Mapping[str, Point]) -> dict[str, Point]:
    """Return the positions of all nodes; leaves are on the side away from the neighbours of their node."""
    angles = {}
    for name, (x, y) in positions.items():
        others = [positions[other] for other in shape.graph[name]]
        middle = [sum(at) / len(others) for at in zip(*others, strict=True)] if others else [x, y + 1]
        angles[name] = atan2(y - middle[1], x - middle[0])
    return _with_leaves(shape, {name: _rounded(position) for name, position in positions.items()}, angles)


def _least_distance(positions: Mapping[str, Point]) -> float:
    spots = sorted(positions.values())
    return min((dist(a, b) for at, a in enumerate(spots) for b in spots[:at]), default=_APART)


def _rounded(position: Point) -> Point:
    """Return a position rounded to 3 digits, for equal results on all machines."""
    return round(position[0], 3), round(position[1], 3)
