# SPDX-License-Identifier: Apache-2.0
"""Permitted paths from one node to all other nodes, for messages of the control plane."""

from collections.abc import Callable, Mapping

from controller.deadlock.turn_rules import HOST, Direction, RuleSet
from controller.paths.finder import PathFinder
from controller.plan.entry import Path

__all__ = ["permitted_tree"]


def permitted_tree(
    finder: PathFinder,
    rules: RuleSet,
    source: str,
    most_hops: int,
    may_relay: Callable[[str], bool],
    avoid: str | None = None,
) -> Mapping[str, Path]:
    """Return, by node, a permitted path of fewest hops from the source; the first in the order of ports.

    Args:
        finder: Finder over the links that work.
        rules: Turn rules that every path obeys.
        source: First node of all paths.
        most_hops: Hops of the longest path.
        may_relay: Returns whether a node forwards frames of other nodes.
        avoid: A node that no path visits.
    """
    fabric = finder.fabric
    paths: dict[str, Path] = {source: (source,)}
    states: set[tuple[str, Direction, int]] = set()
    layer: list[tuple[Path, Direction, int]] = [((source,), HOST, 0)]
    for _ in range(most_hops):
        following: list[tuple[Path, Direction, int]] = []
        for path, arriving, vl in layer:
            node = path[-1]
            if node != source and not may_relay(node):
                continue
            for neighbour in finder.neighbours(node):
                leaving = rules.direction(fabric, node, neighbour)
                next_vl = rules.next_vl(arriving, leaving, vl)
                if next_vl is None or neighbour == avoid or neighbour in path:
                    continue
                state = neighbour, leaving, next_vl
                if state not in states:
                    states.add(state)
                    following.append(((*path, neighbour), leaving, next_vl))
                    paths.setdefault(neighbour, following[-1][0])
        layer = following
    return paths
