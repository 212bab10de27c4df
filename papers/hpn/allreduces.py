# SPDX-License-Identifier: Apache-2.0
"""AllReduces at once over an HPN Pod, with connections by search, at random or by five-tuple, flow by flow.

Each job is a ring a rail, which leads from segment to segment at every hop. All hops of a step begin
together and have the same to send; a step takes until the last of them is done. Frames, queues and delays are
left out. What connections get is max-min fair; with `least-unfinished` one that is done takes from the others
of its hop, with `random` each has its share of messages and no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    """Creation and choice of the `count` connections of a pair."""

    name: str
    paths: Paths
    count: int
    choose: Choose

    def __post_init__(self) -> None:
        if self.count < 2 or self.count % 2:
            raise ModelError(
                f"{self.count} connections do not divide evenly over the two ports of a NIC",
                remedy="give each port as many",
            )


KINDS = (
    Kind("search, least unfinished", "search", 4, "least-unfinished"),
    Kind("random, least unfinished", "random", 4, "least-unfinished"),
    Kind("random, any", "random", 4, "random"),
    Kind("five-tuple, any", "five-tuple", 2, "random"),
)


@final
@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs on all GPUs of a Pod: four on 512, as in the paper, in two segments unless said otherwise."""

    jobs: int = 4
    shape: Shape = field(default_factory=lambda: planned(2, 32, 8, aggs=60))

    @property
    def gpus(self) -> int:
        return self.shape.gpus


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """Bytes towards NICs by their two ports, and from aggregation switches to the ToRs of a set, as loads.

    `nic` is the heavier port's load over the lighter's, each a mean over NICs. `idle` is the share of links
    down to a ToR that carry nothing while their switch sends to that set.
    """

    nic: float
    idle: float


def rings(work: Workload) -> tuple[Gpus, Gpus]:
    """Source and target of each hop; hosts of a job are dealt over the segments."""
    shape = work.shape
    if shape.hosts % work.jobs or shape.segments < 2:
        raise ModelError(
            f"{work.jobs} jobs cannot share {shape.segments} segments of {shape.hosts} hosts",
            remedy="give each job as many hosts of each of two segments or more",
        )
    host, segment = (index.ravel() for index in np.indices((shape.hosts // work.jobs, shape.segments)))
    job, rail = (index.ravel() for index in np.indices((work.jobs, shape.rails)))
    place = np.arange(len(host))
    ends = []
    for at in (place, np.roll(place, -1)):
        own = host[at][None, :] * work.jobs + job[:, None]
        ends.append(Gpus.of(np.broadcast_to(segment[at], own.shape), own, rail[:, None]))
    return ends[0], ends[1]


def lbs(pod: Pod, source: Gpus, target: Gpus, kind: Kind, draw: np.random.Generator) -> Ints:
    """Return the values of lb by hop, shape (hops, count); ports take turns."""
    aggs, each = pod.shape.aggs, kind.count // 2
    values = np.arange(LB_VALUES)
    by_port = [values[pod.port(values) == port] for port in (0, 1)]
    ends = pod.addresses(source), pod.addresses(target)
    result = np.zeros((len(source), each, 2), np.int64)
    for port, own in enumerate(by_port):
        # In the order in which a pair looks at them.
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
            f"a port has only {len(first)} disjoint paths", remedy=f"ask for {2 * len(first)} or fewer"
        )
    return values[np.sort(first)[:count]]


def step(work: Workload, kind: Kind, seed: int = 0, hashing: Hashing = "per-tier") -> float:
    """Return a step's time divided by its time when flows share only the NICs' own ports."""
    pod = Pod(work.shape, hashing)
    source, target = rings(work)
    values = lbs(pod, source, target, kind, np.random.default_rng(seed))
    hops = len(source)
    hop = np.repeat(np.arange(hops), kind.count)
    links = pod.links(source[hop], target[hop], values.ravel())
    flows = _routes(links)
    ports = float(work.shape.tors)
    if kind.choose == "least-unfinished":
        return _drained(flows, hop, np.full(hops, ports), pod.capacities)
    rows = np.arange(len(hop))
    return _drained(flows, rows, np.full(len(rows), ports / kind.count), pod.capacities)


def steps(work: Workload, seeds: Sequence[int], kinds: Sequence[Kind] = KINDS) -> Mapping[str, Floats]:
    """Return the times of a step by name of the kind, one for each seed."""
    return {kind.name: np.array([step(work, kind, seed) for seed in seeds]) for kind in kinds}


def imbalance(shape: Shape, hashing: Hashing, count: int = 4, seed: int = 0) -> Spread:
    """Return the imbalance of a job on all hosts, with `count` drawn values of lb a hop."""
    work, kind = Workload(1, shape), Kind("", "random", count, "random")
    pod = Pod(shape, hashing)
    source, target = rings(work)
    values = lbs(pod, source, target, kind, np.random.default_rng(seed))
    hop = np.repeat(np.arange(len(source)), count)
    links = pod.links(source[hop], target[hop], values.ravel())
    loads = np.bincount(links[links >= 0], minlength=len(pod.capacities)).astype(float)
    nic = pod.nic_loads(loads)
    sets = pod.set_loads(loads)
    if pod.planes > 1:  # a switch has one link to a set: all it sends there is on that one
        idle = 0.0
    else:
        # Sets that get enough from a switch for either link to have some.
        busy = sets.sum(axis=2) > 2
        idle = float((sets[busy].min(axis=1) == 0).mean()) if busy.any() else 0.0
    return Spread(float(nic.max(axis=1).mean() / nic.min(axis=1).mean()), idle)


def _routes(links: Ints) -> Routes:
    used = links >= 0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
    return Routes(starts, links[used], np.ones(int(used.sum())), np.ones(len(links)))


def _drained(flows: Routes, pool: Ints, amounts: Floats, capacities: Floats) -> float:
    """Time until all pools of flows have sent their amounts; flows of a pool share what is left of it."""
    left, passed = amounts.copy(), 0.0
    while (going := left > 0).any():
        counts = flows.counts * going[pool]
        rates = max_min(Routes(flows.starts, flows.links, flows.weights, counts), capacities, limits=_MOST)
        together = np.bincount(pool, rates * counts, len(left))
        passing = float((left[going] / together[going]).min())
        passed += passing
        left = np.where(going & (left > together * passing * (1 + _EQUAL)), left - together * passing, 0.0)
    return passed


# A rate that no flow has: keeps rows that have ended without an endless one.
_MOST = 1e9
# Ends that differ by less than this part of them are one.
_EQUAL = 1e-6
