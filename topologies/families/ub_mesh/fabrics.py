# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh: the rack as a bare mesh, the rack with its planes of switches, the Pod and the SuperPod.

Names, numbers and the links between racks are the paper's. The distribution of lanes over the switches of a
rack is derived: see `topologies.families.ub_mesh.planes`.
"""

from collections.abc import Sequence
from typing import Annotated

from topologies.errors import TopologyError
from topologies.families.declaration import Source, Spec, bps, family, ns
from topologies.families.full_mesh import (
    LANE_RATE_GBPS,
    LINK_DELAY_NS,
    NPU_LANES,
    UB_MESH,
    HostLanes,
    LaneRate,
    LinkDelay,
    LinkLanes,
    mesh_of,
)
from topologies.families.ub_mesh.parts import (
    HRS_DELAY_NS,
    PEER_LANES,
    RACK_DELAY_NS,
    UB_ADDRESS_PLAN,
    Cpus,
    Delay,
    HrsDelay,
    PeerLanes,
    Planes,
    RackDelay,
    Shape,
    Spares,
    UplinkLanes,
)
from topologies.families.ub_mesh.planes import RacksWithPlanes
from topologies.model import Fabric

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
# Z: columns, W: rows of racks. Active electrical cables reach over four racks (UB-Mesh).
UB_POD_DIMS = (*UB_RACK_DIMS, 4, 4)
UB_SUPERPOD_DIMS = (*UB_POD_DIMS, 8)

# Lanes from an NPU to the switches of its rack, for traffic to other racks (UB-Mesh's default).
UPLINK_LANES = 16

# Derived from the x16 of an NPU and from the 18 switches of x72 in a plane: an NPU has x4 to each plane.
PLANES = 4

_RACK = "slots of a board, boards of a rack"
_POD = f"{_RACK}, columns of racks, rows of racks"
RackDims = Annotated[Sequence[int], Spec(f"{_RACK}; at most 8x8", at_least=1)]
PodDims = Annotated[Sequence[int], Spec(f"{_POD}; at most 8x8x4x4", at_least=1)]
SuperPodDims = Annotated[Sequence[int], Spec(f"{_POD}, Pods; at most 8x8x4x4x8", at_least=1)]
HrsPerLrs = Annotated[int, Spec("HRS to which an LRS for other racks leads", at_least=0)]


@family("UB-Mesh rack: 8 boards of 8 NPUs in a 2D full mesh, 448 links", source=Source(UB_MESH, "rack"))
def ub_rack(
    *,
    lane_rate_gbps: LaneRate = LANE_RATE_GBPS,
    lanes: LinkLanes = PEER_LANES,
    delay_ns: LinkDelay = LINK_DELAY_NS,
) -> Fabric:
    """Build 64 NPUs and their 448 links, which use 56 of each NPU's 72 lanes.

    The x16 towards the rack's switches (LRS) is not connected: the fabric has no switches, CPUs or spare NPU.
    `ub_rack_lrs` builds the rack with all of these.
    """

    def address(coordinates: Sequence[int]) -> int:
        slot, board = coordinates
        return UB_ADDRESS_PLAN.pack(board=board, npu=slot)

    return mesh_of(
        "ub-rack",
        UB_RACK_DIMS,
        address_plan=UB_ADDRESS_PLAN,
        address=address,
        lane_rate_bps=bps(lane_rate_gbps),
        lanes=lanes,
        delay_ps=ns(delay_ns),
        host_lanes=NPU_LANES,
    )


@family(
    "UB-Mesh rack with its switches: 64+1 NPUs, a CPU, 72 LRS in 4 planes",
    source=Source(UB_MESH, "rack"),
)
def ub_rack_lrs(
    *,
    dims: RackDims = UB_RACK_DIMS,
    planes: Planes = PLANES,
    spares: Spares = 1,
    cpus: Cpus = 1,
    lane_rate_gbps: LaneRate = LANE_RATE_GBPS,
    lanes: PeerLanes = PEER_LANES,
    uplink_lanes: UplinkLanes = UPLINK_LANES,
    host_lanes: HostLanes = NPU_LANES,
    delay_ns: Delay = LINK_DELAY_NS,
) -> Fabric:
    """Build the rack with its planes of LRS, its spare NPU and its CPU: 64+1 NPUs, 72 LRS (UB-Mesh, rack)."""
    racks = RacksWithPlanes(
        Shape.of(dims, 2),
        tuple(dims),
        planes=planes,
        spares=spares,
        cpus=cpus,
        lane_rate_bps=bps(lane_rate_gbps),
        lanes=lanes,
        uplink_lanes=uplink_lanes,
        host_lanes=host_lanes,
        delay_ps=ns(delay_ns),
    )
    racks.join_inside()
    return racks.fabric("ub-rack-lrs")


@family(
    "UB-Mesh Pod: 4 x 4 racks in a full mesh along rows and along columns, 1,024 NPUs",
    source=Source(UB_MESH, "Pod"),
)
def ub_pod(
    *,
    dims: PodDims = UB_POD_DIMS,
    planes: Planes = PLANES,
    spares: Spares = 1,
    cpus: Cpus = 1,
    hrs_per_lrs: HrsPerLrs = 0,
    lane_rate_gbps: LaneRate = LANE_RATE_GBPS,
    lanes: PeerLanes = PEER_LANES,
    uplink_lanes: UplinkLanes = UPLINK_LANES,
    host_lanes: HostLanes = NPU_LANES,
    delay_ns: Delay = LINK_DELAY_NS,
    rack_delay_ns: RackDelay = RACK_DELAY_NS,
    hrs_delay_ns: HrsDelay = HRS_DELAY_NS,
) -> Fabric:
    """Build 4 x 4 racks in full meshes along rows and along columns, with x128 between two racks.

    The Pod has 1,024 NPUs (UB-Mesh, Pod). Each inter-rack LRS also has links to `hrs_per_lrs` HRS; in the
    paper a Pod has HRS only as part of a SuperPod.
    """
    racks = RacksWithPlanes(
        Shape.of(dims, 4),
        tuple(dims),
        planes=planes,
        spares=spares,
        cpus=cpus,
        lane_rate_bps=bps(lane_rate_gbps),
        lanes=lanes,
        uplink_lanes=uplink_lanes,
        host_lanes=host_lanes,
        delay_ps=ns(delay_ns),
        hrs=hrs_per_lrs,
    )
    racks.join_inside()
    racks.mesh_racks(ns(rack_delay_ns))
    racks.join_hrs(ns(hrs_delay_ns))
    return racks.fabric("ub-pod")


@family(
    "racks of a UB-Mesh Pod joined by 32 HRS alone: a baseline",
    source=Source(UB_MESH, "inter-rack Clos"),
)
def ub_pod_clos(
    *,
    dims: PodDims = UB_POD_DIMS,
    planes: Planes = PLANES,
    spares: Spares = 1,
    cpus: Cpus = 1,
    lane_rate_gbps: LaneRate = LANE_RATE_GBPS,
    lanes: PeerLanes = PEER_LANES,
    uplink_lanes: UplinkLanes = UPLINK_LANES,
    host_lanes: HostLanes = NPU_LANES,
    delay_ns: Delay = LINK_DELAY_NS,
    hrs_delay_ns: HrsDelay = HRS_DELAY_NS,
) -> Fabric:
    """Build the racks of a Pod without direct links between racks: all uplinks of a rack lead to HRS.

    Derived: inter-rack LRS j of plane p of all racks lead to one HRS, by x32 each, so 16 racks fill 32 HRS.
    """
    racks = RacksWithPlanes(
        Shape.of(dims, 4),
        tuple(dims),
        planes=planes,
        spares=spares,
        cpus=cpus,
        lane_rate_bps=bps(lane_rate_gbps),
        lanes=lanes,
        uplink_lanes=uplink_lanes,
        host_lanes=host_lanes,
        delay_ps=ns(delay_ns),
        hrs=1,
    )
    racks.join_inside()
    racks.join_hrs(ns(hrs_delay_ns), everything=True)
    return racks.fabric("ub-pod-clos")


@family("UB-Mesh SuperPod: 8 Pods behind 64 HRS, 8,192 NPUs", source=Source(UB_MESH, "SuperPod"))
def ub_superpod(
    *,
    dims: SuperPodDims = UB_SUPERPOD_DIMS,
    planes: Planes = PLANES,
    spares: Spares = 1,
    cpus: Cpus = 1,
    hrs_per_lrs: HrsPerLrs = 2,
    lane_rate_gbps: LaneRate = LANE_RATE_GBPS,
    lanes: PeerLanes = PEER_LANES,
    uplink_lanes: UplinkLanes = UPLINK_LANES,
    host_lanes: HostLanes = NPU_LANES,
    delay_ns: Delay = LINK_DELAY_NS,
    rack_delay_ns: RackDelay = RACK_DELAY_NS,
    hrs_delay_ns: HrsDelay = HRS_DELAY_NS,
) -> Fabric:
    """Build 8 Pods joined by 64 HRS: 8,192 NPUs in 128 racks (UB-Mesh, SuperPod).

    The number of HRS is derived.
    """
    shape = Shape.of(dims, 5)
    if shape.pods > 1 and not hrs_per_lrs:
        raise TopologyError(
            "hrs_per_lrs is 0, but only HRS join Pods", remedy="give hrs_per_lrs of 1 or more, or 1 Pod"
        )
    racks = RacksWithPlanes(
        shape,
        tuple(dims),
        planes=planes,
        spares=spares,
        cpus=cpus,
        lane_rate_bps=bps(lane_rate_gbps),
        lanes=lanes,
        uplink_lanes=uplink_lanes,
        host_lanes=host_lanes,
        delay_ps=ns(delay_ns),
        hrs=hrs_per_lrs,
    )
    racks.join_inside()
    racks.mesh_racks(ns(rack_delay_ns))
    racks.join_hrs(ns(hrs_delay_ns))
    return racks.fabric("ub-superpod")
