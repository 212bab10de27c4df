# SPDX-License-Identifier: Apache-2.0
"""Turn rules of any graph: ranks of its nodes decide whether a hop goes up or down.

Ranks follow up*/down* routing (Schroeder et al., Autonet, 1991): a node nearer to a root has a higher rank.
So every node except the root has a neighbour of higher rank. A fabric with switches may also be ranked by
tier.

Of several rankings, the ranking with the shortest detours is used: the fewest hops beyond shortest paths on
two lanes. Ties go to the fewest such hops on one lane.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.turn_rules import RULE_NAMES, Direction, RuleSet, VlIncrement
from controller.errors import PlanError
from topologies import Fabric
from topologies.model.columns import columns
from topologies.model.computed_once import computed_once

__all__ = ["Adjacency", "RankOrder", "adjacency", "ranked_rules", "ranks", "relays", "steps_to"]

# Group of all hops of a graph.
_GROUP = 1

# Number of roots to try, and number of destinations sampled for the cost of a ranking.
_ROOTS = 6
_SAMPLE = 16
# Largest number of nodes of a graph for which several rankings are compared; a larger
# graph takes the first ranking.
_MAX_COMPARED = 400

Adjacency = Sequence[Sequence[tuple[int, bool]]]
"""Neighbours of each node by node index: (neighbour's index, whether the hop goes up), in port order."""


@final
@dataclass(frozen=True, slots=True)
class RankOrder:
    """`HopOrder` by the ranks of nodes: all hops are in one group; a hop to a higher rank goes up."""

    @property
    def numbers(self) -> tuple[int, ...]:
        return (_GROUP,)

    @property
    def meshes(self) -> frozenset[int]:
        return frozenset({_GROUP})

    @property
    def widest_mesh(self) -> int:
        """Zero, as the graph has no dimensions."""
        return 0

    def direction(self, fabric: Fabric, node: str, neighbour: str) -> Direction:
        rank = ranks(fabric)
        return Direction(_GROUP, rank[neighbour] > rank[node])

    def directions(self, fabric: Fabric) -> NDArray[np.int32]:
        hops, rank = columns(fabric), ranks(fabric)
        height = np.array([rank[name] for name in hops.names])
        return 2 * _GROUP + (height[hops.heads] > height[hops.tails]).astype(np.int32)


def ranked_rules(name: str, fabric: Fabric) -> RuleSet:
    """Return the named rules on a graph; PlanError if the rules are unknown or need dimensions."""
    known = {
        "T2-G": (2, VlIncrement.VALLEY),
        "T2-V": (2, VlIncrement.VALLEY),
        "T1-UD": (1, VlIncrement.VALLEY),
        "single-vl": (1, VlIncrement.FREE),
    }
    if name not in known:
        words = "do not exist" if name not in RULE_NAMES else "need dimensions"
        raise PlanError(
            f"rules {name} {words}; {fabric.name} is routed as a graph", remedy=f"use {', '.join(known)}"
        )
    return RuleSet(name, *known[name], RankOrder())


@computed_once
def ranks(fabric: Fabric) -> Mapping[str, int]:
    """Return the rank of every node, by name; ranks are distinct."""
    best: tuple[tuple[float, float], dict[str, int]] | None = None
    for rank in _rankings(fabric):
        if len(fabric.nodes) > _MAX_COMPARED:
            return rank
        cost = _cost(fabric, rank)
        if best is None or cost < best[0]:
            best = cost, rank
        if not best[0][0]:
            break
    return best[1] if best else {}


@computed_once
def relays(fabric: Fabric) -> bool:
    """Return whether endpoints forward frames of other nodes.

    Endpoints forward if a link joins two endpoints, or if paths through switches alone do not connect all
    endpoints. Otherwise, endpoints are hosts that only send and receive.
    """
    import networkx as nx

    switches = {node.name for node in fabric.switches}
    ends = [(link.a.node, link.b.node) for link in fabric.links]
    if any(switches.isdisjoint(pair) for pair in ends):
        return True
    graph = nx.Graph()
    graph.add_nodes_from(switches)
    graph.add_edges_from(pair for pair in ends if switches.issuperset(pair))
    part = {name: number for number, names in enumerate(nx.connected_components(graph)) for name in names}
    reached = [{part[neighbour] for neighbour in fabric.neighbours(node.name)} for node in fabric.endpoints]
    return bool(reached) and not set.intersection(*reached)


def adjacency(fabric: Fabric, rank: Mapping[str, int]) -> Adjacency:
    """Return the neighbours of every node, failed links included."""
    number = {node.name: at for at, node in enumerate(fabric.nodes)}
    return [
        [(number[neighbour], rank[neighbour] > rank[node.name]) for neighbour in fabric.neighbours(node.name)]
        for node in fabric.nodes
    ]


def steps_to(
    graph: Adjacency, destination: int, lanes: int, transit: Sequence[bool], *, valleys: bool = True
) -> list[int]:
    """Return the fewest admitted hops to a destination from every state; -1 if no path is admitted.

    A state (node, falls, lane) has the number (node * 2 + falls) * lanes + lane: a frame is at `node` on
    `lane`, and its last hop went down if `falls` is 1. At its source, a frame is in the state (node, 0, 0).

    Args:
        graph: Neighbours of each node.
        destination: Index of the destination.
        lanes: Number of lanes.
        transit: Mask of the nodes that may forward frames.
        valleys: Whether each valley moves a frame to the next lane; otherwise frames stay on their lane.
    """
    steps = [-1] * (len(graph) * 2 * lanes)
    edge: deque[int] = deque()
    for state in range(destination * 2 * lanes, (destination + 1) * 2 * lanes):
        steps[state] = 0
        edge.append(state)
    while edge:
        state = edge.popleft()
        node, rest = divmod(state, 2 * lanes)
        falls, lane = divmod(rest, lanes)
        if steps[state] and not transit[node]:
            continue
        for neighbour, rises_back in graph[node]:
            up = not rises_back  # the hop from the neighbour to this node
            if valleys and up == bool(falls):
                continue
            for before in (0, 1):
                earlier = lane - (before and up) if valleys else lane
                at = (neighbour * 2 + before) * lanes + earlier
                if earlier >= 0 and steps[at] < 0:
                    steps[at] = steps[state] + 1
                    edge.append(at)
    return steps


def _rankings(fabric: Fabric) -> Iterator[dict[str, int]]:
    """Yield rankings: by tier if the fabric has switches, then by the distance from each of several roots."""
    names = [node.name for node in fabric.nodes]
    if not names:
        return
    roots = [names[at * len(names) // _ROOTS] for at in range(min(_ROOTS, len(names)))]
    if fabric.switches:
        yield _numbered(fabric, {node.name: node.tier for node in fabric.nodes})
        top = max(node.tier for node in fabric.nodes)
        roots = [node.name for node in fabric.nodes if node.tier == top][:_ROOTS]
    for root in dict.fromkeys(roots):
        depth = fabric.hops_from((root,))
        yield _numbered(fabric, {name: -depth.get(name, len(names)) for name in names})


def _numbered(fabric: Fabric, heights: Mapping[str, int]) -> dict[str, int]:
    """Return distinct ranks: a greater height has a higher rank; of equal heights, a lower index has."""
    order = sorted(fabric.nodes, key=lambda node: (heights[node.name], -node.index))
    return {node.name: number for number, node in enumerate(order)}


def _cost(fabric: Fabric, rank: Mapping[str, int]) -> tuple[float, float]:
    """Return the number of hops beyond shortest paths with two lanes, and with one lane.

    Both are sums over all sources and some sampled destinations; infinite if a pair has no admitted path.
    """
    graph = adjacency(fabric, rank)
    ends = [node.index for node in fabric.endpoints]
    transit = [node.is_switch or relays(fabric) for node in fabric.nodes]
    chosen = ends[:: max(1, len(ends) // _SAMPLE)]
    longer = [0.0, 0.0]
    for destination, lanes in product(chosen, (2, 1)):
        shortest = steps_to(graph, destination, 1, transit, valleys=False)
        steps = steps_to(graph, destination, lanes, transit)
        for source in ends:
            fewest, admitted = shortest[source * 2], steps[source * 2 * lanes]
            longer[lanes == 1] += (inf if admitted < 0 else admitted - fewest) if fewest > 0 else 0
    return longer[0], longer[1]
