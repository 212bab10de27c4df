# SPDX-License-Identifier: Apache-2.0
"""Cross-connects for the demand of jobs, and plans of a circuit change without frame loss (LumosCore).

A change has two plans. The first plan uses only the circuits that stay, while the circuits that move are
dark. The second plan uses the new circuits. Pods that keep their circuits keep their routes. If ports fail,
the working ports carry as many circuits as they can, and `circuit_shortages` names the jobs that lack
circuits.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.circuits.allocation import allocate
from controller.circuits.demand import check_demand
from controller.circuits.plan import CircuitPlan
from controller.circuits.port_availability import allocate_available, fill_unused_ports
from controller.paths.shares.weights import Demand
from controller.plan.entry import Pair
from controller.plan.plan import Plan
from controller.planner import make_plan
from topologies import Fabric
from topologies.families.lumos.core import core_of, crossconnects, crossconnects_of, maps_of
from topologies.model.circuits import circuit_of
from topologies.transform.circuits import with_maps as with_crossconnects

__all__ = [
    "CircuitShortage",
    "CircuitTarget",
    "Crossconnects",
    "OpticalPort",
    "allocate_crossconnects",
    "circuit_shares",
    "circuit_shortages",
    "crossconnects_for",
    "keep_common_circuits",
    "pod_traffic",
    "replan",
    "standing_circuits",
    "unserved_pods",
]

Crossconnects = Mapping[str, Mapping[int, int]]
"""Joined ports of optical switches, by name of the switch; absent switches keep their circuits."""

OpticalPort = tuple[str, int]
"""Name of an optical switch, and number of one of its ports."""


@final
@dataclass(frozen=True, slots=True)
class CircuitShortage:
    """A job with fewer circuits between two Pods than its share `wanted`; the lower Pod comes first."""

    job: str
    pods: tuple[int, int]
    wanted: int
    has: int

    def __str__(self) -> str:
        low, high = self.pods
        return f"job {self.job} has {self.has} of {self.wanted} circuits between Pods {low} and {high}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class CircuitTarget:
    """Crossconnects of the optical switches, by name, for a demand.

    `unserved`, (P, P), marks the pairs of Pods that need a circuit and get none.
    """

    circuits: dict[str, dict[int, int]]
    unserved: NDArray[np.bool_]


def pod_traffic(fabric: Fabric, demand: Demand) -> NDArray[np.int64]:
    """Return bytes between Pods, (P, P), symmetric: the sum of both directions; zero within a Pod."""
    pods = core_of(fabric).pods
    traffic = np.zeros((pods, pods), np.int64)
    for (source, destination), amount in demand.items():
        a, b = fabric.node(source).coordinates[-1], fabric.node(destination).coordinates[-1]
        if a != b:
            traffic[a, b] += amount
            traffic[b, a] += amount
    return traffic


def circuit_shares(traffic: NDArray[np.int64], ports: int) -> NDArray[np.int64]:
    """Return the number of circuits between Pods, (P, P), for their traffic, with `ports` ports a Pod.

    Each pair of Pods with traffic gets one circuit, and further circuits in proportion to its traffic. No Pod
    exceeds its ports, unless it has traffic with more Pods than it has ports. This rule is our own: the paper
    takes demands as given.
    """
    most = traffic.sum(axis=1).max(initial=0)
    if not most:
        return np.zeros_like(traffic)
    joined = (traffic > 0).astype(np.int64)
    left = max(0, ports - int(joined.sum(axis=1).max()))
    return joined + traffic * left // most


def crossconnects_for(fabric: Fabric, demand: Demand) -> dict[str, dict[int, int]]:
    """Return the cross-connects for a demand; few of the fabric's circuits move.

    Ports that the demand does not need keep their circuits or get new circuits. PlanError if a Pod has
    traffic with more Pods than it has ports.
    """
    return allocate_crossconnects(fabric, demand).circuits


def allocate_crossconnects(
    fabric: Fabric, demand: Demand, dark: Set[OpticalPort] = frozenset()
) -> CircuitTarget:
    """Return the cross-connects for a demand when ports are `dark`, and the unserved pairs of Pods.

    With dark ports, pairs of Pods may get fewer circuits than they need, or none. PlanError if a Pod has
    traffic with more Pods than it has ports, dark ports included.
    """
    core = core_of(fabric)
    standing = CircuitPlan.of(np.array(maps_of(fabric)))
    spines, traffic = len(core.groups), pod_traffic(fabric, demand)
    wanted = circuit_shares(traffic, spines * core.ports)
    if dark:
        working = _working_ports(fabric, dark)
        allocated = allocate_available(wanted, standing, working, traffic)
        lit = fill_unused_ports(allocated, standing, working=working)
    else:
        allocated = allocate(wanted, spines, core.ports, standing)
        lit = fill_unused_ports(allocated, standing)
    circuits = crossconnects_of(fabric, lit.maps.tolist())
    return CircuitTarget(circuits, (wanted > 0) & (allocated.counts.sum(axis=0) == 0))


def unserved_pods(
    fabric: Fabric, traffic: NDArray[np.int64], dark: Set[OpticalPort] = frozenset()
) -> NDArray[np.bool_]:
    """Return a mask, (P, P), of pairs of Pods left without a circuit for their traffic by the `dark` ports.

    PlanError if a Pod has traffic with more Pods than it has ports. Without dark ports, all pairs of Pods get
    circuits, so no allocation is computed.
    """
    core = core_of(fabric)
    wanted = circuit_shares(traffic, len(core.groups) * core.ports)
    if not dark:
        check_demand(wanted, len(core.groups) * core.ports)
        return np.zeros_like(wanted, bool)
    standing = CircuitPlan.of(np.array(maps_of(fabric)))
    allocated = allocate_available(wanted, standing, _working_ports(fabric, dark), traffic)
    return (wanted > 0) & (allocated.counts.sum(axis=0) == 0)


def _working_ports(fabric: Fabric, dark: Set[OpticalPort]) -> NDArray[np.bool_]:
    """Return a mask, (H, K/2, P, 2), of even and odd ports of each Pod's spine: False for `dark` ports."""
    core = core_of(fabric)
    works = np.ones((len(core.groups), core.ports // 2, 2, core.pods), bool)
    for h, group in enumerate(core.groups):
        for k, switch in enumerate(group):
            lost = [port for name, port in dark if name == switch.name]
            works[h, k].reshape(-1)[lost] = False
    return works.swapaxes(2, 3)


def standing_circuits(fabric: Fabric, down: Set[str] = frozenset()) -> NDArray[np.int64]:
    """Return the number of circuits between Pods, (P, P), symmetric, without the links `down`."""
    pods = core_of(fabric).pods
    circuits = np.zeros((pods, pods), np.int64)
    for link in fabric.links:
        if link.name not in down and circuit_of(fabric, link.name) is not None:
            a, b = (fabric.node(end.node).coordinates[-1] for end in (link.a, link.b))
            circuits[a, b] += 1
            circuits[b, a] += 1
    return circuits


def circuit_shortages(
    fabric: Fabric, jobs: Mapping[str, Demand], lit: NDArray[np.int64]
) -> tuple[CircuitShortage, ...]:
    """Return the jobs that have fewer circuits between two Pods than they would have if all ports worked.

    `lit`, (P, P), is the number of working circuits between Pods. Jobs that send between two Pods share the
    circuits in proportion to traffic, by highest averages. With fewer circuits, no job gets more.
    """
    core = core_of(fabric)
    traffic = {job: pod_traffic(fabric, demand) for job, demand in jobs.items()}
    if not traffic:
        return ()
    wanted = circuit_shares(sum(traffic.values(), np.zeros_like(lit)), len(core.groups) * core.ports)
    shortages: list[CircuitShortage] = []
    for a, b in np.argwhere(np.triu(wanted > lit)).tolist():
        sent = {job: int(entry[a, b]) for job, entry in traffic.items() if entry[a, b]}
        whole, rest = _highest_averages(int(wanted[a, b]), sent), _highest_averages(int(lit[a, b]), sent)
        shortages += [
            CircuitShortage(job, (a, b), whole[job], rest[job]) for job in sent if rest[job] < whole[job]
        ]
    return tuple(sorted(shortages, key=lambda entry: (list(jobs).index(entry.job), entry.pods)))


def _highest_averages(count: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Return whole shares of `count` in proportion to the weights, by highest averages (Sainte-Laguë)."""
    counts = dict.fromkeys(weights, 0)
    for _ in range(count):
        counts[max(weights, key=lambda name: weights[name] / (2 * counts[name] + 1))] += 1
    return counts


def keep_common_circuits(fabric: Fabric, circuits: Crossconnects) -> Fabric:
    """Return the fabric without the circuits to be removed by a change to `circuits`."""
    now = crossconnects(fabric)
    both = {
        name: {low: high for low, high in joined.items() if now[name].get(low) == high}
        for name, joined in circuits.items()
    }
    return with_crossconnects(fabric, both)


def replan(
    plan: Plan,
    fabric: Fabric,
    *,
    peers: Iterable[Pair],
    demand: Demand | None,
    down: Set[str] = frozenset(),
) -> Plan:
    """Return a plan for a fabric with changed circuits and links `down`; PlanError if a pair has no path."""
    known = {link.name for link in fabric.links}
    return make_plan(
        fabric,
        scheme=plan.scheme,
        strategy=plan.strategy,
        rules=plan.rules,
        hashing=plan.hashing,
        demand=demand,
        peers=peers,
        failed=frozenset(down) & known,
        previous=plan,
    )
