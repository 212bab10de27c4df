# SPDX-License-Identifier: Apache-2.0
"""Fabrics for flows between NPUs: a single switch, and Clos networks where a hash picks the path.

The fabric with optical circuits is in optical.py. The unit of capacities is the rate of an NPU's port. Each
direction of a cable is a link of its own. Ports of NPUs are not links: a flow's rate is at most 1, and in no
phase does an NPU send or receive more than one flow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from harness.errors import ModelError
from papers.flow_level.rates import Floats, Ints, Routes
from papers.flow_level.workload.jobs import Job, Pairs
from papers.flow_level.workload.placement import Cluster

__all__ = ["Clos", "Fabric", "Ideal", "Loads", "Tiers", "between_leaves", "crossing", "grouped"]

# Loads of a phase: links, and the load of each when every flow sends at the rate 1.
Loads = tuple[Ints, Floats]

_NONE = Routes.padded(np.zeros((0, 0), np.int64))


class Fabric:
    """Base class of simulated fabrics: gives each placed job routes, and holds them by the caller's key.

    Attributes:
        capacities: current capacity of each link.
        version: number that changes whenever the routes of jobs already placed may have changed.
    """

    def __init__(self, cluster: Cluster, name: str, capacities: Floats) -> None:
        self.cluster, self.name, self.capacities = cluster, name, capacities
        self.version = 0
        self._routes: dict[int, tuple[Routes, ...]] = {}

    def admit(self, key: int, job: Job, npus: Ints) -> float:
        """Route a job; return for how many seconds links are dark, after which the caller calls `settle`."""
        raise NotImplementedError

    def settle(self) -> None:
        """End the dark time: all links have their full capacity again."""

    def release(self, key: int) -> None:
        del self._routes[key]

    def routes(self, key: int) -> tuple[Routes, ...]:
        """Return for each phase of a job the routes of its flows; flows without links are left out."""
        return self._routes[key]

    def loads(self, key: int) -> tuple[Loads, ...]:
        """Return for each phase of a job the loads of its flows summed by link."""
        return tuple(phase.total() for phase in self.routes(key))


def crossing(cluster: Cluster, pairs: Pairs, npus: Ints) -> Ints:
    """Return the source and the destination leaf of each flow between different leaves, shape (flows, 2).

    Args:
        pairs: flows as pairs of ranks.
        npus: NPU of each rank.
    """
    ends = cluster.leaf_of(npus[pairs])
    return ends[ends[:, 0] != ends[:, 1]]


def between_leaves(cluster: Cluster, pairs: Pairs, npus: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the flows that `crossing` returns, counted by pair of leaves.

    Returns:
        Source leaves, destination leaves and numbers of flows, an entry for each pair of leaves.
    """
    ends, counts = np.unique(crossing(cluster, pairs, npus), axis=0, return_counts=True)
    return ends[:, 0], ends[:, 1], counts.astype(float)


@final
class Ideal(Fabric):
    """Ideal fabric to compare with: a single switch with all NPUs attached, without shared links."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, "ideal", np.zeros(0))

    def admit(self, key: int, job: Job, npus: Ints) -> float:
        self._routes[key] = (_NONE,) * len(job.phases)
        return 0.0


@final
@dataclass(frozen=True, slots=True)
class Tiers:
    """Numbering of the links of a Clos: leaf to spine, spine to leaf, spine to core, core to spine.

    Attributes:
        cluster: shape of the cluster.
        spines: spines of a Pod with three tiers, of the cluster with two.
        cores: cores of a spine; 0 with two tiers.
    """

    cluster: Cluster
    spines: int
    cores: int

    @property
    def between(self) -> int:
        """Number of links from leaves to spines."""
        return self.cluster.pods * self.cluster.leaves * self.spines

    @property
    def trunks(self) -> int:
        """Number of links from spines to cores."""
        return self.cluster.pods * self.spines * self.cores

    @property
    def links(self) -> int:
        return 2 * (self.between + self.trunks)

    def paths(self, leaf: Ints, spine: Ints, core: Ints) -> Ints:
        """Return the links of each flow and candidate; -1 pads paths that stay in a Pod.

        Args:
            leaf: leaves that flows lead from and to, shape (flows, 2).
            spine: spine of each candidate.
            core: core of each candidate, numbered within its spine; unused with two tiers.
        """
        up = leaf[:, :1] * self.spines + spine
        down = self.between + leaf[:, 1:] * self.spines + spine
        if not self.cores:
            return np.stack([up, down], axis=2)
        pod = self.cluster.pod_of_leaf(leaf)
        across = (pod[:, :1] != pod[:, 1:]) | np.zeros(up.shape, bool)
        first, second = (
            2 * self.between + (pod[:, [end]] * self.spines + spine) * self.cores + core for end in (0, 1)
        )
        return np.stack(
            [up, np.where(across, first, -1), np.where(across, self.trunks + second, -1), down], axis=2
        )


def grouped(paths: Ints, weight: float = 1.0) -> Routes:
    """Return the routes of flows: row i of `paths` lists the links of flow i, padded with -1.

    Flows over equal links share a row of the result. Every link gets `weight`.
    """
    kinds, counts = np.unique(paths, axis=0, return_counts=True)
    return Routes.padded(kinds, weight, counts.astype(float))


@final
class Clos(Fabric):
    """Clos of leaves, spines and, with three tiers, cores; every switch has as many links up as down.

    - Two tiers: there are as many spines as a leaf has uplinks, each with a link to every leaf.
    - Three tiers: each Pod has as many spines as a leaf has uplinks, each with a link to every leaf of the
      Pod. Spines of equal number in all Pods share as many cores as a Pod has leaves, with a link to each.

    Each flow keeps one path. A hash picks `tries` candidates, and the flow takes the candidate whose busiest
    link has fewest flows. A flow of the same phase counts as 1. A flow of another job counts as the share of
    time that its phase takes in an iteration of that job without other jobs. One try is plain ECMP hashing;
    five is the default of LumosCore's released simulator.
    """

    def __init__(
        self, cluster: Cluster, tiers: int = 2, tries: int = 1, seed: int = 0, name: str = "clos"
    ) -> None:
        if tiers not in (2, 3) or tries < 1:
            raise ModelError(
                f"the Clos has {tiers} tiers and {tries} tries; expected 2 or 3 tiers and at least 1 try",
                remedy="take 2 or 3 tiers, 1 try or more",
            )
        self._tiers = Tiers(cluster, cluster.npus, cluster.leaves if tiers == 3 else 0)
        super().__init__(cluster, name, np.ones(self._tiers.links))
        self._tries = tries
        self._seed = seed
        # Flows on each link, and each job's share of them by phase.
        self._busy = np.zeros(self._tiers.links)
        self._expected: dict[int, list[Loads]] = {}

    def admit(self, key: int, job: Job, npus: Ints) -> float:
        rng = np.random.default_rng((self._seed, key))
        self._routes[key] = tuple(
            self._route(crossing(self.cluster, phase.pairs, npus), rng) for phase in job.phases
        )
        whole = job.alone / job.iterations
        self._expected[key] = [
            (links, load * (phase.amount / whole))
            for phase, (links, load) in zip(job.phases, self.loads(key), strict=True)
        ]
        for links, load in self._expected[key]:
            self._busy[links] += load
        return 0.0

    def release(self, key: int) -> None:
        super().release(key)
        for links, load in self._expected.pop(key):
            self._busy[links] -= load

    def _route(self, leaf: Ints, rng: np.random.Generator) -> Routes:
        """Return the routes of flows; `leaf` has a row of source and destination leaf for each flow."""
        if not len(leaf):
            return _NONE
        spine = rng.integers(self._tiers.spines, size=(len(leaf), self._tries))
        core = rng.integers(self._tiers.cores, size=spine.shape) if self._tiers.cores else spine
        paths = self._tiers.paths(leaf, spine, core)
        return grouped(paths[:, 0] if self._tries == 1 else self._least_busy(paths))

    def _least_busy(self, paths: Ints) -> Ints:
        busy = self._busy.tolist()
        own: Counter[int] = Counter()

        def busiest(path: Sequence[int]) -> float:
            return max(0.0, *(busy[link] + own[link] for link in path if link >= 0))

        taken = []
        for candidates in paths.tolist():
            taken.append(min(candidates, key=busiest))
            own.update(taken[-1])
        return np.array(taken, np.int64)
