# SPDX-License-Identifier: Apache-2.0
"""Fabrics for flows between NPUs: a single switch, and Clos networks where a hash picks the path.

The fabric with optical circuits is in optical.py. The unit of capacities is the rate of an NPU's port. Each
direction of a cable is a link of its own. Ports of NPUs are not links: a flow's rate is at most 1, and in no
phase does an NPU send or receive more than one flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, final

import numpy as np

from harness.errors import ModelError
from papers.flow_level.rates import Floats, Ints, Routes, routes
from papers.flow_level.workload.jobs import Job, Pairs
from papers.flow_level.workload.placement import Cluster

__all__ = ["Clos", "Fabric", "Ideal", "Lit", "Loads", "Placed", "Tiers", "between_leaves", "grouped"]

# Loads of a phase: links, and the load of each when every flow sends at the rate 1.
Loads = tuple[Ints, Floats]

_NONE = routes([])


class Fabric(Protocol):
    """Interface of a simulated fabric: gives each placed job routes, and holds them by the caller's key."""

    @property
    def name(self) -> str: ...

    @property
    def cluster(self) -> Cluster: ...

    @property
    def capacities(self) -> Floats:
        """Current capacity of each link."""
        ...

    @property
    def version(self) -> int:
        """Number that changes whenever the routes of jobs already placed may have changed."""
        ...

    def admit(self, key: int, job: Job, npus: Ints) -> float:
        """Route a job; return for how many seconds links are dark, after which the caller calls `settle`."""
        ...

    def settle(self) -> None:
        """End the dark time: all links have their full capacity again."""
        ...

    def release(self, key: int) -> None: ...

    def routes(self, key: int) -> tuple[Routes, ...]:
        """Return for each phase of a job the routes of its flows; flows without links are left out."""
        ...

    def loads(self, key: int) -> tuple[Loads, ...]:
        """Return for each phase of a job the loads of its flows summed by link."""
        ...


def between_leaves(cluster: Cluster, pairs: Pairs, npus: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the flows of a phase between different leaves.

    Args:
        cluster: shape of the cluster.
        pairs: flows as pairs of ranks.
        npus: NPU of each rank.

    Returns:
        Source leaves, destination leaves and numbers of flows, an entry for each pair of leaves.
    """
    ends = cluster.leaf_of(npus[pairs])
    ends = ends[ends[:, 0] != ends[:, 1]]
    leaves = cluster.pods * cluster.leaves
    keys, counts = np.unique(ends[:, 0] * leaves + ends[:, 1], return_counts=True)
    return keys // leaves, keys % leaves, counts.astype(float)


@dataclass(slots=True)
class Placed:
    """Routes of a placed job by phase, and their loads summed by link."""

    phases: tuple[Routes, ...]
    loads: tuple[Loads, ...]


_Job = TypeVar("_Job", bound=Placed)


class Lit(Generic[_Job]):
    """Base class of fabrics whose links are never dark; it keeps placed jobs by key."""

    def __init__(self, cluster: Cluster, name: str, capacities: Floats) -> None:
        self.cluster, self.name, self.capacities = cluster, name, capacities
        self.version = 0
        self._jobs: dict[int, _Job] = {}

    def settle(self) -> None:
        pass

    def release(self, key: int) -> None:
        del self._jobs[key]

    def routes(self, key: int) -> tuple[Routes, ...]:
        return self._jobs[key].phases

    def loads(self, key: int) -> tuple[Loads, ...]:
        return self._jobs[key].loads


@final
class Ideal(Lit[Placed]):
    """Ideal fabric to compare with: a single switch with all NPUs attached, without shared links."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, "ideal", np.zeros(0))

    def admit(self, key: int, job: Job, npus: Ints) -> float:
        phases = len(job.phases)
        self._jobs[key] = Placed((_NONE,) * phases, ((_NONE.links, _NONE.weights),) * phases)
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
    if not len(paths):
        return _NONE
    kinds, counts = np.unique(paths, axis=0, return_counts=True)
    used = kinds >= 0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
    return Routes(starts, kinds[used], np.full(int(used.sum()), weight), counts.astype(float))


@final
@dataclass(slots=True)
class _Hashed(Placed):
    """Routes of a job; `expected` is its share of the fabric's counts of flows, by phase."""

    expected: tuple[Loads, ...] = ()


@final
class Clos(Lit[_Hashed]):
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
        self._busy = [0.0] * self._tiers.links

    def admit(self, key: int, job: Job, npus: Ints) -> float:
        result = []
        whole = job.alone / job.iterations
        rng = np.random.default_rng((self._seed, key))
        for phase in job.phases:
            ends = npus[phase.pairs]
            leaf = self.cluster.leaf_of(ends)
            result.append(self._route(leaf[leaf[:, 0] != leaf[:, 1]], rng))
        loads = tuple(item.total() for item in result)
        shares = [phase.amount / whole for phase in job.phases]
        expected = tuple((links, load * share) for (links, load), share in zip(loads, shares, strict=True))
        for links, load in expected:
            for link, more in zip(links.tolist(), load.tolist(), strict=True):
                self._busy[link] += more
        self._jobs[key] = _Hashed(tuple(result), loads, expected)
        return 0.0

    def release(self, key: int) -> None:
        for links, load in self._jobs.pop(key).expected:
            for link, less in zip(links.tolist(), load.tolist(), strict=True):
                self._busy[link] -= less

    def _route(self, leaf: Ints, rng: np.random.Generator) -> Routes:
        """Return the routes of flows; `leaf` has a row of source and destination leaf for each flow."""
        if not len(leaf):
            return _NONE
        spine = rng.integers(self._tiers.spines, size=(len(leaf), self._tries))
        core = rng.integers(self._tiers.cores, size=spine.shape) if self._tiers.cores else spine
        paths = self._tiers.paths(leaf, spine, core)
        return grouped(paths[:, 0] if self._tries == 1 else self._least_busy(paths))

    def _least_busy(self, paths: Ints) -> Ints:
        busy = self._busy
        own: dict[int, float] = {}
        taken: list[Sequence[int]] = []
        for tries in paths.tolist():
            best, least = tries[0], float("inf")
            for path in tries:
                most = 0.0
                for link in path:
                    if link >= 0:
                        there = busy[link] + own.get(link, 0.0)
                        most = max(most, there)
                if most < least:
                    best, least = path, most
            for link in best:
                own[link] = own.get(link, 0.0) + 1.0
            taken.append(best)
        return np.array(taken, np.int64)
