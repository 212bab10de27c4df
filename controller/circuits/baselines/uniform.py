# SPDX-License-Identifier: Apache-2.0
"""Baseline: uniform wiring, where both directions of a port are on one optical switch.

Port k of every Pod is on switch k, so each switch holds a matching of Pods. K switches can realise a demand
if the edges of its multigraph can be coloured in K colours; some demands cannot be realised, and deciding
it is NP-complete (LumosCore). Example: three Pods with K/2 circuits between any two want 3 K / 2 circuits,
but K switches hold one circuit each: two thirds.
"""

from itertools import combinations
from typing import Any, Literal

import numpy as np

from controller.circuits.demand import check_demand
from controller.circuits.flow import Ints
from controller.errors import PlanError

__all__ = ["allocate_uniform", "dual_link_maps"]

_EXACT_PODS = 8


def allocate_uniform(
    demand: Ints, ports: int, method: Literal["exact", "greedy"] | None = None, *, seconds: float = 60.0
) -> tuple[int, Ints]:
    """Return how many circuits of a demand, (N, N), `ports` switches realise, and their maps, (ports, N).

    `maps[k, i] = j` and `maps[k, j] = i` where switch k joins Pods i and j; -1 is dark. The method `exact`
    finds the most circuits by integer program; PlanError after `seconds`. `greedy` gives each switch a
    matching of maximum weight; Pods with more unmet demand weigh more. The default is `exact` up to 8 Pods.
    """
    check_demand(demand, ports)
    demand = np.asarray(demand, np.int64)
    if method is None:
        method = "exact" if len(demand) <= _EXACT_PODS else "greedy"
    maps = np.full((ports, len(demand)), -1)
    matched = (
        _most_circuits(demand, ports, seconds) if method == "exact" else _greedy_matchings(demand, ports)
    )
    for k, i, j in matched:
        maps[k, i], maps[k, j] = j, i
    return len(matched), maps


def dual_link_maps(maps: Ints) -> Ints:
    """Return maps, (pairs, 2 P), of the circuits when both ports of a pair are on one optical switch.

    Port 2 i of such a switch is the even port of Pod i, port 2 i + 1 its odd port. Circuits join even to odd
    ports, so every demand can be realised, but a switch of P ports serves only P / 2 Pods. The scheme is
    recalled from LumosCore's paper, unverified.
    """
    pairs, n = maps.shape
    joined = np.full((pairs, 2 * n), -1)
    k, i = np.nonzero(maps >= 0)
    j = maps[k, i]
    joined[k, 2 * i], joined[k, 2 * j + 1] = 2 * j + 1, 2 * i
    return joined


def _greedy_matchings(demand: Ints, ports: int) -> list[tuple[int, int, int]]:
    import networkx as nx

    left = demand.copy()
    matched = []
    for k in range(ports):
        graph = nx.Graph()
        wants = left.sum(axis=1)
        for i, j in np.argwhere(np.triu(left)).tolist():
            graph.add_edge(i, j, weight=int(wants[i] + wants[j]))
        for i, j in nx.max_weight_matching(graph):
            left[i, j] -= 1
            left[j, i] -= 1
            matched.append((k, i, j))
    return matched


def _most_circuits(demand: Ints, ports: int, seconds: float) -> list[tuple[int, int, int]]:
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    n = len(demand)
    low, high = np.nonzero(np.triu(demand))
    edges = len(low)
    if not edges:
        return []
    # Bounds of a switch's matching: one circuit a Pod, one among any three Pods, two among any five.
    held = [((low == pod) | (high == pod), 1) for pod in range(n)]
    for size in (3, 5):
        held += [
            (np.isin(low, some) & np.isin(high, some), size // 2) for some in combinations(range(n), size)
        ]
    rows, rooms = np.array([inside for inside, _ in held]), np.array([room for _, room in held])
    row, edge = np.nonzero(rows)
    k = np.arange(ports)[:, None]
    total = len(held) * ports + np.tile(np.arange(edges), ports)
    matrix = coo_array(
        (
            np.ones(ports * (len(row) + edges)),
            (
                np.concatenate(((k * len(held) + row).ravel(), total)),
                np.concatenate(((k * edges + edge).ravel(), np.arange(ports * edges))),
            ),
        ),
        shape=(len(held) * ports + edges, ports * edges),
    )
    most: Any = np.concatenate((np.tile(rooms, ports), demand[low, high]))
    result = milp(
        -np.ones(ports * edges),
        integrality=np.ones(ports * edges),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix.tocsr(), ub=most),
        options={"time_limit": seconds},
    )
    if result.status != 0:
        raise PlanError(
            f"how many circuits {ports} switches of uniform wiring hold is not proven after {seconds:g} s",
            remedy="allow more seconds, or use the method greedy",
        )
    return [
        (int(u // edges), int(low[u % edges]), int(high[u % edges])) for u in np.flatnonzero(result.x > 0.5)
    ]
