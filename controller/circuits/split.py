# SPDX-License-Identifier: Apache-2.0
"""Split a symmetric demand, C = A + A.T: choose which Pod of each circuit uses its even port.

Under cross wiring a circuit joins an even port to an odd port. Pod i has A[i, j] circuits to Pod j at its
even ports and A[j, i] at its odd ports (LumosCore's symmetric integer matrix decomposition).
"""

import numpy as np

from controller.circuits.entries import Entries
from controller.circuits.flow import Ints, Items, Nodes, minimise_cost, sharing_cost

__all__ = ["orient", "symmetric_split"]


def symmetric_split(demand: Ints) -> Ints:
    """Return A with C = A + A.T for a symmetric C, (N, N), with a zero diagonal.

    Entries, row sums and column sums of A are half of those of C, rounded up or down. First, each direction
    gets half of each entry, rounded down. One circuit of each odd entry remains; these circuits are the edges
    of a simple graph. An extra node, joined to all nodes of odd degree, makes the edges a set of closed
    trails. Each trail is oriented as a cycle, so every node has as many edges out as in. The time is O(N**2).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    demand = np.asarray(demand)
    n = len(demand)
    half = demand // 2
    low, high = np.nonzero(np.triu(demand & 1))
    odd = np.flatnonzero(np.bincount(np.concatenate((low, high)), minlength=n) & 1)
    tail, head = np.concatenate((low, odd)), np.concatenate((high, np.full(len(odd), n)))
    if not len(tail):
        return half
    # Ends of edges: the tail of edge e is 2 e, its head 2 e + 1. The ends at each node are paired in order.
    order = np.argsort(np.stack((tail, head), 1).ravel(), kind="stable")
    partner = np.empty(len(order), np.int64)
    partner[order[0::2]], partner[order[1::2]] = order[1::2], order[0::2]
    # Link each end to the partner of its edge's other end. A trail becomes two cycles, one in each direction.
    ends = np.arange(len(order))
    links = coo_array((np.ones(len(ends), np.int8), (ends, partner[ends ^ 1])), shape=(len(ends),) * 2)
    circle = connected_components(links, directed=False)[1]
    forward = (circle[0::2] < circle[1::2])[: len(low)]
    half[np.where(forward, low, high), np.where(forward, high, low)] += 1
    return half


def orient(demands: Ints, first: Ints, each: Ints, standing: Entries) -> Ints:
    """Return A with C = A + A.T for each C of `demands`, (blocks, N, N), keeping the most standing circuits.

    Block b has the slots `first[b]` to `first[b] + each[b] - 1` of `standing`. Row and column sums of A are
    at most `each[b]`; row sums of C must be at most `2 * each[b]`. Entries of A may differ much from half of
    C, because a circuit serves both directions.
    """
    blocks, n, _ = demands.shape
    block, low, high = np.nonzero(np.triu(demands))
    a = demands[block, low, high]
    of = np.searchsorted(first, standing.block, "right") - 1
    stands = np.bincount(standing.key(n, of), minlength=demands.size).reshape(demands.shape)
    u0, u1 = stands[block, low, high], stands[block, high, low]
    points, slopes = sharing_cost(a, np.zeros_like(a), a, u0, u1)
    # Since A[high, low] = a - x, the row sum of A at a node is the sum in `minimise_cost` plus `left_out`.
    rows, left_out = demands.sum(axis=2), np.tril(demands).sum(axis=2)
    nodes = Nodes(
        (rows - each[:, None] - left_out).ravel(),
        (each[:, None] - left_out).ravel(),
        np.repeat(np.arange(blocks), n),
    )
    x = minimise_cost(
        Items(points, slopes, block * n + low, block * n + high), nodes, (a + (np.arange(len(a)) & 1)) // 2
    )
    oriented = np.zeros_like(demands)
    oriented[block, low, high], oriented[block, high, low] = x, a - x
    return oriented
