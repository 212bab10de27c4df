# SPDX-License-Identifier: Apache-2.0
"""Rates across cuts of a fabric: between two sets of endpoints, and between halves (bisection)."""

from collections.abc import Collection, Iterator

import numpy as np

from topologies.model.computed_once import computed_once
from topologies.model.fabric import Fabric

__all__ = ["bisection_bps", "halvings", "rate_between"]

# Shares of the endpoints at which an ordered list of endpoints is split.
_SHARES = (0.25, 0.5, 0.75)
# Largest number of nodes for which the spectrum is computed.
_MAX_SPECTRUM = 1500


def rate_between(fabric: Fabric, side: Collection[str], other: Collection[str]) -> int:
    """Return the bits per second that can flow from endpoints `side` to endpoints `other`.

    By max flow, min cut this is the least rate of a cut between the two; every other node may be on either
    side of the cut.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    number = {node.name: at for at, node in enumerate(fabric.nodes)}
    source, sink = len(number), len(number) + 1
    unit = np.gcd.reduce([link.rate_bps for link in fabric.links]) or 1
    rows: list[int] = []
    columns: list[int] = []
    rates: list[int] = []
    for link in fabric.links:
        a, b = number[link.a.node], number[link.b.node]
        rows += [a, b]
        columns += [b, a]
        rates += [int(link.rate_bps // unit)] * 2
    for names, ends in ((side, (source, None)), (other, (None, sink))):
        for name in names:
            rows.append(number[name] if ends[0] is None else ends[0])
            columns.append(number[name] if ends[1] is None else ends[1])
            rates.append(2**30)
    size = len(number) + 2
    matrix = coo_array((np.array(rates, dtype=np.int64), (rows, columns)), shape=(size, size)).tocsr()
    return int(maximum_flow(matrix.astype(np.int32), source, sink).flow_value) * int(unit)


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


@computed_once
def bisection_bps(fabric: Fabric) -> int:
    """Return the least rate between two halves of the endpoints, over the equal halves of `halvings`.

    This is an upper bound of the bisection; finding the least of all halves is NP-hard.
    """
    parts = ((a, b) for a, b in halvings(fabric) if abs(len(a) - len(b)) <= 1)
    return min((rate_between(fabric, a, b) for a, b in parts), default=0)


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
