# SPDX-License-Identifier: Apache-2.0
"""Parts of UB-Mesh and of alternative networks: switches, and lanes of cable by kind.

Published (UB-Mesh, §6.2 to §6.4): the names of the networks, the LRS and HRS of their racks, and the lanes of
an NPU to other racks.

Derived here: the number of HRS above the racks. They carry all lanes out of the racks without contention: in
one stage if every rack can reach every HRS, otherwise in two stages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from papers.ub_mesh.structure import SUPERPOD, SuperPod

__all__ = ["CLOS_LANES", "Parts", "clos", "one_d_a", "one_d_b", "saved", "two_d_clos", "ub_mesh"]

# LRS and HRS of a rack in the alternatives of Fig. 16 (UB-Mesh, §6.2). 1D-FM-A has 36 LRS and four HRS,
# 1D-FM-B four LRS and two HRS on each of four backplanes.
ONE_D_A_LRS, ONE_D_A_HRS = 36, 4
ONE_D_B_LRS, ONE_D_B_HRS = 16, 8

# Lanes of an NPU in x64T Clos, the Clos of the paper's comparison.
CLOS_LANES = 64


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """Numbers of switches and of lanes of cable.

    A lane of optical cable uses a lane of an optical module at both ends.
    """

    name: str
    npus: int
    lrs: int
    hrs: int
    passive_lanes: int
    active_lanes: int
    optical_lanes: int


def ub_mesh(pod: SuperPod = SUPERPOD) -> Parts:
    """Return the parts of UB-Mesh: direct links between the racks of a Pod, HRS between Pods."""
    lanes = pod.cable_lanes
    return Parts(
        "4D-FM + Clos (UB-Mesh)",
        pod.npus,
        pod.lrs,
        pod.hrs,
        round(lanes["passive, 1 m"]),
        round(lanes["active, 10 m"]),
        round(lanes["optical, 100 m"]),
    )


def two_d_clos(pod: SuperPod = SUPERPOD, stages: int = 1) -> Parts:
    """Return the parts of a network of UB-Mesh racks and HRS: every lane out of a rack leads to an HRS.

    With one stage, every rack has an x4 link to each HRS. With two stages, the HRS are leaves and spines.
    """
    out = pod.rack_output_lanes * pod.racks
    passive = sum(pod.copper_lanes_per_rack.values()) * pod.racks
    hrs = out // pod.hrs_lanes if stages == 1 else 3 * out // pod.hrs_lanes
    return Parts(f"2D-FM + x{pod.uplink_lanes} Clos", pod.npus, pod.lrs, hrs, passive, 0, stages * out)


def one_d_a(pod: SuperPod = SUPERPOD) -> Parts:
    """Return the parts of 1D-FM-A: full mesh on a board, LRS between boards.

    Four HRS a rack, and another stage of HRS above, carry x16 of each NPU.
    """
    return _one_d("1D-FM-A", pod, ONE_D_A_LRS, ONE_D_A_HRS, lrs_lanes=pod.uplink_lanes, up_lanes=16)


def one_d_b(pod: SuperPod = SUPERPOD) -> Parts:
    """Return the parts of 1D-FM-B: full mesh on a board, eight HRS a rack between boards.

    These HRS, and another stage of HRS above, carry x32 of each NPU.
    """
    return _one_d("1D-FM-B", pod, ONE_D_B_LRS, ONE_D_B_HRS, lrs_lanes=4, up_lanes=32)


def clos(lanes: int = CLOS_LANES, pod: SuperPod = SUPERPOD) -> Parts:
    """Return the parts of a Clos network of two stages, with HRS as leaves and spines.

    Half of the lanes of a leaf lead to NPUs over copper, the other half to spines over optical cables.
    """
    out = pod.npus * lanes
    leaves, spines = 2 * out // pod.hrs_lanes, out // pod.hrs_lanes
    # The paper writes x64T, and does not explain the T.
    name = "x64T Clos" if lanes == CLOS_LANES else f"x{lanes} Clos"
    return Parts(name, pod.npus, 0, leaves + spines, out, 0, out)


def saved(few: int, many: int) -> float:
    """Return the percentage of parts saved by `few` instead of `many`."""
    return 100 * (1 - few / many)


def _one_d(name: str, pod: SuperPod, lrs: int, hrs: int, *, lrs_lanes: int, up_lanes: int) -> Parts:
    """Return the parts of a network with full meshes on boards only; a rack has `lrs` LRS and `hrs` HRS.

    An NPU has `lrs_lanes` to LRS of its rack, and `up_lanes` through HRS of its rack to the stage above.
    """
    out = pod.npus * up_lanes
    board = pod.npus_per_rack * (pod.slots - 1) // 2 * pod.peer_lanes
    to_lrs = pod.npus_per_rack * lrs_lanes
    among_lrs = max(0, lrs * pod.lrs_lanes - to_lrs - pod.device_lanes) // 2
    in_rack = board + to_lrs + among_lrs + pod.device_lanes + pod.npus_per_rack * up_lanes
    return Parts(
        f"{name} + x{up_lanes} Clos",
        pod.npus,
        lrs * pod.racks,
        hrs * pod.racks + out // pod.hrs_lanes,
        in_rack * pod.racks,
        0,
        out,
    )
