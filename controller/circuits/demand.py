# SPDX-License-Identifier: Apache-2.0
"""Check a demand for circuits, and trim or fill it to the number of ports of each Pod."""

import numpy as np

from controller.circuits.flow import Ints
from controller.errors import PlanError

__all__ = ["check_demand", "check_leaves", "check_matrix", "pod_demand", "saturate_demand", "trim_demand"]


def check_demand(demand: Ints, ports: int) -> None:
    """Raise PlanError unless a demand, (N, N) circuits, fits N Pods with `ports` ports each.

    The demand must be symmetric with a zero diagonal. Cross wiring realises every demand that passes this
    check.
    """
    _check_ends(demand, ports, "Pod", "ports to optical switches")


def check_matrix(demand: Ints) -> Ints:
    """Return a demand as int64; PlanError unless it is a square matrix of integers of 0 or more."""
    demand = np.asarray(demand)
    if demand.ndim != 2 or demand.shape[0] != demand.shape[1]:
        raise PlanError(
            f"the demand has shape {demand.shape}, but must be a square matrix",
            remedy="give a row and a column for each Pod",
        )
    if not np.issubdtype(demand.dtype, np.integer):
        raise PlanError(
            f"the demand has elements of type {demand.dtype}", remedy="give whole numbers of circuits"
        )
    if (below := np.argwhere(demand < 0)).size:
        i, j = below[0]
        raise PlanError(
            f"the demand from {i} to {j} is {demand[i, j]}, below 0", remedy="give 0 or more circuits"
        )
    return demand.astype(np.int64)


def check_leaves(demand: Ints, links: int) -> Ints:
    """Return a demand between leaves, (n, n), as int64; PlanError unless `links` uplinks a leaf can carry it.

    The demand must be symmetric with a zero diagonal.
    """
    return _check_ends(demand, links, "leaf", "links to spines")


def _check_ends(demand: Ints, limit: int, end: str, what: str) -> Ints:
    """Return a demand as int64; PlanError unless it is symmetric, has a zero diagonal and fits the limit.

    `end` names a row in messages. Each end has `limit` ports or links, which `what` names.
    """
    demand = check_matrix(demand)
    if (apart := np.argwhere(demand != demand.T)).size:
        i, j = apart[0]
        raise PlanError(
            f"the demand is {demand[i, j]} circuits from {end} {i} to {end} {j}, but {demand[j, i]} back",
            remedy="ask for the same number in both directions: a circuit carries both",
        )
    if (own := np.flatnonzero(np.diagonal(demand))).size:
        raise PlanError(
            f"{end} {own[0]} asks for {demand[own[0], own[0]]} circuits to itself",
            remedy=f"set the diagonal to zero: traffic inside a {end} needs no circuit",
        )
    sums = demand.sum(axis=1)
    over = np.flatnonzero(sums > limit)
    if over.size:
        worst = int(over[np.argmax(sums[over])])
        others = f", and {over.size - 1} other row{'s' * (over.size > 2)} too" if over.size > 1 else ""
        raise PlanError(
            f"{end} {worst} asks for {sums[worst]} circuits, but has {limit} {what}",
            remedy=f"lower row {worst} by {sums[worst] - limit}{others}",
        )
    return demand


def trim_demand(demand: Ints, ports: Ints, worth: Ints) -> Ints:
    """Return a demand, (N, N), reduced until each Pod's circuits fit its `ports`, (N,).

    Repeatedly, the Pod that lacks the most ports gives up a circuit to one of its peers: the peer with the
    most circuits, not counting the first, relative to `worth`, (N, N). The last circuit to a peer goes only
    when the Pod has a single circuit to each of its peers.
    """
    trimmed = np.array(demand, np.int64)
    over = trimmed.sum(axis=1) - ports
    while over.max(initial=0) > 0:
        pod = int(over.argmax())
        has = np.flatnonzero(trimmed[pod])
        rest = (trimmed[pod, has] - 1) / np.maximum(worth[pod, has], 1)
        # Ties go to the peer that lacks the most ports.
        other = int(has[np.lexsort((-over[has], -rest))[0]])
        trimmed[pod, other] -= 1
        trimmed[other, pod] -= 1
        over[[pod, other]] -= 1
    return trimmed


def saturate_demand(demand: Ints, ports: int) -> Ints:
    """Return a demand, (N, N), plus circuits spread evenly over its unused ports.

    Repeatedly, the Pod with the most unused ports gets a circuit to the Pod to which it has the fewest
    circuits; ties go to the Pod with more unused ports. One port stays unused if the number of unused ports
    is odd. More stay unused only in a Pod that has more unused ports than all other Pods together. No method
    leaves fewer ports unused.
    """
    check_demand(demand, ports)
    filled = np.array(demand, np.int64)
    left = ports - filled.sum(axis=1)
    scale = 2 * ports + 1
    while True:
        pod = int(left.argmax())
        # The key orders Pods by fewest circuits, then by most unused ports.
        key = np.where(left > 0, filled[pod] * scale - left, np.iinfo(np.int64).max)
        key[pod] = np.iinfo(np.int64).max
        other = int(key.argmin())
        if left[pod] < 1 or other == pod or left[other] < 1:
            return filled
        filled[pod, other] += 1
        filled[other, pod] += 1
        left[[pod, other]] -= 1


def pod_demand(leaves: Ints, leaves_per_pod: int) -> Ints:
    """Return the circuits between Pods, (..., P, P), for a demand between leaves, (..., n, n).

    P is n / leaves_per_pod. Demand inside a Pod needs no circuit.
    """
    leaves = np.asarray(leaves)
    pods = leaves.shape[-1] // leaves_per_pod
    split = leaves.reshape(*leaves.shape[:-2], pods, leaves_per_pod, pods, leaves_per_pod)
    between = split.sum(axis=(-3, -1))
    between[..., np.arange(pods), np.arange(pods)] = 0
    return between
