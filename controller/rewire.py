# SPDX-License-Identifier: Apache-2.0
"""Circuits that follow what jobs send, and the plans of a change that loses no frame (LumosCore).

A change has two plans: one on the circuits that stay, for the time in which the others are dark, and one on
those that then stand. Whoever keeps its circuits keeps its routes.
"""

from collections.abc import Iterable, Mapping, Set

import numpy as np
from numpy.typing import NDArray

from controller.circuits import CircuitPlan, light_spare, realise
from controller.diff import Update, diff
from controller.plan import Entry, Plan
from controller.planner import make_plan
from controller.weights import Demand, Pair
from topologies import Fabric
from topologies.lumos import core_of, crossconnects, maps_of, with_maps
from topologies.optical import with_maps as with_crossconnects

__all__ = ["Crossconnects", "circuits_for", "pod_traffic", "replanned", "shares", "staying"]

Crossconnects = Mapping[str, Mapping[int, int]]
"""What each optical switch joins, by its name; those left out stay as they are."""


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


def shares(traffic: NDArray[np.int64], ports: int) -> NDArray[np.int64]:
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


def circuits_for(fabric: Fabric, demand: Demand) -> dict[str, dict[int, int]]:
    """What optical switches are to join for such a demand; few of the fabric's circuits move.

    Ports that the demand has no use for keep theirs, or get others. PlanError when there are more pairs of
    Pods to join than ports.
    """
    core = core_of(fabric)
    standing = CircuitPlan.of(np.array(maps_of(fabric)))
    spines = len(core.groups)
    wanted = shares(pod_traffic(fabric, demand), spines * core.ports)
    made = realise(wanted, spines, core.ports, standing=standing)
    lit = light_spare(made, standing=standing)
    return crossconnects(with_maps(fabric, lit.maps.tolist()))


def staying(fabric: Fabric, circuits: Crossconnects) -> Fabric:
    """The fabric with those circuits alone that stand now and are to stand then."""
    now = crossconnects(fabric)
    both = {
        name: {low: high for low, high in joined.items() if now[name].get(low) == high}
        for name, joined in circuits.items()
    }
    return with_crossconnects(fabric, both)


def replanned(
    plan: Plan,
    fabric: Fabric,
    *,
    peers: Iterable[Pair],
    demand: Demand | None,
    installed: Mapping[str, Iterable[Entry]],
    down: Set[str] = frozenset(),
) -> tuple[Plan, dict[str, tuple[Update, ...]]]:
    """The same for a fabric of other circuits, and what is to be written; `down` are links that failed.

    PlanError when a pair has no path.
    """
    known = {link.name for link in fabric.links}
    new = make_plan(
        fabric,
        strategy=plan.strategy,
        rules=plan.rules,
        demand=demand,
        peers=peers,
        failed=frozenset(down) & known,
    )
    return new, {name: diff(installed[name], entries) for name, entries in new.entries.items()}
