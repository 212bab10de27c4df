# SPDX-License-Identifier: Apache-2.0
"""Alternative racks (UB-Mesh, Fig. 16): links along Y, or all links, through switches.

The paper gives the links and the lanes of an NPU, and leaves open how lanes are distributed over switches.
Each docstring marks its distribution as derived.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

from topologies.families.declaration import Source, Spec, bps, family, ns
from topologies.families.full_mesh import (
    LANE_RATE_GBPS,
    LINK_DELAY_NS,
    NPU_LANES,
    UB_MESH,
    HostLanes,
    LaneRate,
)
from topologies.families.ub_mesh.fabrics import PLANES, UB_RACK_DIMS, UPLINK_LANES, RackDims
from topologies.families.ub_mesh.parts import (
    CPU_LANES,
    HRS_LANES,
    LANE_REMEDIES,
    LRS_LANES,
    PEER_LANES,
    UB_ADDRESS_PLAN,
    AddressClass,
    Cpus,
    Delay,
    PeerLanes,
    Planes,
    Rack,
    Shape,
    Spares,
    device_lanes,
    device_names,
    hrs_address,
    lrs_address,
    mesh_boards,
    plane_lanes,
    put_devices,
    put_npus,
    share,
)
from topologies.model import Fabric, NodeKind
from topologies.model.wiring import Wiring

__all__ = ["BOARD_LANES", "CLOS_LRS", "HRS_UPLINK_LANES", "ub_rack_1dfm_a", "ub_rack_1dfm_b", "ub_rack_clos"]

# Lanes of an NPU towards other boards (UB-Mesh, 1D-FM-A).
BOARD_LANES = 16
# Lanes of an NPU towards HRS (UB-Mesh, 1D-FM-B).
HRS_UPLINK_LANES = 32
# Lanes of an NPU towards the LRS for CPUs and the spare NPU: derived, the remaining lanes.
DEVICE_UPLINK_LANES = 8
# LRS of a rack as a Clos (UB-Mesh).
CLOS_LRS = 72

# Limit of the addresses: half of the LRS in class LRS, half in class LRS_MORE.
MAX_LRS = 128

# LRS of a plane in 1D-FM-B (UB-Mesh).
LRS_OF_A_PLANE = 4

Hrs = Annotated[int, Spec("HRS of the rack", at_least=1)]
HrsUplinkLanes = Annotated[int, Spec("lanes from an NPU to HRS", at_least=1)]


@family(
    "rack as 1D-FM-A: boards in a full mesh, each slot through 4 LRS, 4 HRS for other racks",
    source=Source(UB_MESH, "Fig. 16"),
)
def ub_rack_1dfm_a(
    *,
    dims: RackDims = UB_RACK_DIMS,
    planes: Planes = PLANES,
    hrs: Hrs = 4,
    spares: Spares = 1,
    cpus: Cpus = 1,
    lane_rate_gbps: LaneRate = LANE_RATE_GBPS,
    lanes: PeerLanes = PEER_LANES,
    board_lanes: Annotated[int, Spec("lanes from an NPU to LRS for other boards", at_least=1)] = BOARD_LANES,
    uplink_lanes: HrsUplinkLanes = UPLINK_LANES,
    host_lanes: HostLanes = NPU_LANES,
    delay_ns: Delay = LINK_DELAY_NS,
) -> Fabric:
    """Build 1D-FM-A: a full mesh on each board; LRS between boards; HRS to other racks.

    An NPU has x16 to LRS and x16 to four HRS. The paper does not give the links of the LRS; they are derived
    here. Each of four planes has an LRS for each slot (an NPU's position on its board), with x4 to the NPU in
    that slot of every board. One further LRS of a plane leads to CPUs, the spare NPU, and by x4 to each other
    LRS of the plane. These make 36 LRS, as in the paper's first version. Each HRS has x4 to every NPU, and
    the same number of lanes upwards, which are not in this fabric.
    """
    shape, delay_ps = Shape.of(dims, 2), ns(delay_ns)
    thin = plane_lanes(planes, board_lanes, "board_lanes")
    device = {
        "spare": device_lanes(spares, planes, "spares"),
        "cpu": device_lanes(cpus, planes, "cpus"),
    }
    wiring = _start(
        dims, shape, spares=spares, cpus=cpus, lane_rate_bps=bps(lane_rate_gbps), host_lanes=host_lanes
    )
    rack = Rack(0)
    for plane in range(planes):
        for slot in range(shape.slots):
            _lrs(wiring, f"lrs0p{plane}n{slot}", lrs_address(rack, plane, slot))
        if spares + cpus:
            _lrs(wiring, f"lrs0p{plane}c0", rack.address(AddressClass.LRS_OF_DEVICES, y=plane, x=0), tier=2)
    _hrs(wiring, hrs)
    mesh_boards(wiring, shape, rack, lanes=lanes, delay_ps=delay_ps)
    for plane in range(planes):
        prefix = f"lrs0p{plane}"
        for slot in range(shape.slots):
            for board in range(shape.boards):
                ends = shape.npu(rack, board, slot), f"{prefix}n{slot}"
                wiring.link(*ends, lanes=thin, delay_ps=delay_ps, labels=(f"p{plane}", f"npu{board}"))
            if spares + cpus:
                ends = f"{prefix}n{slot}", f"{prefix}c0"
                wiring.link(*ends, lanes=thin, delay_ps=delay_ps, labels=("c0", f"n{slot}"))
        for kind, name in _devices(rack, spares, cpus):
            ends = name, f"{prefix}c0"
            wiring.link(*ends, lanes=device[kind], delay_ps=delay_ps, labels=(f"p{plane}", kind))
    _join_hrs(wiring, shape, hrs, lanes=share("uplink_lanes", uplink_lanes, "hrs", hrs), delay_ps=delay_ps)
    return _done(wiring, "ub-rack-1dfm-a", delay_ps)


@family(
    "rack as 1D-FM-B: boards in a full mesh, the rest through 8 HRS, the CPU through 16 LRS",
    source=Source(UB_MESH, "Fig. 16"),
)
def ub_rack_1dfm_b(
    *,
    dims: RackDims = UB_RACK_DIMS,
    planes: Planes = PLANES,
    hrs: Hrs = 8,
    spares: Spares = 1,
    cpus: Cpus = 1,
    lane_rate_gbps: LaneRate = LANE_RATE_GBPS,
    lanes: PeerLanes = PEER_LANES,
    uplink_lanes: HrsUplinkLanes = HRS_UPLINK_LANES,
    host_lanes: HostLanes = NPU_LANES,
    delay_ns: Delay = LINK_DELAY_NS,
) -> Fabric:
    """Build 1D-FM-B: boards in a full mesh, other boards and racks through HRS, CPUs through LRS.

    An NPU has x32 to eight HRS; a plane has 4 LRS. Derived: each HRS has x4 to every NPU, and the same number
    of lanes upwards, which are not in this fabric. Each of the 16 LRS has x2 to the NPUs of every fourth
    board, to the spare NPU and to the CPU.
    """
    shape, delay_ps = Shape.of(dims, 2), ns(delay_ns)
    thin = plane_lanes(planes, DEVICE_UPLINK_LANES, "lanes towards LRS")
    many = min(LRS_OF_A_PLANE, shape.boards) if spares + cpus else 0
    device = {
        "spare": share("lanes of a spare NPU", CPU_LANES, "LRS and spares", planes * many * spares),
        "cpu": share("lanes of a CPU", CPU_LANES, "LRS and cpus", planes * many * cpus),
    }
    wiring = _start(
        dims, shape, spares=spares, cpus=cpus, lane_rate_bps=bps(lane_rate_gbps), host_lanes=host_lanes
    )
    rack = Rack(0)
    for plane in range(planes):
        for i in range(many):
            _lrs(wiring, f"lrs0p{plane}c{i}", rack.address(AddressClass.LRS_OF_DEVICES, y=plane, x=i))
    _hrs(wiring, hrs)
    mesh_boards(wiring, shape, rack, lanes=lanes, delay_ps=delay_ps)
    for plane in range(planes):
        for board in range(shape.boards if many else 0):
            for slot in range(shape.slots):
                ends = shape.npu(rack, board, slot), f"lrs0p{plane}c{board % many}"
                back = f"npu{board * shape.slots + slot}"
                wiring.link(*ends, lanes=thin, delay_ps=delay_ps, labels=(f"p{plane}", back))
        for kind, name in _devices(rack, spares, cpus):
            for i in range(many):
                ends = name, f"lrs0p{plane}c{i}"
                wiring.link(*ends, lanes=device[kind], delay_ps=delay_ps, labels=(f"p{plane}c{i}", kind))
    _join_hrs(wiring, shape, hrs, lanes=share("uplink_lanes", uplink_lanes, "hrs", hrs), delay_ps=delay_ps)
    return _done(wiring, "ub-rack-1dfm-b", delay_ps)


@family("rack as a Clos: all lanes of 64+1 NPUs on 72 LRS", source=Source(UB_MESH, "Fig. 16"))
def ub_rack_clos(
    *,
    dims: RackDims = UB_RACK_DIMS,
    lrs: Annotated[int, Spec("LRS of the rack", at_least=1, at_most=MAX_LRS)] = CLOS_LRS,
    spares: Spares = 1,
    cpus: Cpus = 1,
    lane_rate_gbps: LaneRate = LANE_RATE_GBPS,
    lanes: Annotated[int, Spec("lanes from an NPU to each LRS", at_least=1)] = 1,
    host_lanes: HostLanes = NPU_LANES,
    delay_ns: Delay = LINK_DELAY_NS,
) -> Fabric:
    """Build a rack without direct links: all 72 lanes of every NPU lead to 72 LRS, x1 to each.

    Derived: the spare NPU also has x1 to each LRS. A CPU has x32: x1 to each of 32
    consecutive LRS, after the LRS of the previous CPU.
    """
    shape, delay_ps = Shape.of(dims, 2), ns(delay_ns)
    wiring = _start(
        dims, shape, spares=spares, cpus=cpus, lane_rate_bps=bps(lane_rate_gbps), host_lanes=host_lanes
    )
    rack = Rack(0)
    for number in range(lrs):
        of = AddressClass.LRS if number < MAX_LRS // 2 else AddressClass.LRS_MORE
        # Each LRS is a plane of its own.
        _lrs(wiring, f"lrs0p{number}n0", rack.address(of, y=number % 64 // 8, x=number % 8))
    for number in range(lrs):
        for board in range(shape.boards):
            for slot in range(shape.slots):
                ends = shape.npu(rack, board, slot), f"lrs0p{number}n0"
                back = f"npu{board * shape.slots + slot}"
                wiring.link(*ends, lanes=lanes, delay_ps=delay_ps, labels=(f"p{number}", back))
        for name in device_names("spare", rack, spares):
            ends = name, f"lrs0p{number}n0"
            wiring.link(*ends, lanes=lanes, delay_ps=delay_ps, labels=(f"p{number}", "spare"))
    reach = min(lrs, CPU_LANES // lanes)
    for i, name in enumerate(device_names("cpu", rack, cpus)):
        for step in range(reach):
            number = (i * reach + step) % lrs
            ends = name, f"lrs0p{number}n0"
            wiring.link(*ends, lanes=lanes, delay_ps=delay_ps, labels=(f"p{number}", "cpu"))
    return _done(wiring, "ub-rack-clos", delay_ps)


def _start(
    dims: Sequence[int], shape: Shape, *, spares: int, cpus: int, lane_rate_bps: int, host_lanes: int
) -> Wiring:
    wiring = Wiring(UB_ADDRESS_PLAN, tuple(dims), lane_rate_bps=lane_rate_bps, host_lanes=host_lanes)
    put_npus(wiring, shape)
    put_devices(wiring, shape, spares=spares, cpus=cpus)
    return wiring


def _lrs(wiring: Wiring, name: str, address: int, tier: int = 1) -> None:
    wiring.node(name, NodeKind.LRS, "ub_switch", address, tier=tier, lanes=LRS_LANES)


def _hrs(wiring: Wiring, count: int) -> None:
    for number in range(count):
        address = hrs_address(number)
        wiring.node(f"hrs{number}", NodeKind.HRS, "ub_switch", address, tier=4, lanes=HRS_LANES)


def _join_hrs(wiring: Wiring, shape: Shape, hrs: int, *, lanes: int, delay_ps: int) -> None:
    """Link every NPU to every HRS of the rack."""
    rack = Rack(0)
    for number in range(hrs):
        for board in range(shape.boards):
            for slot in range(shape.slots):
                ends = shape.npu(rack, board, slot), f"hrs{number}"
                back = f"npu{board * shape.slots + slot}"
                wiring.link(*ends, lanes=lanes, delay_ps=delay_ps, labels=(f"hrs{number}", back))


def _devices(rack: Rack, spares: int, cpus: int) -> Iterator[tuple[str, str]]:
    """Yield kind and name of spare NPUs, then of CPUs."""
    for kind, count in (("spare", spares), ("cpu", cpus)):
        for name in device_names(kind, rack, count):
            yield kind, name


def _done(wiring: Wiring, name: str, delay_ps: int) -> Fabric:
    return wiring.fabric(name, host_delay_ps=delay_ps, groups=((0, 1),), remedies=LANE_REMEDIES)
