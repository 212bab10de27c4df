# SPDX-License-Identifier: Apache-2.0
"""A UB-Mesh SuperPod in numbers: NPUs, lanes, cables and switches, counted from its parameters.

The paper gives the shape (UB-Mesh, §3.3: 8 x 8 NPUs a rack, 4 x 4 racks a Pod, 8 Pods), the x72 of an NPU and
of an LRS, the x512 of an HRS, the 18 LRS of a plane, the x128 between two racks and the x16 an NPU has for
other racks. How the lanes of a plane are dealt among its switches is derived here; it is the one split that
uses up every lane of every device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from topologies.model.fabric import Fabric, NodeKind

__all__ = ["SUPERPOD", "TABLE_2", "SuperPod", "fabric_cable_lanes"]

# Share of each kind of cable, in percent (UB-Mesh, Table 2). The last was recalled, not read; it is also what
# the total leaves. The four are as 72 : 6 : 4 : 1.
TABLE_2 = {"passive, 1 m": 86.7, "active, 10 m": 7.2, "optical, 100 m": 4.8, "optical, 1 km": 1.2}

# What the optical cables beyond the SuperPod carry for each lane between a rack and the HRS. The paper gives
# no lanes for them: 1.2 / 4.8 of Table 2, so a fitted parameter.
FAR_LANES_PER_HRS_LANE = 0.25


@final
@dataclass(frozen=True, slots=True)
class SuperPod:
    """A cable of x4 is four lanes, each both ways. Defaults: the paper's SuperPod of 8,192 NPUs.

    `given_lrs_per_rack` stands in for the 18 LRS a plane: the first version of the paper says 48 a rack.
    """

    slots: int = 8
    boards: int = 8
    columns: int = 4
    rows: int = 4
    pods: int = 8
    planes: int = 4
    peer_lanes: int = 4
    uplink_lanes: int = 16
    rack_link_lanes: int = 128
    device_lanes: int = 64
    lrs_lanes: int = 72
    hrs_lanes: int = 512
    far_lanes_per_hrs_lane: float = FAR_LANES_PER_HRS_LANE
    given_lrs_per_rack: int | None = None

    @property
    def npus_per_rack(self) -> int:
        return self.slots * self.boards

    @property
    def racks_per_pod(self) -> int:
        return self.columns * self.rows

    @property
    def racks(self) -> int:
        return self.racks_per_pod * self.pods

    @property
    def npus(self) -> int:
        return self.npus_per_rack * self.racks

    @property
    def npu_lanes(self) -> int:
        """Lanes an NPU uses: to its board, to its own place on the other boards, and up."""
        return self.peer_lanes * (self.slots - 1 + self.boards - 1) + self.uplink_lanes

    @property
    def mesh_links_per_rack(self) -> int:
        return self.npus_per_rack * (self.slots - 1 + self.boards - 1) // 2

    @property
    def rack_links_per_pod(self) -> int:
        return self.racks_per_pod * self._rack_peers // 2

    @property
    def rack_output_lanes(self) -> int:
        """Lanes that leave a rack, to other racks and to HRS: as many as its NPUs have up."""
        return self.npus_per_rack * self.uplink_lanes

    @property
    def hrs_lanes_per_rack(self) -> int:
        return self.rack_output_lanes - self._rack_peers * self.rack_link_lanes

    @property
    def lrs_per_plane(self) -> int:
        """One a board towards NPUs, as many towards other racks, one for CPUs, one for the spare NPU."""
        return 2 * self.boards + 2

    @property
    def lrs_per_rack(self) -> int:
        return self.given_lrs_per_rack or self.lrs_per_plane * self.planes

    @property
    def lrs(self) -> int:
        return self.lrs_per_rack * self.racks

    @property
    def hrs(self) -> int:
        return self.hrs_lanes_per_rack * self.racks // self.hrs_lanes

    @property
    def lrs_links_lanes_per_rack(self) -> int:
        """Lanes between the LRS of a rack: whatever its LRS do not use for NPUs, devices and the outside."""
        outside = 2 * self.rack_output_lanes + self.device_lanes
        return (self.lrs_per_rack * self.lrs_lanes - outside) // 2

    @property
    def copper_lanes_per_rack(self) -> Mapping[str, int]:
        """Lanes of passive cable in a rack, by what they join."""
        return {
            "NPU to NPU": self.mesh_links_per_rack * self.peer_lanes,
            "NPU to LRS": self.rack_output_lanes,
            "LRS to LRS": self.lrs_links_lanes_per_rack,
            "LRS to CPU and spare NPU": self.device_lanes,
        }

    @property
    def cable_lanes(self) -> Mapping[str, float]:
        """Lanes of each kind of cable in the SuperPod, under the names of `TABLE_2`."""
        hrs = self.hrs_lanes_per_rack * self.racks
        lanes = (
            sum(self.copper_lanes_per_rack.values()) * self.racks,
            self.rack_links_per_pod * self.pods * self.rack_link_lanes,
            hrs,
            hrs * self.far_lanes_per_hrs_lane,
        )
        return dict(zip(TABLE_2, lanes, strict=True))

    @property
    def cable_mix(self) -> Mapping[str, float]:
        """Percent of all lanes, by kind of cable."""
        lanes = self.cable_lanes
        total = sum(lanes.values())
        return {kind: 100 * count / total for kind, count in lanes.items()}

    @property
    def _rack_peers(self) -> int:
        return self.columns - 1 + self.rows - 1


SUPERPOD = SuperPod()


def fabric_cable_lanes(fabric: Fabric) -> Mapping[str, int]:
    """Lanes of each kind of cable in a generated UB-Mesh fabric, under the names of `TABLE_2`.

    Links between racks are those of the third and fourth dimension; those of HRS are optical; the rest stay
    in their rack. Nothing leads beyond a SuperPod.
    """
    passive, active, optical, _ = TABLE_2
    lanes = dict.fromkeys((passive, active, optical), 0)
    for link in fabric.links:
        if NodeKind.HRS in (fabric.node(link.a.node).kind, fabric.node(link.b.node).kind):
            lanes[optical] += link.lanes
        elif link.dimension in (2, 3):
            lanes[active] += link.lanes
        else:
            lanes[passive] += link.lanes
    return lanes
