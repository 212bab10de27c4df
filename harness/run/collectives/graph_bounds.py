# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of a collective's time on any graph: cuts, hops of traffic, maximum concurrent flow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulation.traffic.collectives.declaration import Cut
from emulation.traffic.collectives.registry import find
from harness.scenario.schema import Collective
from topologies import Fabric
from topologies.model.cuts import halvings, rate_between

__all__ = ["CONCURRENT_FLOW", "CUTS", "HOPS", "graph_bounds"]

CUTS = "bytes that cross a cut, over its rate; the largest over parts of several orders of the members"
HOPS = "bytes of all pairs times hops of their shortest paths, over the rates of all links"
CONCURRENT_FLOW = "maximum concurrent flow of all pairs, over all paths: a linear program"

_PS_PER_SECOND = 10**12
# Largest number of variables of the linear program, one for each source and direction of a link.
_MAX_VARIABLES = 8000


def graph_bounds(fabric: Fabric, members: Sequence[str], collective: Collective) -> dict[str, float]:
    """Return lower bounds of a collective's time on any graph, in ps, by a description of each.

    A bound is left out if the collective does not declare the bytes that it needs, or if its linear program
    would be too large.
    """
    kind = find(collective.kind)
    bounds: dict[str, float] = {}
    if kind.crossing_bytes is not None:
        bounds[CUTS] = max(_cut_ps(fabric, members, collective), default=0.0)
    if kind.pair_bytes is not None:
        each = kind.pair_bytes(len(members), collective.data_bytes)
        bounds[HOPS] = _hops_ps(fabric, members, each)
        if len(members) * 2 * len(fabric.links) <= _MAX_VARIABLES:
            bounds[CONCURRENT_FLOW] = _concurrent_flow_ps(fabric, members, each)
    return bounds


def _cut_ps(fabric: Fabric, members: Sequence[str], collective: Collective) -> list[float]:
    kind, inside = find(collective.kind), set(members)
    assert kind.crossing_bytes is not None
    root = members[collective.root] if collective.root < len(members) else members[0]
    times: list[float] = []
    for part, rest in halvings(fabric):
        sides = [name for name in part if name in inside], [name for name in rest if name in inside]
        if not all(sides):
            continue
        rate = rate_between(fabric, *sides)
        for here, there in (sides, sides[::-1]):
            cut = Cut(len(here), len(there), collective.data_bytes, root in here)
            times.append(kind.crossing_bytes(cut) * 8 * _PS_PER_SECOND / rate)
    return times


def _hops_ps(fabric: Fabric, members: Sequence[str], each: float) -> float:
    import networkx as nx

    graph, inside = fabric.graph(), set(members)
    hops = sum(
        length
        for name in members
        for other, length in nx.single_source_shortest_path_length(graph, name).items()
        if other in inside
    )
    return hops * each * 8 * _PS_PER_SECOND / (2 * sum(link.rate_bps for link in fabric.links))


def _concurrent_flow_ps(fabric: Fabric, members: Sequence[str], each: float) -> float:
    """Return the least time in ps in which all pairs can send `each` bytes, split over any paths.

    The variables of the linear program are the flow of each source over each direction of each link, and the
    time. The flow of a source delivers `each` bytes to every other member.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    number = {node.name: at for at, node in enumerate(fabric.nodes)}
    arcs = [
        (number[a], number[b], link.rate_bps)
        for link in fabric.links
        for a, b in ((link.a.node, link.b.node), (link.b.node, link.a.node))
    ]
    fastest = max(rate for *_, rate in arcs)
    sources, nodes, columns = len(members), len(number), len(members) * len(arcs) + 1
    rows, columns_of, values = [], [], []
    left = np.zeros(sources * nodes)
    for at, source in enumerate(members):
        for name in members:
            left[at * nodes + number[name]] = 1.0 if name != source else -(sources - 1.0)
        for arc, (tail, head, _) in enumerate(arcs):
            rows += [at * nodes + head, at * nodes + tail]
            columns_of += [at * len(arcs) + arc] * 2
            values += [1.0, -1.0]
    balance = coo_array((values, (rows, columns_of)), shape=(sources * nodes, columns)).tocsr()
    loads = [(arc, at * len(arcs) + arc, 1.0) for at in range(sources) for arc in range(len(arcs))]
    loads += [(arc, columns - 1, -rate / fastest) for arc, (*_, rate) in enumerate(arcs)]
    row, column, value = zip(*loads, strict=True)
    limits = coo_array((value, (row, column)), shape=(len(arcs), columns)).tocsr()
    cost = np.zeros(columns)
    cost[-1] = 1.0
    solved = linprog(cost, limits, np.zeros(len(arcs)), balance, left, method="highs")
    # If a fabric does not join all members, there is no solution, and this bound is 0; the plan says why.
    return solved.fun * each * 8 * _PS_PER_SECOND / fastest if solved.status == 0 else 0.0
