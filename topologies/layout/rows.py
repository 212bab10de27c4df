# SPDX-License-Identifier: Apache-2.0
"""Positions of nodes in levels: a row for each level, endpoints in blocks below their switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING

from topologies.layout.values import Point
from topologies.model.fabric import Node

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["rows_of"]

# Distance between endpoints of a block, and space between blocks.
_CLOSE, _GAP = 0.55, 0.5
# Largest number of endpoints of a switch that make a single row.
_ONE_ROW = 4
# A level narrower than this share of the width is spread over the whole width.
_NARROW = 0.5
# Distance between levels: least, largest, and growth with the width, so that links do not become flat.
_LEAST_STEP, _MOST_STEP, _SLOPE = 1.6, 14.0, 0.12


def rows_of(
    levels: Sequence[Sequence[Node]], graph: nx.Graph, leaves: Mapping[str, Sequence[Node]]
) -> dict[str, Point]:
    """Return the position of each node.

    Args:
        levels: nodes of each row, from the lowest row upwards.
        graph: graph of the nodes of all rows.
        leaves: endpoints below each node, by name of the node.
    """
    positions: dict[str, Point] = {}
    xs: dict[str, float] = {}
    for number, level in enumerate(levels):
        names = [node.name for node in level]
        rooms = [_width(len(leaves[name])) for name in names]
        middles = [_middle(graph, name, xs) for name in names]
        # All middles of the lowest level are 0, so this level keeps the order of the fabric.
        order = sorted(range(len(names)), key=lambda at: (middles[at], at))
        wanted = [middles[at] for at in order]
        low, high = min(xs.values(), default=0.0), max(xs.values(), default=0.0)
        if number and max(middles) - min(middles) < _NARROW * (high - low):
            # The nodes have similar neighbours below: spread them over the whole width.
            wanted = [low + (high - low) * (at + 0.5) / len(names) for at in range(len(names))]
        row = _apart(wanted, [rooms[at] for at in order])
        xs.update({names[at]: x for at, x in zip(order, row, strict=True)})
    width = max(xs.values()) - min(xs.values())
    step = min(_MOST_STEP, max(_LEAST_STEP, _SLOPE * width))
    for number, level in enumerate(levels):
        for node in level:
            positions[node.name] = (xs[node.name], -step * number)
    for name, own in leaves.items():
        x, y = positions[name]
        columns = _columns(len(own))
        for at, leaf in enumerate(own):
            row, column = divmod(at, columns)
            in_row = min(columns, len(own) - row * columns)
            # Every second row is shifted, so that links to it pass between the nodes of the row above.
            left = x - (in_row - 1) / 2 * _CLOSE + (_CLOSE / 2 if row % 2 and in_row == columns else 0.0)
            positions[leaf.name] = (left + column * _CLOSE, y + 1.0 + row * _CLOSE)
    return positions


def _columns(leaves: int) -> int:
    return max(1, leaves if leaves <= _ONE_ROW else ceil(sqrt(2 * leaves)))


def _width(leaves: int) -> float:
    return max(1.0, _CLOSE * _columns(leaves) + _GAP)


def _middle(graph: nx.Graph, name: str, xs: Mapping[str, float]) -> float:
    """Return the mean x of the neighbours with known x; 0 without such neighbours."""
    below = [xs[other] for other in graph[name] if other in xs]
    return sum(below) / len(below) if below else 0.0


def _apart(middles: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """Return positions close to `middles` and in their order, spaced so that each node has its room."""
    row: list[float] = []
    for at, middle in enumerate(middles):
        least = row[-1] + (rooms[at - 1] + rooms[at]) / 2 if row else middle
        row.append(max(middle, least))
    shift = sum(middles) / len(middles) - sum(row) / len(row)
    return [x + shift for x in row]
