# SPDX-License-Identifier: Apache-2.0
"""Pods of leaves and spines, joined by optical circuits made for the placed jobs (LumosCore).

Spine h of a Pod has `tau` links to every leaf of the Pod, and as many ports to optical switches as links to
leaves. The optical switches join spine h to the spines h of other Pods. When a job is placed, its steady
phases demand circuits; its other phases get circuits only for unused links of their leaves. When a job
leaves, its circuits stay until another job needs the ports.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache, partial
from itertools import pairwise
from typing import final

import numpy as np

from controller.circuits.bisection import even_split
from controller.circuits.demand import pod_demand
from controller.circuits.leaf import leaf_split, pod_centric_split
from controller.circuits.split import symmetric_split
from harness.errors import ModelError
from papers.flow_level.networks.circuits import at_most, filled, matched, ways
from papers.flow_level.networks.clos import Fabric, between_leaves
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


# Links demanded by a job: two leaves and the number of links between them, as arrays, in both directions.
_Demand = tuple[Ints, Ints, Ints]


@final
class Lumos(Fabric):
    """Fabric of Pods joined by optical circuits.

    Links are numbered in this order: leaf to spine and spine to leaf, both by leaf and spine; then circuits
    by spine, Pod and Pod.

    Args:
        cluster: shape of the cluster.
        wiring: wiring, and demand used to compute circuits.
        tau: links between a leaf and a spine of its Pod.
        dark: seconds for which a new circuit is dark.

    Raises:
        ModelError: The cluster's leaves and `tau` do not make such spines, or `dark` is below 0.
    """

    def __init__(
        self, cluster: Cluster, wiring: Wiring = Wiring.leaf, tau: int = 2, dark: float = 0.0
    ) -> None:
        if tau < 1 or cluster.npus % tau or cluster.leaves * tau % 2 or dark < 0:
            raise ModelError(
                f"Pods of {cluster.leaves} leaves with {cluster.npus} uplinks each cannot have tau {tau} "
                f"and circuits that are dark for {dark:g} s",
                remedy="give a tau that divides the uplinks, an even product of tau and leaves, 0 s or more",
            )
        super().__init__(cluster, f"{wiring}, tau {tau}", np.zeros(0))
        self._wiring, self._tau, self._dark = wiring, tau, dark
        self._spines = cluster.npus // tau
        self._ports = cluster.leaves * tau
        self._leaves = cluster.pods * cluster.leaves
        self._down = self._leaves * self._spines
        self._circuits = 2 * self._down
        # Source leaves, destination leaves and numbers of flows of each phase of a job; and its demand.
        self._flows: dict[int, tuple[tuple[Ints, Ints, Floats], ...]] = {}
        self._demands: dict[int, _Demand] = {}
        # Links demanded between leaves; each spine's part of these links; links demanded between Pods; and
        # circuits by spine, Pod and Pod.
        self._demand = np.zeros((self._leaves, self._leaves), np.int64)
        self._split = np.zeros((self._spines, self._leaves, self._leaves), np.int64)
        self._pods = np.full((0, 0), 0)
        self._counts = self._realised()
        self._settled = self.capacities = self._capacity(self._counts)
        self._spread()

    def admit(self, key: int, job: Job, npus: Ints) -> float:
        self._flows[key] = tuple(between_leaves(self.cluster, phase.pairs, npus) for phase in job.phases)
        self._demands[key] = self._wanted(job, self._flows[key], npus)
        if not len(self._demands[key][0]):
            return 0.0
        # Add up the demands of placed jobs only; demands of jobs that left are dropped.
        self._demand = np.zeros_like(self._demand)
        for a, b, links in self._demands.values():
            np.add.at(self._demand, (a, b), links)
        return self._reconfigure()

    def settle(self) -> None:
        self.capacities = self._settled

    def release(self, key: int) -> None:
        del self._flows[key], self._demands[key]

    def routes(self, key: int) -> tuple[Routes, ...]:
        return tuple(Routes(*self._entries(a, b), counts=number) for a, b, number in self._flows[key])

    def _wanted(self, job: Job, flows: tuple[tuple[Ints, Ints, Floats], ...], npus: Ints) -> _Demand:
        """Return the links demanded by a job.

        A leaf gets at most as many links as the job has NPUs on it. Steady phases come first, with the most
        flows of any of them. Other phases get further links between Pods as far as leaves have links left.
        """
        leaves = np.unique(self.cluster.leaf_of(npus))
        own = np.bincount(self.cluster.leaf_of(npus), minlength=self._leaves)[leaves]
        asked = np.zeros((len(leaves), len(leaves)), np.int64)
        others: list[tuple[int, int, int]] = []
        for phase, (a, b, number) in zip(job.phases, flows, strict=True):
            i, j = np.searchsorted(leaves, a), np.searchsorted(leaves, b)
            if phase.steady:
                need = np.zeros_like(asked)
                need[i, j] = number
                asked = np.maximum(asked, np.maximum(need, need.T))
            else:
                others += zip(i.tolist(), j.tolist(), number.astype(int).tolist(), strict=True)
        pod = self.cluster.pod_of_leaf(leaves).tolist()
        # Reserve a link for any two Pods that only other phases join, before steady phases get links.
        joined = {(pod[i], pod[j]) for i, j in np.argwhere(asked)}
        least = np.zeros_like(asked)
        for i, j, _ in others:
            if pod[i] != pod[j] and (pod[i], pod[j]) not in joined:
                least[[i, j], [j, i]] = 1
                joined |= {(pod[i], pod[j]), (pod[j], pod[i])}
        asked = least + at_most(asked, own - least.sum(axis=1))
        left = own - asked.sum(axis=1)
        for i, j, wanted in others:
            more = min(wanted - asked[i, j], left[i], left[j])
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
        # New circuits are dark until `settle`, and so are those of an earlier job that is still waiting.
        self.capacities = np.minimum(self.capacities, self._settled) if self._dark else self._settled
        self._spread()
        self.version += 1
        return 0.0 if np.array_equal(self._counts, before) else self._dark

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
        self._ways = cache(partial(ways, self._counts))

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
        result = self._ways(i, j)
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
