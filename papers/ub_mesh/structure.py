# SPDX-License-Identifier: Apache-2.0
"""Numbers of NPUs, lanes, cables and switches of a UB-Mesh SuperPod, computed from its parameters.

Published (UB-Mesh, §3.3): 8 x 8 NPUs a rack, 4 x 4 racks a Pod, 8 Pods; x72 of an NPU and of an LRS, x512 of
an HRS; 18 LRS a plane; x128 between two racks; x16 of an NPU to other racks.

Derived here: the allocation of a plane's lanes to its switches. It is the only allocation that uses all lanes
of all devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from topologies.model.fabric import Fabric, NodeKind

__all__ = ["SUPERPOD", "TABLE_2", "SuperPod", "fabric_cable_lanes"]

# Share of each kind of cable, in percent (UB-Mesh, Table 2). The last share was recalled, not read; it is
# also the rest of the total. The ratio of the four is 72 : 6 : 4 : 1.
TABLE_2 = {"passive, 1 m": 86.7, "active, 10 m": 7.2, "optical, 100 m": 4.8, "optical, 1 km": 1.2}

# Lanes of optical cable out of the SuperPod for each lane between a rack and the HRS. The paper does not give
# these lanes; the value is 1.2 / 4.8 of Table 2, so it is fitted.
FAR_LANES_PER_HRS_LANE = 0.25


@final
@dataclass(frozen=True, slots=True)
class SuperPod:
    """Parameters of a SuperPod; the defaults are the paper's, with 8,192 NPUs.

    A lane carries both directions; a cable of x4 has four lanes. `given_lrs_per_rack` replaces the number of
    LRS that follows from 18 a plane: the first version of the paper says 48 a rack.
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
        """Lanes used by an NPU: to NPUs of its board, to the NPUs of equal index on other boards, and up."""
        return self.peer_lanes * (self.slots - 1 + self.boards - 1) + self.uplink_lanes

    @property
    def mesh_links_per_rack(self) -> int:
        return self.npus_per_rack * (self.slots - 1 + self.boards - 1) // 2

    @property
    def rack_links_per_pod(self) -> int:
        return self.racks_per_pod * self._rack_peers // 2

    @property
    def rack_output_lanes(self) -> int:
        """Lanes from a rack to other racks and HRS: as many as the uplink lanes of its NPUs."""
        return self.npus_per_rack * self.uplink_lanes

    @property
    def hrs_lanes_per_rack(self) -> int:
        return self.rack_output_lanes - self._rack_peers * self.rack_link_lanes

    @property
    def lrs_per_plane(self) -> int:
        """LRS of a plane: for each board one to NPUs, one to other racks; one to CPUs, one to the spare."""
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
        """Lanes between the LRS of a rack: the lanes not used for NPUs, devices and links out of the rack."""
        outside = 2 * self.rack_output_lanes + self.device_lanes
        return (self.lrs_per_rack * self.lrs_lanes - outside) // 2

    @property
    def copper_lanes_per_rack(self) -> Mapping[str, int]:
        """Lanes of passive cable in a rack, by the kinds of nodes that they connect."""
        return {
            "NPU to NPU": self.mesh_links_per_rack * self.peer_lanes,
            "NPU to LRS": self.rack_output_lanes,
            "LRS to LRS": self.lrs_links_lanes_per_rack,
            "LRS to CPU and spare NPU": self.device_lanes,
        }

    @property
    def cable_lanes(self) -> Mapping[str, float]:
        """Lanes of cable in the SuperPod, by the kinds of `TABLE_2`."""
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
    """Return the lanes of cable in a generated UB-Mesh fabric, by the kinds of `TABLE_2`.

    Links of HRS are optical. Other links of the third and fourth dimension connect racks and are active. All
    other links are passive. A generated fabric has no cables out of the SuperPod.
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
