# SPDX-License-Identifier: Apache-2.0
"""Pods of leaves and spines, joined by optical circuits made for the placed jobs (LumosCore).

Spine h of a Pod has `tau` links to every leaf of the Pod, and as many ports to optical switches as links to
leaves. The optical switches join spine h to the spines h of other Pods. When a job is placed, its steady
phases demand circuits; its other phases get circuits only for unused links of their leaves. When a job
leaves, its circuits stay until another job needs the ports.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import final

import numpy as np

from controller.circuits.bisection import even_split
from controller.circuits.demand import pod_demand
from controller.circuits.leaf import leaf_split, pod_centric_split
from controller.circuits.split import symmetric_split
from harness.errors import ModelError
from papers.flow_level.networks.circuits import at_most, filled, matched, ways
from papers.flow_level.networks.clos import Loads, between_leaves
from papers.flow_level.rates import Floats, Ints, Routes
from papers.flow_level.workload.jobs import Job
from papers.flow_level.workload.placement import Cluster

__all__ = ["Lumos", "Wiring"]


class Wiring(StrEnum):
    """Wiring of ports to optical switches, and the demand used to compute circuits."""

    # Cross wiring; demand between leaves, so that no link between leaf and spine is overloaded.
    leaf = "leaf-centric"
    # Cross wiring; demand between Pods, split evenly over spines; flows go to spines in order.
    pod = "pod-centric"
    # As `pod`, but both directions of a port are on one optical switch, which holds a matching of Pods.
    uniform = "uniform"


@final
@dataclass(slots=True)
class _Placed:
    """A placed job.

    Attributes:
        phases: source leaves, destination leaves and numbers of flows of each phase.
        demand: two leaves and the number of links demanded between them, as arrays, in both directions.
        loads: loads of each phase over the current circuits; None until they are needed.
    """

    phases: tuple[tuple[Ints, Ints, Floats], ...]
    demand: tuple[Ints, Ints, Ints]
    loads: tuple[Loads, ...] | None = None


@final
class Lumos:
    """Fabric of Pods joined by optical circuits.

    Links are numbered in this order: leaf to spine and spine to leaf, both by leaf and spine; then circuits
    by spine, Pod and Pod.

    Args:
        cluster: shape of the cluster.
        wiring: wiring, and demand used to compute circuits.
        tau: links between a leaf and a spine of its Pod.
        dark: seconds for which a new circuit is dark.
        name: name of the fabric; wiring and `tau` if empty.

    Raises:
        ModelError: The cluster's leaves and `tau` do not make such spines, or `dark` is below 0.
    """

    def __init__(
        self, cluster: Cluster, wiring: Wiring = Wiring.leaf, tau: int = 2, dark: float = 0.0, name: str = ""
    ) -> None:
        if tau < 1 or cluster.npus % tau or cluster.leaves * tau % 2 or dark < 0:
            raise ModelError(
                f"Pods of {cluster.leaves} leaves with {cluster.npus} uplinks each cannot have tau {tau} "
                f"and circuits that are dark for {dark:g} s",
                remedy="give a tau that divides the uplinks, an even product of tau and leaves, 0 s or more",
            )
        self.name = name or f"{wiring}, tau {tau}"
        self.cluster = cluster
        self.version = 0
        # Number of circuits made or removed so far.
        self.moved = 0
        self._wiring, self._tau, self._dark = wiring, tau, dark
        self._spines = cluster.npus // tau
        self._ports = cluster.leaves * tau
        self._leaves = cluster.pods * cluster.leaves
        self._down = self._leaves * self._spines
        self._circuits = 2 * self._down
        self._jobs: dict[int, _Placed] = {}
        # Links demanded between leaves; each spine's part of these links; links demanded between Pods; and
        # circuits by spine, Pod and Pod.
        self._demand = np.zeros((self._leaves, self._leaves), np.int64)
        self._split = np.zeros((self._spines, self._leaves, self._leaves), np.int64)
        self._pods = np.full((0, 0), 0)
        self._counts = self._realised()
        self._settled = self.capacities = self._capacity(self._counts)
        self._spread()

    def admit(self, key: int, job: Job, npus: Ints) -> float:
        flows = tuple(between_leaves(self.cluster, phase.pairs, npus) for phase in job.phases)
        demand = self._wanted(job, flows, npus)
        self._jobs[key] = _Placed(flows, demand)
        if not len(demand[0]):
            return 0.0
        # Add up the demands of placed jobs only; demands of jobs that left are dropped.
        self._demand = np.zeros_like(self._demand)
        for placed in self._jobs.values():
            np.add.at(self._demand, placed.demand[:2], placed.demand[2])
        return self._reconfigure()

    def settle(self) -> None:
        self.capacities = self._settled

    def release(self, key: int) -> None:
        del self._jobs[key]

    def routes(self, key: int) -> tuple[Routes, ...]:
        return tuple(self._routes(*phase) for phase in self._jobs[key].phases)

    def loads(self, key: int) -> tuple[Loads, ...]:
        placed = self._jobs[key]
        if placed.loads is None:
            placed.loads = tuple(self._loads(*phase) for phase in placed.phases)
        return placed.loads

    def _wanted(
        self, job: Job, flows: tuple[tuple[Ints, Ints, Floats], ...], npus: Ints
    ) -> tuple[Ints, Ints, Ints]:
        """Return the links demanded by a job: arrays of two leaves and a number of links, in both directions.

        A leaf gets at most as many links as the job has NPUs on it. Steady phases come first, with the most
        flows of any of them. Other phases get further links between Pods as far as leaves have links left.
        """
        leaves = np.unique(self.cluster.leaf_of(npus))
        own = np.bincount(self.cluster.leaf_of(npus), minlength=self._leaves)[leaves]
        asked = np.zeros((len(leaves), len(leaves)), np.int64)
        for phase, (a, b, number) in zip(job.phases, flows, strict=True):
            if phase.steady:
                need = np.zeros_like(asked)
                need[np.searchsorted(leaves, a), np.searchsorted(leaves, b)] = number
                asked = np.maximum(asked, np.maximum(need, need.T))
        others = [
            (np.searchsorted(leaves, a), np.searchsorted(leaves, b), number)
            for phase, (a, b, number) in zip(job.phases, flows, strict=True)
            if not phase.steady
        ]
        pod = self.cluster.pod_of_leaf(leaves)
        # Reserve a link for any two Pods that only other phases join, before steady phases get links.
        joined = {(int(pod[i]), int(pod[j])) for i, j in np.argwhere(asked)}
        least = np.zeros_like(asked)
        for i, j in ((int(i), int(j)) for a, b, _ in others for i, j in zip(a, b, strict=True)):
            between = int(pod[i]), int(pod[j])
            if between[0] != between[1] and between not in joined:
                least[[i, j], [j, i]] = 1
                joined |= {between, between[::-1]}
        asked = least + at_most(asked, own - least.sum(axis=1))
        left = own - asked.sum(axis=1)
        for a, b, number in others:
            for i, j, wanted in zip(a, b, number, strict=True):
                more = min(int(wanted) - asked[i, j], left[i], left[j])
                if pod[i] != pod[j] and more > 0:
                    asked[[i, j], [j, i]] += more
                    left[[i, j]] -= more
        i, j = np.nonzero(asked)
        return leaves[i], leaves[j], asked[i, j]

    def _reconfigure(self) -> float:
        before = self._counts
        if self._wiring is Wiring.leaf:
            self._split = leaf_split(self._demand, self._spines, self._tau)
        self._counts = self._realised()
        if self._wiring is not Wiring.leaf:
            self._split = self._dealt()
        self._settled = self._capacity(self._counts)
        moved = int(np.abs(self._counts - before).sum()) // 2
        self.moved += moved
        dark = moved > 0 and self._dark > 0
        # New circuits are dark until `settle`, and so are those of an earlier job that is still waiting.
        self.capacities = np.minimum(self.capacities, self._settled) if self._dark else self._settled
        self._spread()
        self.version += 1
        for placed in self._jobs.values():
            placed.loads = None
        return self._dark if dark else 0.0

    def _realised(self) -> Ints:
        """Return circuits by spine, Pod and Pod: the demanded circuits, and further ones on free ports."""
        if self._wiring is Wiring.leaf:
            wanted = pod_demand(self._split, self.cluster.leaves)
            return filled(np.array([at_most(item, self._ports) for item in wanted]), self._ports)
        pods = pod_demand(self._demand, self.cluster.leaves)
        if np.array_equal(pods, self._pods):
            return self._counts
        self._pods = pods
        if self._wiring is Wiring.uniform:
            return matched(pods, self._spines, self._ports)
        half = even_split(symmetric_split(pods), self._spines)
        return filled(half + half.transpose(0, 2, 1), self._ports)

    def _dealt(self) -> Ints:
        """Return the demand between leaves, divided among spines: flows take the spines' circuits in order.

        A circuit carries several flows if two Pods have more flows than circuits.
        """
        pods = pod_demand(self._demand, self.cluster.leaves)
        there = self._counts.sum(axis=0)
        pod = self.cluster.pod_of_leaf(np.arange(self._leaves))
        reached = (pod[:, None] == pod) | (there[pod][:, pod] > 0)
        times = int(np.ceil(np.max(pods / np.maximum(there, 1), initial=1, where=there > 0)))
        return pod_centric_split(self._demand * reached, self.cluster.leaves, self._counts * times)

    def _capacity(self, counts: Ints) -> Floats:
        return np.concatenate([np.full(2 * self._down, float(self._tau)), counts.ravel().astype(float)])

    def _spread(self) -> None:
        """Update the capacity that pinned flows leave on links, by leaf and spine."""
        pinned = self._split.sum(axis=2).T
        self._left = np.maximum(self._tau - pinned, 0).astype(float)
        self._ways: dict[tuple[int, int], list[tuple[int, list[int], int]]] = {}

    def _shares(self, a: Ints, b: Ints) -> Floats:
        """Return the share of flows over each spine, shape (pairs of leaves, spines).

        Flows between leaves with a demand are pinned to the spines of their circuits. Other flows are sprayed
        packet by packet, in proportion to the links and circuits that pinned flows leave. The row is zero if
        two Pods have no circuit.
        """
        i, j = self.cluster.pod_of_leaf(a), self.cluster.pod_of_leaf(b)
        across = i != j
        weights = np.ones((len(a), self._spines))
        direct = self._counts[:, i, j].T.astype(float)
        weights[across] = direct[across]
        left = np.minimum(self._left[a], self._left[b])
        left[across] = np.minimum(left[across], direct[across])
        some = left.sum(axis=1) > 0
        weights[some] = left[some]
        pinned = self._split[:, a, b].T * ~(across[:, None] & (direct == 0))
        own = pinned.sum(axis=1) > 0
        weights[own] = pinned[own]
        return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1)

    def _entries(self, a: Ints, b: Ints) -> tuple[Ints, Ints, Floats]:
        """Return row, link and share of flows for every link that a row uses; a row is a pair of leaves."""
        shares = self._shares(a, b)
        row, spine = np.nonzero(shares)
        share = shares[row, spine]
        i, j = self.cluster.pod_of_leaf(a[row]), self.cluster.pod_of_leaf(b[row])
        across = i != j
        parts = [
            (row, a[row] * self._spines + spine, share),
            (row[across], self._circuit(spine[across], i[across], j[across]), share[across]),
            (row, self._down + b[row] * self._spines + spine, share),
        ]
        for apart in np.flatnonzero(~shares.any(axis=1)):
            parts.append(self._around(int(apart), int(a[apart]), int(b[apart])))
        rows, links, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
        return rows, links, weights

    def _around(self, row: int, a: int, b: int) -> tuple[Ints, Ints, Floats]:
        """Return row, link and share of a flow over other Pods, as no circuit joins the Pods of its leaves.

        The three arrays have an element for each link of the detours over the fewest Pods; every element of
        the first array is `row`, the number of the pair of leaves `a` and `b`.
        """
        i, j = a // self.cluster.leaves, b // self.cluster.leaves
        if (i, j) not in self._ways:
            self._ways[i, j] = ways(self._counts, i, j)
        result = self._ways[i, j]
        if not result:
            raise ModelError(
                f"no circuits join Pod {i} to Pod {j}, directly or by way of other Pods",
                remedy="take fewer Pods, or spines with more ports",
            )
        whole = sum(width for _, _, width in result)
        links: list[int] = []
        shares: list[float] = []
        for spine, pods, width in result:
            between = [int(self._circuit(spine, x, y)) for x, y in pairwise(pods)]
            links += [a * self._spines + spine, *between, self._down + b * self._spines + spine]
            shares += [width / whole] * (len(between) + 2)
        return np.full(len(links), row), np.array(links), np.array(shares)

    def _circuit(self, spine: Ints | int, i: Ints | int, j: Ints | int) -> Ints | int:
        return self._circuits + (spine * self.cluster.pods + i) * self.cluster.pods + j

    def _loads(self, a: Ints, b: Ints, number: Floats) -> Loads:
        rows, links, shares = self._entries(a, b)
        carried = np.bincount(links, shares * number[rows], len(self.capacities))
        used = np.flatnonzero(carried).astype(np.int64)
        return used, carried[used].astype(float)

    def _routes(self, a: Ints, b: Ints, number: Floats) -> Routes:
        rows, links, shares = self._entries(a, b)
        order = np.argsort(rows, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(a)))])
        return Routes(starts.astype(np.int64), links[order], shares[order], number)
