# SPDX-License-Identifier: Apache-2.0
"""Baseline: uniform wiring, where both directions of a port are on one optical switch.

Port k of every Pod is on switch k, so each switch holds a matching of Pods. K switches can realise a demand
exactly if the edges of its multigraph can be coloured with K colours. Some demands cannot be realised, and
deciding whether a demand can be is NP-complete (LumosCore). Example: three Pods with K / 2 circuits between
any two want 3 K / 2 circuits. Each of the K switches holds only one circuit, so two thirds are realised.
"""

from itertools import combinations
from typing import Any, Literal

import numpy as np

from controller.circuits.demand import check_demand
from controller.circuits.flow import Ints
from controller.errors import PlanError

__all__ = ["allocate_uniform"]

_EXACT_PODS = 8


def allocate_uniform(
    demand: Ints, ports: int, method: Literal["exact", "greedy"] | None = None, *, seconds: float = 60.0
) -> tuple[int, Ints]:
    """Return how many circuits of a demand the switches realise, and the maps of the switches, (ports, N).

    If switch k joins Pods i and j, `maps[k, i] = j` and `maps[k, j] = i`; -1 is dark. PlanError if `exact`
    takes longer than `seconds`.

    Args:
        demand: Number of circuits between Pods, (N, N).
        ports: Number of ports of a Pod, which is also the number of switches.
        method: `exact` finds the most circuits by integer program. `greedy` gives each switch in turn a
            matching of maximum weight, in which Pods with more unmet demand weigh more. The default is
            `exact` up to 8 Pods and `greedy` above.
        seconds: Time limit of `exact`.
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
    # The circuits of an optical switch are a matching of Pods: at most one at a Pod, one among any three
    # Pods, and two among any five Pods.
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
        options={"mip_rel_gap": 0, "time_limit": seconds},
    )
    if result.status != 0:
        raise PlanError(
            f"the solver proved no optimum for {ports} switches of uniform wiring within {seconds:g} s",
            remedy="allow more seconds, or use the method greedy",
        )
    return [
        (int(u // edges), int(low[u % edges]), int(high[u % edges])) for u in np.flatnonzero(result.x > 0.5)
    ]
