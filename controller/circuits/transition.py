# SPDX-License-Identifier: Apache-2.0
"""Circuits that follow what jobs send, and the plans of a change that loses no frame (LumosCore).

A change has two plans: one on the circuits that stay, for the time in which the others are dark, and one on
those that then stand. Whoever keeps its circuits keeps its routes. Where ports do not work, what is left
carries as much as it can, and it is said which jobs lack what.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.diff import Update, diff
from controller.plan import Entry, Plan
from controller.planner import make_plan
from controller.routing.weights import Demand, Pair
from topologies import Fabric
from topologies.families.lumos.core import core_of, crossconnects, maps_of, with_maps
from topologies.transform.circuits import circuit_of
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
    "table_updates",
]

Crossconnects = Mapping[str, Mapping[int, int]]
"""What each optical switch joins, by its name; those left out stay as they are."""

OpticalPort = tuple[str, int]
"""An optical switch and one of its ports."""


@final
@dataclass(frozen=True, slots=True)
class CircuitShortage:
    """Of its share of circuits between two Pods a job has just `has`; the lower Pod comes first."""

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
    """What to join for a demand; `cut` says between which Pods, (P, P), it sends and no circuit is found."""

    circuits: dict[str, dict[int, int]]
    unserved: NDArray[np.bool_]


def pod_traffic(fabric: Fabric, demand: Demand) -> NDArray[np.int64]:
    """Bytes between Pods, (P, P), both ways added up and the same in both halves; none inside of a Pod."""
    pods = core_of(fabric).pods
    found = np.zeros((pods, pods), np.int64)
    for (source, far), amount in demand.items():
        a, b = fabric.node(source).coordinates[-1], fabric.node(far).coordinates[-1]
        if a != b:
            found[a, b] += amount
            found[b, a] += amount
    return found


def circuit_shares(traffic: NDArray[np.int64], ports: int) -> NDArray[np.int64]:
    """Circuits in proportion to traffic, (P, P), for Pods of so many ports: at least one where there is any.

    The Pod that sends most has as many as its ports allow. Derived here: the paper takes demands as given.
    """
    most = traffic.sum(axis=1).max(initial=0)
    if not most:
        return np.zeros_like(traffic)
    # One for each pair that sends anything, the others in proportion.
    joined = (traffic > 0).astype(np.int64)
    left = max(0, ports - int(joined.sum(axis=1).max()))
    return joined + traffic * left // most


def crossconnects_for(fabric: Fabric, demand: Demand) -> dict[str, dict[int, int]]:
    """What optical switches are to join for such a demand; few of the fabric's circuits move.

    Ports that the demand has no use for keep theirs, or get others. PlanError when there are more pairs of
    Pods to join than ports.
    """
    return allocate_crossconnects(fabric, demand).circuits


def allocate_crossconnects(
    fabric: Fabric, demand: Demand, dark: Set[OpticalPort] = frozenset()
) -> CircuitTarget:
    """The same where ports of optical switches are `dark`, and whether all that send have circuits then.

    With dark ports some Pods may get fewer than they want, or none between two of them; PlanError still when
    there are more pairs of Pods than ports if all work.
    """
    # Its solvers take as long to import as all else that a run needs.
    from controller.circuits import CircuitPlan, allocate, allocate_available, fill_unused_ports

    core = core_of(fabric)
    standing = CircuitPlan.of(np.array(maps_of(fabric)))
    spines, traffic = len(core.groups), pod_traffic(fabric, demand)
    wanted = circuit_shares(traffic, spines * core.ports)
    if dark:
        working = _working_ports(fabric, dark)
        made = allocate_available(wanted, standing, working, traffic)
        lit = fill_unused_ports(made, standing, working=working)
    else:
        made = allocate(wanted, spines, core.ports, standing)
        lit = fill_unused_ports(made, standing)
    circuits = crossconnects(with_maps(fabric, lit.maps.tolist()))
    return CircuitTarget(circuits, (wanted > 0) & (made.counts.sum(axis=0) == 0))


def _working_ports(fabric: Fabric, dark: Set[OpticalPort]) -> NDArray[np.bool_]:
    """Which ports are left, (H, K/2, P, 2): the even one of each Pod's spine and the odd one."""
    core = core_of(fabric)
    found = np.ones((len(core.groups), core.ports // 2, 2, core.pods), bool)
    for h, group in enumerate(core.groups):
        for k, switch in enumerate(group):
            lost = [port for name, port in dark if name == switch.name]
            found[h, k].reshape(-1)[lost] = False
    return found.swapaxes(2, 3)


def standing_circuits(fabric: Fabric, down: Set[str] = frozenset()) -> NDArray[np.int64]:
    """Circuits that stand and are not `down`, between Pods, (P, P), the same in both halves."""
    pods = core_of(fabric).pods
    found = np.zeros((pods, pods), np.int64)
    for link in fabric.links:
        if link.name not in down and circuit_of(fabric, link.name) is not None:
            a, b = (fabric.node(end.node).coordinates[-1] for end in (link.a, link.b))
            found[a, b] += 1
            found[b, a] += 1
    return found


def circuit_shortages(
    fabric: Fabric, jobs: Mapping[str, Demand], lit: NDArray[np.int64]
) -> tuple[CircuitShortage, ...]:
    """Which jobs have fewer of the circuits `lit` between Pods, (P, P), than their shares of all ports.

    Circuits between two Pods are dealt to the jobs that send between them in proportion to what they send, by
    highest averages, so that none has more when there are fewer.
    """
    core = core_of(fabric)
    traffic = {job: pod_traffic(fabric, demand) for job, demand in jobs.items()}
    if not traffic:
        return ()
    wanted = circuit_shares(sum(traffic.values(), np.zeros_like(lit)), len(core.groups) * core.ports)
    found: list[CircuitShortage] = []
    for a, b in np.argwhere(np.triu(wanted > lit)).tolist():
        sent = {job: int(one[a, b]) for job, one in traffic.items() if one[a, b]}
        whole, rest = _highest_averages(int(wanted[a, b]), sent), _highest_averages(int(lit[a, b]), sent)
        found += [
            CircuitShortage(job, (a, b), whole[job], rest[job]) for job in sent if rest[job] < whole[job]
        ]
    return tuple(sorted(found, key=lambda one: (list(jobs).index(one.job), one.pods)))


def _highest_averages(count: int, weights: Mapping[str, int]) -> dict[str, int]:
    """So many among those that weigh something (Sainte-Lague)."""
    found = dict.fromkeys(weights, 0)
    for _ in range(count):
        found[max(weights, key=lambda one: weights[one] / (2 * found[one] + 1))] += 1
    return found


def keep_common_circuits(fabric: Fabric, circuits: Crossconnects) -> Fabric:
    """The fabric with those circuits alone that stand now and are to stand then."""
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
    """The same for a fabric of other circuits, some of them `down`. PlanError when a pair has no path."""
    known = {link.name for link in fabric.links}
    return make_plan(
        fabric,
        strategy=plan.strategy,
        rules=plan.rules,
        hashing=plan.hashing,
        demand=demand,
        peers=peers,
        failed=frozenset(down) & known,
    )


def table_updates(plan: Plan, installed: Mapping[str, Iterable[Entry]]) -> dict[str, tuple[Update, ...]]:
    """What makes the entries of a plan of those that are installed, node by node."""
    return {name: diff(installed[name], entries) for name, entries in plan.entries.items()}
