# SPDX-License-Identifier: Apache-2.0
"""Connected components of nodes, by name or by number.

Not from networkx or scipy: importing either takes longer than all checks of a small fabric.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["component_numbers", "components"]


def components(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the sets of nodes that edges join, in the order of their first nodes."""
    neighbours: dict[str, list[str]] = {node: [] for node in nodes}
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    reached: set[str] = set()
    parts: list[list[str]] = []
    for start in neighbours:
        if start in reached:
            continue
        reached.add(start)
        part = [start]
        for node in part:  # grows while it is read
            new = [other for other in dict.fromkeys(neighbours[node]) if other not in reached]
            reached.update(new)
            part += new
        parts.append(part)
    return parts


def component_numbers(count: int, tails: NDArray[np.integer], heads: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return, by node, the least number of the nodes that edges join to it, in either direction."""
    least = np.arange(count)
    while True:
        nearer = least.copy()
        np.minimum.at(nearer, tails, least[heads])
        np.minimum.at(nearer, heads, least[tails])
        nearer = nearer[nearer]  # a node whose number is that of another node takes over that node's number
        if np.array_equal(nearer, least):
            return least
        least = nearer
