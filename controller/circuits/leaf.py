# SPDX-License-Identifier: Apache-2.0
"""Demand between leaves, spread so that no link from a leaf to a spine carries more than it can.

A leaf has tau links to each of H spines. Spreading only what Pods want of each other over the spines leaves
open through which spine a leaf's share of it goes, and some leaves end up on few (routing polarization).
Spreading what leaves want settles that (arXiv 2603.28168): L = A + A.T, A over the spines evenly, and of a
leaf's at most H tau circuits each spine gets at most tau / 2 of A and as many of A.T. For even tau that is a
proof; for odd tau, the bound is tau + 1.
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
    """Return the part of a demand between n leaves that each spine carries, (spines, n, n), symmetric.

    Loads of links are at most tau a leaf and spine for even tau. PlanError names a leaf that wants more than
    spines * tau.
    """
    parts = even_split(symmetric_split(check_leaves(leaves, spines * tau)), spines)
    return parts + parts.transpose(0, 2, 1)


def leaf_plan(leaves: Ints, spines: int, tau: int, standing: CircuitPlan | None = None) -> CircuitPlan:
    """Return a plan for even tau whose `counts` meet the bound of `leaf_split`, close to a standing plan.

    Each leaf takes the role of a Pod in `realise`, and its links to a spine that of the Pod's even and odd
    ports, so the guarantees of `realise` apply.
    """
    if tau < 2 or tau % 2:
        raise PlanError(
            f"a leaf has {tau} links to a spine, which is odd",
            remedy="use leaf_split for odd numbers of links",
        )
    return allocate(check_leaves(leaves, spines * tau), spines, tau, standing)


def pod_centric_split(
    leaves: Ints, leaves_per_pod: int, counts: Ints, rng: np.random.Generator | None = None
) -> Ints:
    """Return how flows between leaves share the circuits of Pods, `counts`, (spines, P, P): (spines, n, n).

    A baseline that ignores leaves. Between two Pods each unit of demand takes one of their circuits:
    in order of leaves and spines, or at random, as hashing does. Inside a Pod it takes any spine: the next,
    or one at random.
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
                    remedy="ask for circuits by pod_demand",
                )
            if rng is not None:
                ways = rng.permutation(ways)
            np.add.at(split, (ways[: len(i)], i, j), 1)
    return split + split.transpose(0, 2, 1)


def leaf_spine_load(split: Ints) -> Ints:
    """Return the units of demand on the links from each leaf to each spine, (n, spines)."""
    return np.asarray(split).sum(axis=2).T
