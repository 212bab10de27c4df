# SPDX-License-Identifier: Apache-2.0
"""Split of a symmetric demand into a matrix and its transpose: which end of each circuit gets the even port.

Under cross wiring a circuit joins an even port with an odd one, so that a Pod's circuits are A[i, j] from its
even ports and A[j, i] from its odd ones, C = A + A.T (LumosCore's symmetric integer matrix decomposition).
"""

import numpy as np

from controller.circuits.entries import Entries
from controller.circuits.flow import Ints, Items, Nodes, minimise_cost, sharing_cost

__all__ = ["orient", "symmetric_split"]


def symmetric_split(demand: Ints) -> Ints:
    """Return A of C = A + A.T for a symmetric C, (N, N), without diagonal.

    Entries, row sums and column sums of A are half of those of C, rounded up or down. Half of each entry goes
    both ways. What is odd makes a simple graph; with its odd nodes joined to one more its edges fall into
    closed trails, and going round each gives every node as many edges out as in. O(N**2).
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
    # Ends of edges: the tail of edge e is 2 e, its head 2 e + 1. At each node ends are paired as they come.
    order = np.argsort(np.stack((tail, head), 1).ravel(), kind="stable")
    partner = np.empty(len(order), np.int64)
    partner[order[0::2]], partner[order[1::2]] = order[1::2], order[0::2]
    # From an end across its edge to the partner there: each trail comes out as two circles of ends, one for
    # each way round it.
    ends = np.arange(len(order))
    links = coo_array((np.ones(len(ends), np.int8), (ends, partner[ends ^ 1])), shape=(len(ends),) * 2)
    circle = connected_components(links, directed=False)[1]
    forward = (circle[0::2] < circle[1::2])[: len(low)]
    half[np.where(forward, low, high), np.where(forward, high, low)] += 1
    return half


def orient(demands: Ints, first: Ints, each: Ints, standing: Entries) -> Ints:
    """Return A of C = A + A.T for each of (blocks, N, N), keeping the most standing circuits.

    Block b has the slots `first[b]` to `first[b] + each[b] - 1` of `standing`. Row and column sums of A are
    at most `each[b]`, twice which no row sum of C may exceed. Entries of A may be far from half of C: a
    circuit serves both ways, whichever its ends.
    """
    blocks, n, _ = demands.shape
    block, low, high = np.nonzero(np.triu(demands))
    a = demands[block, low, high]
    of = np.searchsorted(first, standing.block, "right") - 1
    stands = np.bincount(standing.key(n, of), minlength=demands.size).reshape(demands.shape)
    u0, u1 = stands[block, low, high], stands[block, high, low]
    points, slopes = sharing_cost(a, np.zeros_like(a), a, u0, u1)
    # The sum that `settle` sees at a node lacks what the items that lose there would leave at zero.
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
