# SPDX-License-Identifier: Apache-2.0
"""The shape of a cluster, and the choice of NPUs for a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from harness.errors import ModelError
from papers.flow_level.rates import Ints
from papers.flow_level.workload.jobs import SERVER

__all__ = ["POLICIES", "Cluster", "Placement", "Policy"]


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """Shape of a cluster: `pods` Pods of `leaves` leaves, each with `npus` NPUs.

    An NPU has one port, and a leaf has as many uplinks as NPUs.
    """

    pods: int
    leaves: int
    npus: int

    def __post_init__(self) -> None:
        if min(self.pods, self.leaves, self.npus) < 1 or self.npus % SERVER:
            raise ModelError(
                f"a cluster cannot have {self.pods} Pods of {self.leaves} leaves of {self.npus} NPUs",
                remedy=f"give at least one of each, and a multiple of {SERVER} NPUs to a leaf",
            )

    @property
    def size(self) -> int:
        return self.pods * self.leaves * self.npus

    @property
    def servers(self) -> int:
        """Number of servers of a leaf."""
        return self.npus // SERVER

    def leaf_of(self, npu: Ints) -> Ints:
        return npu // self.npus

    def pod_of_leaf(self, leaf: Ints) -> Ints:
        return leaf // self.leaves


# (servers of the job, free servers by Pod and leaf, servers of a block, random numbers)
# -> servers to take by Pod and leaf, or None if there is no room.
Policy = Callable[[int, Ints, int, np.random.Generator], Ints | None]


def packed(servers: int, free: Ints, block: int, rng: np.random.Generator) -> Ints | None:
    """Return servers of the fullest leaf with room; else of the fullest Pod with room; else of few Pods.

    The room of a Pod counts whole blocks. The few Pods are the Pods with most room.
    """
    taken = np.zeros_like(free)
    fits = free >= servers
    if fits.any():
        tight = np.where(fits, free, free.max() + 1)
        taken[np.unravel_index(np.argmin(tight), free.shape)] = servers
        return taken
    room = free.sum(axis=1) // block * block
    fitting = np.flatnonzero(room >= servers)
    pods = fitting[[np.argmin(room[fitting])]] if len(fitting) else np.argsort(-room, kind="stable")
    left = servers
    for pod in pods:
        part = min(left, int(room[pod]))
        left -= part
        for leaf in np.argsort(-free[pod], kind="stable"):
            here = min(part, int(free[pod, leaf]))
            taken[pod, leaf] = here
            part -= here
    return None if left else taken


def first_fit(servers: int, free: Ints, block: int, rng: np.random.Generator) -> Ints | None:
    """Return the first free servers in order of Pods and leaves."""
    flat = free.ravel()
    before = np.cumsum(flat) - flat
    taken = np.clip(servers - before, 0, flat).reshape(free.shape)
    return taken if taken.sum() == servers else None


def anywhere(servers: int, free: Ints, block: int, rng: np.random.Generator) -> Ints | None:
    """Return free servers drawn at random, each equally likely."""
    if free.sum() < servers:
        return None
    return rng.multivariate_hypergeometric(free.ravel(), servers).reshape(free.shape)


POLICIES: Mapping[str, Policy] = {"packed": packed, "first-fit": first_fit, "random": anywhere}


@final
class Placement:
    """Free NPUs of a cluster; jobs smaller than a server share servers, larger jobs get whole servers."""

    def __init__(self, cluster: Cluster, policy: str = "packed", seed: int = 0) -> None:
        if policy not in POLICIES:
            raise ModelError(f"the placement {policy!r} does not exist", remedy=f"take {', '.join(POLICIES)}")
        self.cluster = cluster
        self._policy = POLICIES[policy]
        self._rng = np.random.default_rng(seed)
        # Whether each NPU is free, by leaf, server and number in the server.
        self._free = np.ones((cluster.pods * cluster.leaves, cluster.servers, SERVER), bool)

    @property
    def free(self) -> int:
        return int(self._free.sum())

    def take(self, npus: int, unit: int = SERVER) -> Ints | None:
        """Take NPUs for a job and return them by rank, ascending; None if there is no room.

        Args:
            npus: number of NPUs; a job larger than a server takes a multiple of a server's NPUs.
            unit: number of NPUs of a block.

        Raises:
            ModelError: The job is larger than the cluster, or takes part of a server beside whole servers.
        """
        if npus > self.cluster.size or (npus > SERVER and npus % SERVER):
            raise ModelError(
                f"a job of {npus} NPUs does not fit on a cluster of {self.cluster.size} NPUs",
                remedy=f"take at most as many NPUs, and above {SERVER} only whole servers of {SERVER}",
            )
        taken = self._part(npus) if npus < SERVER else self._servers(npus // SERVER, unit // SERVER)
        if taken is not None:
            self._free.flat[taken] = False
        return taken

    def give_back(self, npus: Ints) -> None:
        self._free.flat[npus] = True

    def _servers(self, servers: int, block: int) -> Ints | None:
        """Return the NPUs of empty servers, taken in blocks of `block`; None if there are too few."""
        empty = self._free.all(axis=2)
        by_pod = empty.sum(axis=1).reshape(self.cluster.pods, self.cluster.leaves)
        chosen = self._policy(servers, by_pod, min(max(block, 1), servers), self._rng)
        if chosen is None:
            return None
        # The first empty servers of each leaf, as many as were chosen.
        first = empty & (np.cumsum(empty, axis=1) <= chosen.reshape(-1, 1))
        return (np.flatnonzero(first)[:, None] * SERVER + np.arange(SERVER)).ravel()

    def _part(self, npus: int) -> Ints | None:
        """Return NPUs of the fullest server with room for all of them; None if there is none."""
        free = self._free.sum(axis=2)
        fits = free >= npus
        if not fits.any():
            return None
        server = int(np.argmin(np.where(fits, free, SERVER + 1)))
        return server * SERVER + np.flatnonzero(self._free.reshape(-1, SERVER)[server])[:npus]
