# SPDX-License-Identifier: Apache-2.0
"""Connected components of nodes, by name.

This module uses neither networkx nor scipy: importing either takes longer than all checks of a small fabric.
"""

from collections.abc import Iterable

__all__ = ["components"]


def components(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the connected components of a graph, in the order of their first nodes."""
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
        for node in part:  # the loop appends to `part`
            new = [other for other in dict.fromkeys(neighbours[node]) if other not in reached]
            reached.update(new)
            part += new
        parts.append(part)
    return parts
