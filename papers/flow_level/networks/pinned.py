# SPDX-License-Identifier: Apache-2.0
"""A Clos whose flows keep the path that a scheduler chooses among all equal-cost paths.

Crux sets the source port of a connection so that the switches' hash yields the chosen path (Crux, section 5);
this model sets the path itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from harness.errors import ModelError
from papers.flow_level.networks.clos import Fabric, Tiers, crossing, grouped
from papers.flow_level.rates import Floats, Ints
from papers.flow_level.workload.jobs import Job
from papers.flow_level.workload.placement import Cluster

__all__ = ["Flows", "Pinned"]

_NO_FLOWS = np.zeros((0, 2), np.int64)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """Flows of a job between leaves, with the candidate paths of each.

    Attributes:
        amounts: amount of each flow.
        paths: links of candidate paths, shape (flows, candidates, links); -1 pads paths and candidates.
        phase: index of each flow's phase.
    """

    amounts: Floats
    paths: Ints
    phase: Ints


@final
class Pinned(Fabric):
    """Clos in which each flow has a path that can be set; at first a hash picks it.

    Args:
        cluster: shape of the cluster.
        spines: spines of each Pod, with a link to each leaf of the Pod.
        cores: cores joined to the spines of the same number in all Pods; 0 for two tiers and one Pod.
        uplink: capacity of a link between leaf and spine, in ports of an NPU.
        trunk: capacity of a link between spine and core, in ports of an NPU.
        connections: connections between two NPUs; each has an equal share of the bytes and a path of its own.
        seed: seed of the hash.
        name: name of the fabric.

    Raises:
        ModelError: A number or capacity is too small, or several Pods have no cores.
    """

    def __init__(
        self,
        cluster: Cluster,
        spines: int,
        cores: int = 0,
        uplink: float = 1.0,
        trunk: float = 1.0,
        connections: int = 1,
        seed: int = 0,
        name: str = "pinned",
    ) -> None:
        if (
            spines < 1
            or cores < 0
            or min(uplink, trunk) <= 0
            or connections < 1
            or (not cores and cluster.pods > 1)
        ):
            raise ModelError(
                f"{cluster.pods} Pods cannot be joined by {spines} spines with {cores} cores each",
                remedy="give at least one spine, links of more than 0 ports, and cores where there are Pods",
            )
        self._tiers = Tiers(cluster, spines, cores)
        super().__init__(cluster, name, np.full(self._tiers.links, uplink, float))
        self.capacities[2 * self._tiers.between :] = trunk
        # Largest rate of a connection: all connections between two NPUs share an NPU's port.
        self.port = 1 / connections
        self._seed, self._connections = seed, connections
        self._flows: dict[int, Flows] = {}
        self._choices: dict[int, Ints] = {}

    def admit(self, key: int, job: Job, npus: Ints) -> float:
        leaves = [crossing(self.cluster, phase.pairs, npus) for phase in job.phases]
        phase = np.repeat(np.arange(len(leaves)), [len(ends) * self._connections for ends in leaves])
        amounts = np.array([phase.amount / self._connections for phase in job.phases])[phase]
        paths = self._paths(np.repeat(np.concatenate([_NO_FLOWS, *leaves]), self._connections, axis=0))
        self._flows[key] = Flows(amounts, paths, phase)
        usable = (paths >= 0).any(axis=2).sum(axis=1)
        rng = np.random.default_rng((self._seed, key))
        self._route(key, (rng.random(len(paths)) * usable).astype(np.int64), len(leaves))
        return 0.0

    def release(self, key: int) -> None:
        super().release(key)
        del self._flows[key], self._choices[key]

    def flows(self, key: int) -> Flows:
        """Return the flows of a job between leaves and their candidate paths."""
        return self._flows[key]

    def pin(self, key: int, choice: Ints) -> None:
        """Set the path of each flow of a job, by the index of the candidate.

        Raises:
            ModelError: A flow has no such candidate.
        """
        if np.array_equal(self._choices[key], choice):
            return
        lacks = self._flows[key].paths[np.arange(len(choice)), choice].max(axis=1, initial=-1) < 0
        if lacks.any():
            flow = int(np.argmax(lacks))
            raise ModelError(
                f"flow {flow} of job {key} has no candidate path {choice[flow]}",
                remedy="choose among the paths of the flow",
            )
        self._route(key, choice.copy(), len(self._routes[key]))
        self.version += 1

    def _paths(self, leaf: Ints) -> Ints:
        """Return the candidate paths of flows: up, to a core and back where Pods differ, then down."""
        spines, cores = self._tiers.spines, self._tiers.cores
        spine = np.repeat(np.arange(spines), max(cores, 1))
        core = np.tile(np.arange(max(cores, 1)), spines)
        paths = self._tiers.paths(leaf, spine, core)
        if cores:
            # Within a Pod there is a path for each spine: pad the other candidates.
            pod = self.cluster.pod_of_leaf(leaf)
            inside = np.flatnonzero(pod[:, 0] == pod[:, 1])
            short = paths[inside][:, ::cores]
            paths[inside] = -1
            paths[inside[:, None], np.arange(spines)] = short
        return paths

    def _route(self, key: int, choice: Ints, phases: int) -> None:
        flows = self._flows[key]
        taken = flows.paths[np.arange(len(choice)), choice]
        self._choices[key] = choice
        self._routes[key] = tuple(
            grouped(taken[flows.phase == phase], 1 / self._connections) for phase in range(phases)
        )
