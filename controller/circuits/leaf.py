# SPDX-License-Identifier: Apache-2.0
"""Spread a demand between leaves over spines without overloading a link from a leaf to a spine.

A leaf has tau links to each of H spines. If only the demand between Pods is spread over the spines, the
demand of a leaf may concentrate on few spines (routing polarization). Spreading the demand between leaves
avoids this (arXiv 2603.28168): L = A + A.T, with A split evenly over the spines. A leaf has at most H tau
circuits. For even tau, each spine therefore gets at most tau / 2 circuits of a leaf from A and at most
tau / 2 from A.T. For odd tau, the bound is tau + 1.
"""

import numpy as np

from controller.circuits.allocation import allocate
from controller.circuits.bisection import even_split
from controller.circuits.demand import check_leaves
from controller.circuits.flow import Ints
from controller.circuits.plan import CircuitPlan
from controller.circuits.split import symmetric_split
from controller.errors import PlanError

__all__ = ["leaf_plan", "leaf_spine_load", "leaf_split", "pod_centric_split"]


def leaf_split(leaves: Ints, spines: int, tau: int) -> Ints:
    """Divide a symmetric demand between n leaves among the spines; return the parts, (spines, n, n).

    `tau` is the number of links from a leaf to a spine. A leaf has at most tau units of demand at each spine
    if tau is even, tau + 1 if tau is odd. PlanError names a leaf that asks for more than spines * tau.
    """
    parts = even_split(symmetric_split(check_leaves(leaves, spines * tau)), spines)
    return parts + parts.transpose(0, 2, 1)


def leaf_plan(leaves: Ints, spines: int, tau: int, standing: CircuitPlan | None = None) -> CircuitPlan:
    """Return a plan close to a standing plan, with `counts` within the bound of `leaf_split`.

    `allocate` computes the plan and gives its guarantees: leaves take the role of Pods, and links of a leaf
    to a spine take the role of ports. PlanError unless tau is even and at least 2.
    """
    if tau < 2 or tau % 2:
        raise PlanError(
            f"leaf_plan expects an even number of links of a leaf to a spine, 2 or more; got {tau}",
            remedy="use leaf_split for odd numbers of links",
        )
    return allocate(check_leaves(leaves, spines * tau), spines, tau, standing)


def pod_centric_split(
    leaves: Ints, leaves_per_pod: int, counts: Ints, rng: np.random.Generator | None = None
) -> Ints:
    """Divide a symmetric demand between n leaves among the spines; return the parts, (spines, n, n).

    This baseline ignores leaves. Each unit of demand between two Pods takes one of the circuits between them;
    `counts`, (spines, P, P), is the number of circuits by spine and Pods. Inside a Pod, units take the spines
    in turn. Units are assigned in order of leaves, or at random with `rng`, as hashing does. PlanError if two
    Pods have fewer circuits than units of demand.
    """
    leaves = np.asarray(leaves, np.int64)
    spines, pods, _ = counts.shape
    split = np.zeros((spines, *leaves.shape), np.int64)
    pod = np.arange(len(leaves)) // leaves_per_pod
    for p in range(pods):
        for q in range(p, pods):
            i, j = np.nonzero(np.triu(leaves) * ((pod[:, None] == p) & (pod == q)))
            i, j = np.repeat(i, leaves[i, j]), np.repeat(j, leaves[i, j])
            ways = np.arange(len(i)) % spines if p == q else np.repeat(np.arange(spines), counts[:, p, q])
            if len(ways) < len(i):
                raise PlanError(
                    f"{len(i)} flows between Pods {p} and {q} have {len(ways)} circuits",
                    remedy="allocate circuits to the demand between Pods, see pod_demand",
                )
            if rng is not None:
                ways = rng.permutation(ways)
            np.add.at(split, (ways[: len(i)], i, j), 1)
    return split + split.transpose(0, 2, 1)


def leaf_spine_load(split: Ints) -> Ints:
    """Return the units of demand on the links from each leaf to each spine, (n, spines)."""
    return np.asarray(split).sum(axis=2).T
