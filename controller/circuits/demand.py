# SPDX-License-Identifier: Apache-2.0
"""What may be asked of circuits, and what to do with ports that nobody asked for."""

from collections.abc import Callable

import numpy as np

from controller.circuits.flow import Ints
from controller.errors import PlanError

__all__ = ["check_demand", "check_leaves", "check_matrix", "pod_demand", "saturate_demand", "trim_demand"]


def check_demand(demand: Ints, ports: int) -> None:
    """PlanError unless circuits between Pods, (N, N), can be asked for of Pods with that many ports each.

    That is all it takes: cross wiring realises every demand that passes.
    """
    demand = check_matrix(demand)
    if (apart := np.argwhere(demand != demand.T)).size:
        i, j = apart[0]
        raise PlanError(
            f"circuits from Pod {i} to Pod {j}: {demand[i, j]}, but back {demand[j, i]}",
            remedy="ask for the same number both ways: a circuit carries both",
        )
    if (own := np.flatnonzero(np.diagonal(demand))).size:
        pod = own[0]
        raise PlanError(
            f"Pod {pod} asks for {demand[pod, pod]} circuits to itself",
            remedy="leave the diagonal zero: what stays in a Pod needs no circuit",
        )
    _check_rows(demand, ports, lambda pod: f"Pod {pod}", "ports to optical switches")


def check_matrix(demand: Ints) -> Ints:
    """As whole numbers; PlanError unless square and not negative."""
    demand = np.asarray(demand)
    if demand.ndim != 2 or demand.shape[0] != demand.shape[1]:
        raise PlanError(f"a demand of shape {demand.shape}", remedy="give one row and one column a Pod")
    if not np.issubdtype(demand.dtype, np.integer):
        raise PlanError(f"a demand of {demand.dtype}", remedy="give whole numbers of circuits")
    if (below := np.argwhere(demand < 0)).size:
        i, j = below[0]
        raise PlanError(f"demand from {i} to {j} is {demand[i, j]}", remedy="give 0 or more circuits")
    return demand.astype(np.int64)


def check_leaves(demand: Ints, links: int) -> Ints:
    """A demand between leaves as whole numbers; PlanError unless leaves with so many links up can have it."""
    demand = check_matrix(demand)
    if (apart := np.argwhere(demand != demand.T)).size:
        i, j = apart[0]
        raise PlanError(
            f"demand from leaf {i} to leaf {j}: {demand[i, j]}, but back {demand[j, i]}",
            remedy="ask for the same both ways",
        )
    if (own := np.flatnonzero(np.diagonal(demand))).size:
        raise PlanError(
            f"leaf {own[0]} asks for {demand[own[0], own[0]]} to itself", remedy="leave the diagonal zero"
        )
    _check_rows(demand, links, lambda leaf: f"leaf {leaf}", "links to spines")
    return demand


def _check_rows(demand: Ints, limit: int, name: Callable[[int], str], what: str) -> None:
    sums = demand.sum(axis=1)
    over = np.flatnonzero(sums > limit)
    if over.size:
        worst = int(over[np.argmax(sums[over])])
        others = f", and {over.size - 1} other row{'s' * (over.size > 2)} too" if over.size > 1 else ""
        raise PlanError(
            f"{name(worst)} asks for {sums[worst]} circuits and has {limit} {what}",
            remedy=f"lower row {worst} by {sums[worst] - limit}{others}",
        )


def trim_demand(demand: Ints, ports: Ints, worth: Ints) -> Ints:
    """What is left of a demand, (N, N), where Pods have no more than `ports`, (N,), each.

    One circuit after the other is given up by the Pod that lacks most ports, to the Pod to which it has most
    for what they are worth, (N, N), and the last one between two Pods only where there is no other.
    """
    found = np.array(demand, np.int64)
    over = found.sum(axis=1) - ports
    while over.max(initial=0) > 0:
        pod = int(over.argmax())
        has = np.flatnonzero(found[pod])
        rest = (found[pod, has] - 1) / np.maximum(worth[pod, has], 1)
        # Of those that are equal one that lacks ports as well.
        other = int(has[np.lexsort((-over[has], -rest))[0]])
        found[pod, other] -= 1
        found[other, pod] -= 1
        over[[pod, other]] -= 1
    return found


def saturate_demand(demand: Ints, ports: int) -> Ints:
    """The demand, (N, N), and circuits on ports that it leaves over, evenly.

    Again and again the Pod with most ports left is joined to the Pod to which it has fewest circuits, and of
    those to that with most ports left. No way leaves fewer ports over: one where their number is odd, more
    only in a Pod that has more left than all others together.
    """
    check_demand(demand, ports)
    filled = np.array(demand, np.int64)
    left = ports - filled.sum(axis=1)
    scale = 2 * ports + 1
    while True:
        pod = int(left.argmax())
        # One key for both: fewest circuits first, then most ports left.
        key = np.where(left > 0, filled[pod] * scale - left, np.iinfo(np.int64).max)
        key[pod] = np.iinfo(np.int64).max
        other = int(key.argmin())
        if left[pod] < 1 or other == pod or left[other] < 1:
            return filled
        filled[pod, other] += 1
        filled[other, pod] += 1
        left[[pod, other]] -= 1


def pod_demand(leaves: Ints, leaves_per_pod: int) -> Ints:
    """Circuits between Pods, (..., P, P), of a demand between leaves, (..., P * leaves, P * leaves).

    What stays inside a Pod asks for none.
    """
    leaves = np.asarray(leaves)
    pods = leaves.shape[-1] // leaves_per_pod
    split = leaves.reshape(*leaves.shape[:-2], pods, leaves_per_pod, pods, leaves_per_pod)
    between = split.sum(axis=(-3, -1))
    between[..., np.arange(pods), np.arange(pods)] = 0
    return between
