# SPDX-License-Identifier: Apache-2.0
"""The UB-Mesh rack: eight boards of eight NPUs as a two-dimensional full mesh (UB-Mesh, nD-FullMesh)."""

from collections.abc import Sequence

from topologies.address import AddressField, AddressPlan
from topologies.full_mesh import LANE_RATE_BPS, LINK_DELAY_PS, NPU_LANES, mesh_of
from topologies.model import Fabric

__all__ = ["UB_ADDRESS_PLAN", "UB_RACK_DIMS", "ub_rack"]

# X: slots of a board, Y: boards of a rack.
UB_RACK_DIMS = (8, 8)

# UB-Mesh gives the NPU's 72 lanes and its 14 peers in the rack; x4 a peer leaves the x16 it gives for other
# racks.
PEER_LANES = 4

UB_ADDRESS_PLAN = AddressPlan(
    (
        AddressField("class", 3),
        AddressField("pod", 3),
        AddressField("rack", 4),
        AddressField("board", 3),
        AddressField("npu", 3),
    )
)


def ub_rack(
    *, lane_rate_bps: int = LANE_RATE_BPS, lanes: int = PEER_LANES, delay_ps: int = LINK_DELAY_PS
) -> Fabric:
    """64 NPUs and their 448 links, which use 56 of each NPU's 72 lanes.

    The x16 towards the rack's switches (LRS) is not connected: the fabric has no switches, CPUs or spare NPU.
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
