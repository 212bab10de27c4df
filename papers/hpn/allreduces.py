# SPDX-License-Identifier: Apache-2.0
"""Several AllReduces at once in an HPN Pod, at flow level; paths by search, at random or by five-tuple.

A job has a ring on each rail. Every hop of a ring leads to another segment. All hops of a step begin together
with equal amounts; the step ends when the last hop is done. Connections get max-min fair rates; frames,
queues and delays are not modelled.

    least-unfinished  the connections of a hop share its amount: a fast connection sends more
    random            each connection sends an equal part of the hop's amount
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal, final

import numpy as np

from controller.forwarding.pipeline import flow_hash
from controller.path_probing import LB_VALUES, selected_members
from controller.plan.entry import Hashing
from emulation.traffic.host.path_choice import Choose
from harness.errors import ModelError
from papers.flow_level.rates import Floats, Ints, Routes, max_min
from papers.hpn.ecmp import Gpus, Pod
from topologies.families.hpn.shape import Shape, planned

__all__ = ["KINDS", "Kind", "Paths", "Spread", "Workload", "imbalance", "rings", "step", "steps"]

Paths = Literal["search", "random", "five-tuple"]


@final
@dataclass(frozen=True, slots=True)
class Kind:
    """Connections from a GPU to the next GPU of a ring.

    Attributes:
        paths: choice of values of the header field lb; `search`: disjoint paths; `random`, `five-tuple`: any.
        count: number of connections, an even number.
        choose: choice of the connection for each message.
    """

    paths: Paths
    count: int
    choose: Choose

    def __post_init__(self) -> None:
        if self.count < 2 or self.count % 2:
            raise ModelError(
                f"{self.count} connections do not divide evenly over the two ports of a NIC",
                remedy="give a positive even number",
            )


KINDS: Mapping[str, Kind] = {
    "search": Kind("search", 4, "least-unfinished"),
    "random-least": Kind("random", 4, "least-unfinished"),
    "random": Kind("random", 4, "random"),
    "five-tuple": Kind("five-tuple", 2, "random"),
}
"""Kinds of connections by name; the search comes first, before the kinds compared with it."""


@final
@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs sharing all GPUs of a Pod; by default, as in the paper, four on 512 GPUs in two segments."""

    jobs: int = 4
    shape: Shape = field(default_factory=lambda: planned(2, 32, 8, aggs=60))

    @property
    def gpus(self) -> int:
        return self.shape.gpus


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """Imbalance of the links towards NICs.

    Attributes:
        nic: load of a NIC's heavier port divided by that of its lighter port, each a mean over NICs.
        idle: share of pairs of an aggregation switch and a set of ToRs in which one of the two links between
            them carries nothing; only pairs with more than two flows count.
    """

    nic: float
    idle: float


def rings(work: Workload) -> tuple[Gpus, Gpus]:
    """Return the source and the target of each hop; consecutive hosts of a job are in different segments."""
    shape = work.shape
    if shape.hosts % work.jobs or shape.segments < 2:
        raise ModelError(
            f"{work.jobs} jobs cannot share {shape.segments} segments of {shape.hosts} hosts",
            remedy=f"take two or more segments, and a multiple of {work.jobs} as hosts of a segment",
        )
    host, segment = (index.ravel() for index in np.indices((shape.hosts // work.jobs, shape.segments)))
    job, rail = (index.ravel() for index in np.indices((work.jobs, shape.rails)))
    position = np.arange(len(host))
    ends = []
    for at in (position, np.roll(position, -1)):
        own = host[at][None, :] * work.jobs + job[:, None]
        ends.append(Gpus.of(np.broadcast_to(segment[at], own.shape), own, rail[:, None]))
    return ends[0], ends[1]


def lbs(pod: Pod, source: Gpus, target: Gpus, kind: Kind, draw: np.random.Generator) -> Ints:
    """Return the values of lb of each hop's connections, shape (hops, count); ports alternate."""
    aggs, each = pod.shape.aggs, kind.count // 2
    values = np.arange(LB_VALUES)
    by_port = [values[pod.port(values) == port] for port in (0, 1)]
    ends = pod.addresses(source), pod.addresses(target)
    result = np.zeros((len(source), each, 2), np.int64)
    for port, own in enumerate(by_port):
        # The order in which each source examines the values of lb.
        chosen = draw.permuted(np.tile(own, (len(source), 1)), axis=1)
        if kind.paths == "search":
            ways = selected_members(flow_hash(ends[0][:, None], ends[1][:, None], chosen), aggs)
            chosen = np.array([_distinct(*row, each) for row in zip(ways, chosen, strict=True)])
        result[:, :, port] = chosen[:, :each]
    return result.reshape(len(source), kind.count)


def _distinct(ways: Ints, values: Ints, count: int) -> Ints:
    _, first = np.unique(ways, return_index=True)
    if len(first) < count:
        raise ModelError(
            f"{2 * count} disjoint paths need {count} on each of two ports, but a port has only {len(first)}",
            remedy=f"ask for {2 * len(first)} or fewer",
        )
    return values[np.sort(first)[:count]]


def step(work: Workload, kind: Kind, seed: int = 0, hashing: Hashing = "per-tier") -> float:
    """Return the time of a step, as a multiple of its time if only ports of NICs limit the flows."""
    pod, links = _links(work, kind, seed, hashing)
    flows, rows, ports = Routes.padded(links), np.arange(len(links)), float(work.shape.tors)
    if kind.choose == "least-unfinished":
        hop = rows // kind.count
        return _drained(flows, hop, np.full(len(rows) // kind.count, ports), pod.capacities)
    return _drained(flows, rows, np.full(len(rows), ports / kind.count), pod.capacities)


def _links(work: Workload, kind: Kind, seed: int, hashing: Hashing) -> tuple[Pod, Ints]:
    """Return the Pod, and the links of the connections of each hop, `kind.count` rows a hop."""
    pod = Pod(work.shape, hashing)
    source, target = rings(work)
    values = lbs(pod, source, target, kind, np.random.default_rng(seed))
    hop = np.repeat(np.arange(len(source)), kind.count)
    return pod, pod.links(source[hop], target[hop], values.ravel())


@cache
def steps(work: Workload, seeds: range) -> Mapping[str, Floats]:
    """Return the times of a step for each seed, by name of the kind."""
    return {name: np.array([step(work, kind, seed) for seed in seeds]) for name, kind in KINDS.items()}


def imbalance(shape: Shape, hashing: Hashing, count: int = 4, seed: int = 0) -> Spread:
    """Return the imbalance of one job on all hosts, with `count` random values of lb a hop."""
    pod, links = _links(Workload(1, shape), Kind("random", count, "random"), seed, hashing)
    loads = np.bincount(links[links >= 0], minlength=len(pod.capacities)).astype(float)
    nic = pod.nic_loads(loads)
    sets = pod.set_loads(loads)
    if pod.planes > 1:  # a switch has only one link to a set, so none of two is idle
        idle = 0.0
    else:
        # Pairs of a set and a switch with enough flows to use both links.
        busy = sets.sum(axis=2) > 2
        idle = float((sets[busy].min(axis=1) == 0).mean()) if busy.any() else 0.0
    return Spread(float(nic.max(axis=1).mean() / nic.min(axis=1).mean()), idle)


def _drained(flows: Routes, pool: Ints, amounts: Floats, capacities: Floats) -> float:
    """Return the time until all pools have sent their amounts; the flows of a pool drain its amount together.

    Args:
        flows: links of each flow.
        pool: pool of each flow.
        amounts: amount of each pool.
        capacities: capacity of each link.
    """
    left, passed = amounts.copy(), 0.0
    while (going := left > 0).any():
        counts = flows.counts * going[pool]
        rates = max_min(replace(flows, counts=counts), capacities, limits=_MOST)
        together = np.bincount(pool, rates * counts, len(left))
        passing = float((left[going] / together[going]).min())
        passed += passing
        left = np.where(going & (left > together * passing * (1 + _EQUAL)), left - together * passing, 0.0)
    return passed


# Limit of rates, above any real rate: flows that have ended would otherwise have an infinite rate.
_MOST = 1e9
# Flows that end within this relative difference of time count as ending together.
_EQUAL = 1e-6
