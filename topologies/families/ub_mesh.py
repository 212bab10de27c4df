# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh: the rack as a bare mesh, the rack with its planes of switches, the Pod and the SuperPod.

Names and numbers are the paper's, and so is what is linked to what from rack to rack; how lanes are dealt
inside of a rack's switches is derived here: see `topologies.families.ub_mesh_planes`.
"""

from collections.abc import Sequence

from topologies.families.full_mesh import LANE_RATE_BPS, LINK_DELAY_PS, NPU_LANES, mesh_of
from topologies.families.ub_mesh_parts import (
    HRS_DELAY_PS,
    PEER_LANES,
    RACK_DELAY_PS,
    UB_ADDRESS_PLAN,
    Shape,
    positive,
)
from topologies.families.ub_mesh_planes import Planes
from topologies.model.fabric import Fabric

__all__ = [
    "PLANES",
    "UB_ADDRESS_PLAN",
    "UB_POD_DIMS",
    "UB_RACK_DIMS",
    "UB_SUPERPOD_DIMS",
    "UPLINK_LANES",
    "ub_pod",
    "ub_pod_clos",
    "ub_rack",
    "ub_rack_lrs",
    "ub_superpod",
]

# X: slots of a board, Y: boards of a rack.
UB_RACK_DIMS = (8, 8)
# Z: columns, W: rows of racks. Four is how far active electrical cables reach (UB-Mesh).
UB_POD_DIMS = (*UB_RACK_DIMS, 4, 4)
UB_SUPERPOD_DIMS = (*UB_POD_DIMS, 8)

# Lanes of an NPU towards its rack's switches: UB-Mesh's default for what leads to other racks.
UPLINK_LANES = 16

# Derived from x16 an NPU and 18 switches of x72 a plane: x4 an NPU and plane.
PLANES = 4


def ub_rack(
    *, lane_rate_bps: int = LANE_RATE_BPS, lanes: int = PEER_LANES, delay_ps: int = LINK_DELAY_PS
) -> Fabric:
    """64 NPUs and their 448 links, which use 56 of each NPU's 72 lanes.

    The x16 towards the rack's switches (LRS) is not connected: the fabric has no switches, CPUs or spare NPU;
    `ub_rack_lrs` has them.
    """

    def address(coordinates: Sequence[int]) -> int:
        slot, board = coordinates
        return UB_ADDRESS_PLAN.pack(board=board, npu=slot)

    return mesh_of(
        "ub-rack",
        UB_RACK_DIMS,
        address_plan=UB_ADDRESS_PLAN,
        address=address,
        lane_rate_bps=lane_rate_bps,
        lanes=lanes,
        delay_ps=delay_ps,
        host_lanes=NPU_LANES,
    )


def ub_rack_lrs(
    *,
    dims: Sequence[int] = UB_RACK_DIMS,
    planes: int = PLANES,
    spares: int = 1,
    cpus: int = 1,
    lane_rate_bps: int = LANE_RATE_BPS,
    lanes: int = PEER_LANES,
    uplink_lanes: int = UPLINK_LANES,
    host_lanes: int = NPU_LANES,
    delay_ps: int = LINK_DELAY_PS,
) -> Fabric:
    """The rack with its planes of LRS, its spare NPU and its CPU: 64+1 NPUs, 72 LRS (UB-Mesh, rack)."""
    maker = Planes(
        Shape.of(dims, 2),
        tuple(dims),
        planes=planes,
        spares=spares,
        cpus=cpus,
        lane_rate_bps=lane_rate_bps,
        lanes=lanes,
        uplink_lanes=uplink_lanes,
        host_lanes=host_lanes,
        delay_ps=delay_ps,
    )
    maker.racks()
    return maker.fabric("ub-rack-lrs")


def ub_pod(
    *,
    dims: Sequence[int] = UB_POD_DIMS,
    planes: int = PLANES,
    spares: int = 1,
    cpus: int = 1,
    hrs_per_lrs: int = 0,
    lane_rate_bps: int = LANE_RATE_BPS,
    lanes: int = PEER_LANES,
    uplink_lanes: int = UPLINK_LANES,
    host_lanes: int = NPU_LANES,
    delay_ps: int = LINK_DELAY_PS,
    rack_delay_ps: int = RACK_DELAY_PS,
    hrs_delay_ps: int = HRS_DELAY_PS,
) -> Fabric:
    """4 x 4 racks, meshed along rows and along columns by x128 a pair: 1,024 NPUs (UB-Mesh, Pod).

    Each inter-rack LRS links to `hrs_per_lrs` HRS besides; the paper's Pod has its HRS in the SuperPod only.
    """
    maker = Planes(
        Shape.of(dims, 4),
        tuple(dims),
        planes=planes,
        spares=spares,
        cpus=cpus,
        lane_rate_bps=lane_rate_bps,
        lanes=lanes,
        uplink_lanes=uplink_lanes,
        host_lanes=host_lanes,
        delay_ps=delay_ps,
        hrs=hrs_per_lrs,
    )
    maker.racks()
    maker.mesh_racks(rack_delay_ps)
    maker.join_hrs(hrs_delay_ps)
    return maker.fabric("ub-pod")


def ub_pod_clos(
    *,
    dims: Sequence[int] = UB_POD_DIMS,
    planes: int = PLANES,
    spares: int = 1,
    cpus: int = 1,
    lane_rate_bps: int = LANE_RATE_BPS,
    lanes: int = PEER_LANES,
    uplink_lanes: int = UPLINK_LANES,
    host_lanes: int = NPU_LANES,
    delay_ps: int = LINK_DELAY_PS,
    hrs_delay_ps: int = HRS_DELAY_PS,
) -> Fabric:
    """The same racks without the mesh among them: all that a rack puts out leads to HRS (inter-rack Clos).

    Derived: inter-rack LRS j of plane p leads by x32 to the same HRS in every rack, so 16 racks fill 32 HRS.
    """
    maker = Planes(
        Shape.of(dims, 4),
        tuple(dims),
        planes=planes,
        spares=spares,
        cpus=cpus,
        lane_rate_bps=lane_rate_bps,
        lanes=lanes,
        uplink_lanes=uplink_lanes,
        host_lanes=host_lanes,
        delay_ps=delay_ps,
        hrs=1,
    )
    maker.racks()
    maker.join_hrs(hrs_delay_ps, everything=True)
    return maker.fabric("ub-pod-clos")


def ub_superpod(
    *,
    dims: Sequence[int] = UB_SUPERPOD_DIMS,
    planes: int = PLANES,
    spares: int = 1,
    cpus: int = 1,
    hrs_per_lrs: int = 2,
    lane_rate_bps: int = LANE_RATE_BPS,
    lanes: int = PEER_LANES,
    uplink_lanes: int = UPLINK_LANES,
    host_lanes: int = NPU_LANES,
    delay_ps: int = LINK_DELAY_PS,
    rack_delay_ps: int = RACK_DELAY_PS,
    hrs_delay_ps: int = HRS_DELAY_PS,
) -> Fabric:
    """8 Pods behind 64 HRS: 8,192 NPUs in 128 racks (UB-Mesh, SuperPod; the number of HRS is derived)."""
    shape = Shape.of(dims, 5)
    if shape.pods > 1:
        positive(hrs_per_lrs=hrs_per_lrs)  # nothing else joins Pods
    maker = Planes(
        shape,
        tuple(dims),
        planes=planes,
        spares=spares,
        cpus=cpus,
        lane_rate_bps=lane_rate_bps,
        lanes=lanes,
        uplink_lanes=uplink_lanes,
        host_lanes=host_lanes,
        delay_ps=delay_ps,
        hrs=hrs_per_lrs,
    )
    maker.racks()
    maker.mesh_racks(rack_delay_ps)
    maker.join_hrs(hrs_delay_ps)
    return maker.fabric("ub-superpod")
