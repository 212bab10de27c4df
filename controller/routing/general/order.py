# SPDX-License-Identifier: Apache-2.0
"""Ranks of the nodes of a graph, by which a hop goes up or down, and the nodes that may relay.

Ranks are those of up*/down* routing (Schroeder et al., Autonet, 1991): by the distance from a root, so that
every node but the root has a neighbour of higher rank. Fabrics with tiers may also be ranked by tier. Of
several rankings the first is taken under which the fewest pairs need a detour with two lanes.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import inf

from topologies import Fabric

__all__ = ["Adjacency", "adjacency", "is_graph", "ranks", "relays", "steps_to"]

# Roots that are tried, and destinations by which a ranking is judged.
_ROOTS = 6
_SAMPLE = 16
# Largest graph of which several rankings are compared.
_MAX_COMPARED = 400

Adjacency = Sequence[Sequence[tuple[int, bool]]]
"""Neighbours of each node by node index: (neighbour's index, whether the hop goes up), in port order."""


def is_graph(fabric: Fabric) -> bool:
    """Return whether routes of a fabric are searched in its graph, whatever its dimensions and tiers.

    True for fabrics that say so, and for endpoints along dimensions that are no full meshes, as in a torus.
    """
    return fabric.graph_routed or fabric.cached("sparse mesh", partial(_is_sparse_mesh, fabric))


def _is_sparse_mesh(fabric: Fabric) -> bool:
    if fabric.optical or any(node.tier for node in fabric.nodes):
        return False
    by_place = {node.coordinates: node.name for node in fabric.nodes}
    for place, name in by_place.items():
        neighbours = fabric.neighbours(name)
        for axis, size in enumerate(fabric.dims):
            line = (by_place.get((*place[:axis], at, *place[axis + 1 :])) for at in range(size))
            if any(other not in (None, name) and other not in neighbours for other in line):
                return True
    return False


def ranks(fabric: Fabric) -> Mapping[str, int]:
    """Return the rank of every node; no two nodes have the same."""
    return fabric.cached("ranks of nodes", partial(_best_ranks, fabric))


def relays(fabric: Fabric) -> bool:
    """Return whether endpoints pass on frames of others.

    They do where a link joins two of them, and where switches alone do not join them all. Otherwise they are
    hosts, which send and receive.
    """
    return fabric.cached("endpoints relay", partial(_endpoints_relay, fabric))


def _endpoints_relay(fabric: Fabric) -> bool:
    import networkx as nx

    switches = {node.name for node in fabric.nodes if node.tier}
    ends = [(link.a.node, link.b.node) for link in fabric.links]
    if any(switches.isdisjoint(pair) for pair in ends):
        return True
    graph = nx.Graph()
    graph.add_nodes_from(switches)
    graph.add_edges_from(pair for pair in ends if switches.issuperset(pair))
    part = {name: number for number, names in enumerate(nx.connected_components(graph)) for name in names}
    reached = [
        {part[neighbour] for neighbour in fabric.neighbours(node.name)}
        for node in fabric.nodes
        if not node.tier
    ]
    return bool(reached) and not set.intersection(*reached)


def adjacency(fabric: Fabric, rank: Mapping[str, int]) -> Adjacency:
    """Return the neighbours of every node of a fabric without failures."""
    number = {node.name: at for at, node in enumerate(fabric.nodes)}
    return [
        [(number[neighbour], rank[neighbour] > rank[node.name]) for neighbour in fabric.neighbours(node.name)]
        for node in fabric.nodes
    ]


def steps_to(
    graph: Adjacency, destination: int, lanes: int, transit: Sequence[bool], *, valleys: bool = True
) -> list[int]:
    """Return the fewest admitted hops to a destination from every state; -1 where no path is admitted.

    State (node * 2 + falls) * lanes + lane: a frame at `node` on `lane`, whose last hop went down if `falls`.
    A frame at its source is in the state (node, 0, 0). Without `valleys` no turn counts against the lanes.
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


def _best_ranks(fabric: Fabric) -> dict[str, int]:
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


def _rankings(fabric: Fabric) -> Iterator[dict[str, int]]:
    """Yield rankings by tier, if there are tiers, and by the distance from several roots."""
    names = [node.name for node in fabric.nodes]
    if not names:
        return
    roots = [names[at * len(names) // _ROOTS] for at in range(min(_ROOTS, len(names)))]
    if any(node.tier for node in fabric.nodes):
        yield _numbered(fabric, {node.name: node.tier for node in fabric.nodes})
        top = max(node.tier for node in fabric.nodes)
        roots = [node.name for node in fabric.nodes if node.tier == top][:_ROOTS]
    for root in dict.fromkeys(roots):
        depth = fabric.hops_from((root,))
        yield _numbered(fabric, {name: -depth.get(name, len(names)) for name in names})


def _numbered(fabric: Fabric, heights: Mapping[str, int]) -> dict[str, int]:
    """Return distinct ranks by height, then by index."""
    order = sorted(fabric.nodes, key=lambda node: (heights[node.name], -node.index))
    return {node.name: number for number, node in enumerate(order)}


def _cost(fabric: Fabric, rank: Mapping[str, int]) -> tuple[float, float]:
    """Return the hops beyond the shortest paths with two lanes and with one, over some destinations."""
    graph = adjacency(fabric, rank)
    ends = [at for at, node in enumerate(fabric.nodes) if not node.tier]
    transit = [bool(node.tier) or relays(fabric) for node in fabric.nodes]
    chosen = ends[:: max(1, len(ends) // _SAMPLE)]
    longer = [0.0, 0.0]
    for destination, lanes in product(chosen, (2, 1)):
        shortest = steps_to(graph, destination, 1, transit, valleys=False)
        steps = steps_to(graph, destination, lanes, transit)
        for source in ends:
            fewest, admitted = shortest[source * 2], steps[source * 2 * lanes]
            longer[lanes == 1] += (inf if admitted < 0 else admitted - fewest) if fewest > 0 else 0
    return longer[0], longer[1]
