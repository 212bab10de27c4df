# SPDX-License-Identifier: Apache-2.0
"""Racks of UB-Mesh with their planes of switches, joined by a mesh, by HRS, or by both.

In UB-Mesh, 18 low-radix switches (LRS) of a rack make one switch plane: 8 for NPUs, 8 for other racks, 2 for
CPUs and the spare NPU. The distribution of lanes in a plane is derived here: with four planes, all lanes of
NPUs, LRS and HRS of a SuperPod are used, and 4 x x256 lanes lead out of a rack, as in the paper.

    tier 0  NPU, spare NPU, CPU
    tier 1  n-LRS, for NPUs, one for each board in a plane: to the NPUs of the board, and to all r-LRS and
            c-LRS of the plane
    tier 2  c-LRS, for devices: c0 to spare NPUs, c1 to CPUs, both to all r-LRS of the plane
    tier 3  r-LRS, for other racks: to the r-LRS of equal plane and number in the other racks of the row and
            of the column, and to HRS
    tier 4  HRS: a link to every rack of all Pods
"""

from typing import final

from topologies.families.ub_mesh.parts import (
    HRS_LANES,
    LANE_REMEDIES,
    LRS_LANES,
    UB_ADDRESS_PLAN,
    AddressClass,
    Rack,
    Shape,
    device_lanes,
    device_names,
    hrs_address,
    lrs_address,
    mesh_boards,
    mesh_slots,
    plane_lanes,
    put_devices,
    put_npus,
)
from topologies.model import Fabric, NodeKind
from topologies.model.wiring import Wiring

__all__ = ["RacksWithPlanes"]


@final
class RacksWithPlanes:
    """Builder of racks with planes of LRS; `hrs` is the number of HRS of each inter-rack LRS."""

    def __init__(
        self,
        shape: Shape,
        dims: tuple[int, ...],
        *,
        planes: int,
        spares: int,
        cpus: int,
        lane_rate_bps: int,
        lanes: int,
        uplink_lanes: int,
        host_lanes: int,
        delay_ps: int,
        hrs: int = 0,
    ) -> None:
        self._shape, self._dims, self._planes, self._hrs = shape, dims, planes, hrs
        self._lanes, self._delay_ps = lanes, delay_ps
        self._thin = plane_lanes(planes, uplink_lanes)
        self._devices = (
            ("spare", spares, device_lanes(spares, planes, "spares"), "c0"),
            ("cpu", cpus, device_lanes(cpus, planes, "cpus"), "c1"),
        )
        self._wiring = Wiring(UB_ADDRESS_PLAN, dims, lane_rate_bps=lane_rate_bps, host_lanes=host_lanes)
        put_npus(self._wiring, shape)
        put_devices(self._wiring, shape, spares=spares, cpus=cpus)
        for rack in shape.racks():
            for plane in range(planes):
                self._put_plane(rack, plane)
        for number in range(planes * shape.boards * hrs):
            self._wiring.node(
                f"hrs{number}", NodeKind.HRS, "ub_switch", hrs_address(number), tier=4, lanes=HRS_LANES
            )

    def join_inside(self) -> None:
        """Link the NPUs, devices and switches inside each rack."""
        for rack in self._shape.racks():
            mesh_boards(self._wiring, self._shape, rack, lanes=self._lanes, delay_ps=self._delay_ps)
            mesh_slots(self._wiring, self._shape, rack, lanes=self._lanes, delay_ps=self._delay_ps)
            for plane in range(self._planes):
                self._join_plane(rack, plane)

    def mesh_racks(self, delay_ps: int) -> None:
        """Link the racks of a row, and of a column, in a full mesh between inter-rack LRS of equal name."""
        racks = list(self._shape.racks())
        for dimension, (letter, wide) in enumerate((("z", "column"), ("w", "row")), 2):
            for low in racks:
                for high in racks[low.number + 1 :]:
                    if not _in_line(low, high, wide):
                        continue
                    labels = f"{letter}{getattr(high, wide)}", f"{letter}{getattr(low, wide)}"
                    for name in self._of_rack("r"):
                        self._wiring.link(
                            f"lrs{low.number}{name}",
                            f"lrs{high.number}{name}",
                            lanes=self._thin,
                            delay_ps=delay_ps,
                            labels=labels,
                            dimension=dimension,
                        )

    def join_hrs(self, delay_ps: int, *, everything: bool = False) -> None:
        """Link each inter-rack LRS to its HRS.

        A link has the lanes of one link from below, or with `everything` the lanes of all n-LRS together.
        """
        lanes = self._thin * (self._shape.boards if everything else 1)
        for rack in self._shape.racks():
            for index, name in enumerate(self._of_rack("r")):
                for i in range(self._hrs):
                    self._wiring.link(
                        f"lrs{rack.number}{name}",
                        f"hrs{index * self._hrs + i}",
                        lanes=lanes,
                        delay_ps=delay_ps,
                        labels=(f"hrs{i}", f"rack{rack.number}"),
                    )

    def fabric(self, name: str) -> Fabric:
        # A route takes X and Y in its rack first, then Z and W between switches, then changes the Pod.
        groups = ((0, 1), (2, 3), (4,))[: (len(self._dims) + 1) // 2]
        return self._wiring.fabric(name, host_delay_ps=self._delay_ps, groups=groups, remedies=LANE_REMEDIES)

    def _of_rack(self, group: str) -> list[str]:
        """Return the name suffixes of a rack's LRS of a group (n or r), plane by plane."""
        return [f"p{plane}{group}{i}" for plane in range(self._planes) for i in range(self._shape.boards)]

    def _put_plane(self, rack: Rack, plane: int) -> None:
        for group, tier in (("n", 1), ("r", 3)):
            for i in range(self._shape.boards):
                address = lrs_address(rack, plane, i, inter_rack=group == "r")
                self._put_lrs(f"lrs{rack.number}p{plane}{group}{i}", address, tier)
        for x, (_, count, _, group) in enumerate(self._devices):
            if count:
                address = rack.address(AddressClass.LRS_OF_DEVICES, y=plane, x=x)
                self._put_lrs(f"lrs{rack.number}p{plane}{group}", address, 2)

    def _put_lrs(self, name: str, address: int, tier: int) -> None:
        self._wiring.node(name, NodeKind.LRS, "ub_switch", address, tier=tier, lanes=LRS_LANES)

    def _join_plane(self, rack: Rack, plane: int) -> None:
        boards = range(self._shape.boards)
        prefix = f"lrs{rack.number}p{plane}"
        for board in boards:
            for slot in range(self._shape.slots):
                self._up(self._shape.npu(rack, board, slot), f"{prefix}n{board}", f"p{plane}", f"npu{slot}")
        for lower in boards:
            for upper in boards:
                self._up(f"{prefix}n{lower}", f"{prefix}r{upper}", f"r{upper}", f"n{lower}")
        for kind, count, lanes, group in self._devices:
            if not count:
                continue
            for board in boards:
                self._up(f"{prefix}n{board}", f"{prefix}{group}", group, f"n{board}")
            for board in boards:
                self._up(f"{prefix}{group}", f"{prefix}r{board}", f"r{board}", group)
            for name in device_names(kind, rack, count):
                self._up(name, f"{prefix}{group}", f"p{plane}", kind, lanes)

    def _up(self, low: str, high: str, label: str, back: str, lanes: int = 0) -> None:
        self._wiring.link(low, high, lanes=lanes or self._thin, delay_ps=self._delay_ps, labels=(label, back))


def _in_line(rack: Rack, other: Rack, wide: str) -> bool:
    """Return whether two racks of a Pod differ in the field `wide` alone."""
    same = "row" if wide == "column" else "column"
    return rack.pod == other.pod and getattr(rack, same) == getattr(other, same)
