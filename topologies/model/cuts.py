# SPDX-License-Identifier: Apache-2.0
"""Rates across cuts of a fabric: between two sets of endpoints, and between halves (bisection)."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np

from topologies.model.fabric import Fabric

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["halvings", "rate_between"]

# Shares of the endpoints at which an ordered list of endpoints is split.
_SHARES = (0.25, 0.5, 0.75)
# Largest number of nodes for which the spectrum is computed.
_MAX_SPECTRUM = 1500
# Largest flow in units: below half of what SciPy's 32-bit flows hold.
_FLOW_UNITS = 2**30


def rate_between(fabric: Fabric, side: Collection[str], other: Collection[str]) -> int:
    """Return the largest flow from endpoints `side` to endpoints `other`, in bits per second.

    By max-flow min-cut, the result is the least rate of a cut between both sets. Every other node may be on
    either side of the cut.
    """
    from scipy.sparse import coo_array

    number = {node.name: at for at, node in enumerate(fabric.nodes)}
    source, sink = len(number), len(number) + 1
    unit = int(np.gcd.reduce([link.rate_bps for link in fabric.links])) or 1
    ends = np.array([(number[link.a.node], number[link.b.node]) for link in fabric.links]).reshape(-1, 2)
    rates = np.array([link.rate_bps // unit for link in fabric.links], dtype=np.int64)
    # No set of endpoints can send more than all links together.
    total = int(rates.sum())
    outer = [(source, number[name]) for name in side] + [(number[name], sink) for name in other]
    tails, heads = np.concatenate([ends, ends[:, ::-1], np.array(outer).reshape(-1, 2)]).T
    capacities = np.concatenate([rates, rates, np.full(len(outer), total)])
    size = len(number) + 2
    return unit * _largest_flow(
        coo_array((capacities, (tails, heads)), shape=(size, size)).tocsr(), size, total
    )


def _largest_flow(capacities: "csr_array", nodes: int, bound: int) -> int:
    """Return the largest flow from the last node but one to the last node of a graph with 64-bit capacities.

    SciPy's flows have 32 bits. The first flow is found in units so coarse that `bound`, which no flow
    exceeds, has 30 bits. The remaining capacities then carry a further flow in finer units, until the unit
    is 1.
    """
    from scipy.sparse.csgraph import maximum_flow

    source, sink = nodes - 2, nodes - 1
    flow = 0
    while True:
        unit = -(-bound // _FLOW_UNITS) or 1
        whole = capacities.copy()
        whole.data = np.minimum(whole.data // unit, _FLOW_UNITS).astype(np.int32)
        solved = maximum_flow(whole, source, sink)
        flow += int(solved.flow_value) * unit
        if unit == 1:
            return flow
        capacities = (capacities - solved.flow.astype(np.int64) * unit).tocsr()
        # An edge of the least cut is left with less than a unit.
        bound = capacities.nnz * unit


def halvings(fabric: Fabric) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield partitions of the endpoints into two sets: several orders of the endpoints, split at `_SHARES`.

    The orders are: the order of the fabric, by each coordinate, and by the Fiedler vector of the graph.
    """
    ends = list(fabric.endpoints)
    orders: list[tuple[str, ...]] = [tuple(node.name for node in ends)]
    for axis in range(len(fabric.dims)):
        orders.append(tuple(node.name for node in sorted(ends, key=lambda node: node.coordinates[axis])))
    orders += _spectral_orders(fabric, {node.name for node in ends})
    for order in dict.fromkeys(orders):
        for split in dict.fromkeys(round(len(order) * share) for share in _SHARES):
            if 0 < split < len(order):
                yield order[:split], order[split:]


def _spectral_orders(fabric: Fabric, ends: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Yield the endpoints ordered by the Fiedler vector, the second eigenvector of the Laplacian.

    Yield nothing for a fabric of fewer than 3 or more than `_MAX_SPECTRUM` nodes.
    """
    size = len(fabric.nodes)
    if not 3 <= size <= _MAX_SPECTRUM:
        return
    number = {node.name: at for at, node in enumerate(fabric.nodes)}
    laplacian = np.zeros((size, size))
    fastest = max((link.rate_bps for link in fabric.links), default=1)
    for link in fabric.links:
        a, b, weight = number[link.a.node], number[link.b.node], link.rate_bps / fastest
        laplacian[[a, b], [a, b]] += weight
        laplacian[[a, b], [b, a]] -= weight
    _, vectors = np.linalg.eigh(laplacian)
    # Rounded, so that symmetric nodes have equal components and keep the order of the fabric.
    fiedler = np.round(vectors[:, 1], 9)
    yield tuple(sorted(ends, key=lambda name: (fiedler[number[name]], number[name])))
