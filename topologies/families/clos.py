# SPDX-License-Identifier: Apache-2.0
"""Sizes of folded Clos networks: the fewest tiers, then the fewest switches, without contention.

Half of a switch's ports lead down and half up; in the highest tier all ports lead down. By default a leaf has
as many cables up as down. Every leaf has equally many cables to each spine of its pod, and every spine has
equally many cables to each of its cores. The cables between two switches are a trunk.
"""

from dataclasses import dataclass
from math import ceil
from typing import final

from topologies.errors import TopologyError

__all__ = ["MAX_TIERS", "Clos", "clos", "clos_of"]

# Three tiers of radix 64 hold 65,536 endpoints; there is no fourth tier.
MAX_TIERS = 3


@final
@dataclass(frozen=True, slots=True)
class Clos:
    """Numbers of switches and cables of a folded Clos.

    `leaves`: leaves in all; `below` and `uplinks`: cables of a leaf down and up.
    `pod`: leaves of a pod; `spines`: spines of a pod; `trunk`: cables from a leaf to each spine of its pod.
    `cores`: cores of each spine, shared by the spines of equal number in all pods.
    `core_trunk`: cables from a spine to each of its cores.

    One tier has leaves only; two tiers have a single pod.
    """

    radix: int
    leaves: int
    below: int
    uplinks: int = 0
    pod: int = 1
    spines: int = 0
    trunk: int = 0
    cores: int = 0
    core_trunk: int = 0

    @property
    def tiers(self) -> int:
        return 1 + bool(self.spines) + bool(self.cores)

    @property
    def pods(self) -> int:
        return ceil(self.leaves / self.pod)

    @property
    def all_spines(self) -> int:
        return self.pods * self.spines

    @property
    def all_cores(self) -> int:
        return self.spines * self.cores

    @property
    def switches(self) -> int:
        return self.leaves + self.all_spines + self.all_cores

    @property
    def trunk_cables(self) -> int:
        """Cables between switches."""
        up = self.leaves * self.spines * self.trunk
        return up + self.all_spines * self.cores * self.core_trunk


def clos_of(endpoints: int, radix: int, *, uplinks: int = 0, spines: int = 0) -> Clos:
    """Return the network of the fewest tiers for `endpoints`; `uplinks` and `spines` are as in `clos`."""
    if endpoints < 1:
        raise TopologyError(f"a Clos cannot have {endpoints} endpoints", remedy="give at least one")
    _check_radix(radix)
    if endpoints <= radix:
        return Clos(radix, 1, endpoints)
    leaves = ceil(endpoints / (radix // 2))
    return clos(leaves, ceil(endpoints / leaves), radix, uplinks=uplinks, spines=spines)


def clos(leaves: int, below: int, radix: int, *, uplinks: int = 0, spines: int = 0) -> Clos:
    """Return the network joining the leaves; TopologyError when three tiers do not suffice.

    Args:
        leaves: number of leaves.
        below: endpoints of a leaf.
        radix: ports of a switch.
        uplinks: cables up from a leaf; 0: `below`. Fewer than `below` are an oversubscription.
        spines: spines of a pod; 0: the fewest that have enough ports.
    """
    _check_radix(radix)
    if leaves == 1:
        if below > radix:
            raise TopologyError(
                f"a switch of radix {radix} has too few ports for {below} endpoints",
                remedy=f"use radix {below} or more",
            )
        return Clos(radix, 1, below)
    ups = uplinks or below
    if below + ups > radix:
        raise TopologyError(
            f"a leaf needs {below} ports down and {ups} up, and has {radix}",
            remedy=f"use radix {below + ups} or more, or fewer uplinks",
        )
    if (flat := _fewest(leaves, ups, radix, spines)) is not None:
        return Clos(radix, leaves, below, ups, leaves, flat, ups // flat)
    # The fewest pods, with the leaves spread evenly over them.
    pods = ceil(leaves / (radix // 2))
    pod = ceil(leaves / pods)
    inner = _fewest(pod, ups, radix // 2, spines)
    if inner is None:
        raise TopologyError(
            f"{spines} spines of radix {radix} cannot join {pod} leaves with {ups} uplinks each",
            remedy="give spines 0 for the fewest that suffice, or a divisor of the uplinks",
        )
    climbing = pod * ups // inner
    cores = _fewest(pods, climbing, radix, 0)
    if cores is None:
        raise TopologyError(
            f"{leaves} leaves of radix {radix} are more than {MAX_TIERS} tiers can join",
            remedy="use a larger radix or fewer endpoints",
        )
    return Clos(radix, leaves, below, ups, pod, inner, ups // inner, cores, climbing // cores)


def _fewest(lower: int, uplinks: int, ports: int, wanted: int) -> int | None:
    """Return the fewest switches that take equal shares of the uplinks of each of `lower` switches.

    None if no number fits `ports`, the ports down of a switch. A `wanted` above 0 is the only candidate.
    """
    fitting = (
        count
        for count in ([wanted] if wanted else range(1, uplinks + 1))
        if uplinks % count == 0 and lower * (uplinks // count) <= ports
    )
    return next(fitting, None)


def _check_radix(radix: int) -> None:
    if radix < 2:
        raise TopologyError(f"radix is {radix}, below 2", remedy="give at least 2 ports")
