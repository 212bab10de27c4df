# SPDX-License-Identifier: Apache-2.0
"""Next hops of all nodes to a destination, for tables keyed by destination only."""

from collections import deque
from collections.abc import Mapping

from controller.deadlock.ranks import ranks, relays
from controller.paths.finder import PathFinder
from controller.plan.entry import Path
from topologies.model.computed_once import computed_once

__all__ = ["next_hops", "path_by_tables"]


@computed_once
def next_hops(finder: PathFinder, destination: str) -> Mapping[str, str]:
    """Return the next hop to a destination, by node, along up*/down* routes.

    A node from which down hops alone lead to the destination takes the fewest down hops. Every other node
    goes up, by the fewest hops. So a frame that follows next hops makes no valley, wherever it starts. After
    failures a node may have no such route: it goes down to a node with such a route, or up to a node that
    goes down in this way. Its frames then make one valley.
    """
    fabric, rank = finder.fabric, ranks(finder.fabric)
    relaying = relays(fabric)
    # `turn` chooses among equal next hops. Hosts whose only neighbour is the same switch have an equal turn.
    # So other nodes send to all of them by the same next hop, and tables share blocks.
    neighbours = list(finder.neighbours(destination))
    turn = fabric.node(neighbours[0] if len(neighbours) == 1 else destination).index

    def may_relay(name: str) -> bool:
        return name == destination or relaying or fabric.node(name).is_switch

    # Number of down hops to the destination, searched upwards from the destination.
    hops = {destination: 0}
    edge = deque([destination])
    while edge:
        name = edge.popleft()
        if not may_relay(name):
            continue
        for neighbour in finder.neighbours(name):
            if rank[neighbour] > rank[name] and neighbour not in hops:
                hops[neighbour] = hops[name] + 1
                edge.append(neighbour)
    result: dict[str, str] = {}
    for name in hops:
        lower = [
            other
            for other in finder.neighbours(name)
            if rank[other] < rank[name] and hops.get(other) == hops[name] - 1 and may_relay(other)
        ]
        if lower:
            result[name] = lower[turn % len(lower)]
    # Up hops lead to nodes of higher rank, so nodes are visited in falling rank: the hops of each next node
    # are then known. For down hops, nodes are visited in rising rank.
    falling = sorted(rank, key=rank.__getitem__, reverse=True)
    for up, order in ((True, falling), (False, falling[::-1]), (True, falling)):
        for name in order:
            if name in hops:
                continue
            nearer = [
                other
                for other in finder.neighbours(name)
                if (rank[other] > rank[name]) == up and other in hops and may_relay(other)
            ]
            if nearer:
                hops[name] = 1 + min(hops[other] for other in nearer)
                nearest = [other for other in nearer if hops[other] == hops[name] - 1]
                result[name] = nearest[turn % len(nearest)]
    return result


def path_by_tables(finder: PathFinder, source: str, destination: str) -> Path | None:
    """Return the path along next hops from a source; None if it does not reach the destination."""
    following = next_hops(finder, destination)
    path = [source]
    while path[-1] != destination:
        if path[-1] not in following:
            return None
        path.append(following[path[-1]])
    return tuple(path)
