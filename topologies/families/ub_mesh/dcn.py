# SPDX-License-Identifier: Apache-2.0
"""Size of the datacenter network above SuperPods, a Clos of two levels of HRS (UB-Mesh, DCN).

This module computes numbers and builds no fabric.
"""

from dataclasses import dataclass
from typing import final

from topologies.errors import TopologyError
from topologies.families.ub_mesh.parts import HRS_LANES

__all__ = ["DcnClos", "dcn_clos"]


@final
@dataclass(frozen=True, slots=True)
class DcnClos:
    """Switches and links of a two-level Clos.

    `uplinks`: links from SuperPods to leaves; `trunks`: links from leaves to spines, of `trunk_lanes` lanes.
    """

    npus: int
    leaves: int
    spines: int
    uplinks: int
    trunks: int
    trunk_lanes: int

    @property
    def switches(self) -> int:
        return self.leaves + self.spines

    @property
    def links(self) -> int:
        return self.uplinks + self.trunks


def dcn_clos(
    superpods: int,
    *,
    npus: int = 8192,
    lanes: int = 1024,
    link_lanes: int = 4,
    switch_lanes: int = HRS_LANES,
) -> DcnClos:
    """Return a Clos without oversubscription that joins SuperPods.

    UB-Mesh names this network, with UB switches or by the network cards of CPUs, and gives no numbers. The
    default of `lanes` is an assumption (x8 a rack); the number of switches is derived. Half of a leaf's lanes
    lead to SuperPods, and the other half is shared equally between all spines. TopologyError when two levels
    cannot join the SuperPods.

    Args:
        superpods: number of SuperPods.
        npus: NPUs of a SuperPod.
        lanes: lanes out of a SuperPod.
        link_lanes: lanes of a link from a SuperPod to a leaf.
        switch_lanes: lanes of a switch.
    """
    counts = {"superpods": superpods, "npus": npus, "lanes": lanes, "link_lanes": link_lanes}
    for name, value in (counts | {"switch_lanes": switch_lanes}).items():
        if value <= 0:
            raise TopologyError(f"{name} is {value}, which is not above 0", remedy="give a number above 0")
    if lanes % link_lanes:
        raise TopologyError(
            f"lanes is {lanes}, which does not make whole links of x{link_lanes}",
            remedy=f"use a multiple of {link_lanes}",
        )
    uplinks = superpods * (lanes // link_lanes)
    below = switch_lanes // 2 // link_lanes
    if not below:
        raise TopologyError(
            f"link_lanes is {link_lanes}, which is more than half of a switch of x{switch_lanes}",
            remedy="use thinner links or wider switches",
        )
    leaves = -(-uplinks // below)
    if leaves == 1:
        return DcnClos(superpods * npus, 1, 0, uplinks, 0, 0)
    up = switch_lanes - switch_lanes // 2
    # The fewest spines that can join all leaves and divide the lanes of a leaf equally.
    equal = (count for count in range(1, up + 1) if up % count == 0)
    spines = next((count for count in equal if leaves * (up // count) <= switch_lanes), None)
    if spines is None:
        raise TopologyError(
            f"{superpods} SuperPods need {leaves} leaves; a spine of x{switch_lanes} reaches {switch_lanes}",
            remedy="use fewer SuperPods or lanes, or wider switches",
        )
    return DcnClos(superpods * npus, leaves, spines, uplinks, leaves * spines, up // spines)
