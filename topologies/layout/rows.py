# SPDX-License-Identifier: Apache-2.0
"""Positions of nodes in levels: a row for each, endpoints in blocks below the switches that they lead to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING

from topologies.layout.values import Point
from topologies.model.fabric import Node

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["rows_of"]

# Distance of two endpoints of a block, and space between two blocks.
_CLOSE, _GAP = 0.55, 0.5
# Endpoints of a switch that stand side by side.
_ONE_ROW = 4
# Part of the width below which a level is spread over the whole width.
_NARROW = 0.5
# Distance of two levels; it grows with the width, so that links do not become flat.
_LEAST_STEP, _MOST_STEP, _SLOPE = 1.6, 14.0, 0.12


def rows_of(
    levels: Sequence[Sequence[Node]], graph: nx.Graph, leaves: Mapping[str, Sequence[Node]]
) -> dict[str, Point]:
    """Return the position of each node; `levels` are rows from below upwards, `leaves` those of a node."""
    places: dict[str, Point] = {}
    xs: dict[str, float] = {}
    for number, level in enumerate(levels):
        names = [node.name for node in level]
        rooms = [_width(len(leaves[name])) for name in names]
        middles = [_middle(graph, name, xs) for name in names]
        # The lowest level keeps the order of the fabric: its middles are all 0.
        order = sorted(range(len(names)), key=lambda at: (middles[at], at))
        wanted = [middles[at] for at in order]
        low, high = min(xs.values(), default=0.0), max(xs.values(), default=0.0)
        if number and max(middles) - min(middles) < _NARROW * (high - low):
            # Much the same neighbours below: spread over the whole width.
            wanted = [low + (high - low) * (at + 0.5) / len(names) for at in range(len(names))]
        row = _apart(wanted, [rooms[at] for at in order])
        xs.update({names[at]: x for at, x in zip(order, row, strict=True)})
    width = max(xs.values()) - min(xs.values())
    step = min(_MOST_STEP, max(_LEAST_STEP, _SLOPE * width))
    for number, level in enumerate(levels):
        for node in level:
            places[node.name] = (xs[node.name], -step * number)
    for name, own in leaves.items():
        x, y = places[name]
        columns = _columns(len(own))
        for at, leaf in enumerate(own):
            row, column = divmod(at, columns)
            in_row = min(columns, len(own) - row * columns)
            # Every second row is shifted, so that links to it pass between the nodes of the row above.
            left = x - (in_row - 1) / 2 * _CLOSE + (_CLOSE / 2 if row % 2 and in_row == columns else 0.0)
            places[leaf.name] = (left + column * _CLOSE, y + 1.0 + row * _CLOSE)
    return places


def _columns(leaves: int) -> int:
    return max(1, leaves if leaves <= _ONE_ROW else ceil(sqrt(2 * leaves)))


def _width(leaves: int) -> float:
    return max(1.0, _CLOSE * _columns(leaves) + _GAP)


def _middle(graph: nx.Graph, name: str, xs: Mapping[str, float]) -> float:
    """Return the mean x of the neighbours that have one."""
    below = [xs[other] for other in graph[name] if other in xs]
    return sum(below) / len(below) if below else 0.0


def _apart(middles: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """Return positions near the wanted ones, in the same order, that leave each its room."""
    row: list[float] = []
    for at, middle in enumerate(middles):
        least = row[-1] + (rooms[at - 1] + rooms[at]) / 2 if row else middle
        row.append(max(middle, least))
    shift = sum(middles) / len(middles) - sum(row) / len(row)
    return [x + shift for x in row]
