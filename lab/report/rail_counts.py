# SPDX-License-Identifier: Apache-2.0
"""Frames that left their rail, as the switches of a fabric of rails counted them (Rail-only)."""

from __future__ import annotations

from controller.p4runtime.client import P4RuntimeClient
from controller.tables.rails import rail_of
from emulation.testbed import SwitchReport
from topologies import Fabric

__all__ = ["cross_rail_frames"]

# Index of the counter `drops` for a destination of another rail: p4/include/types.p4.
_FOREIGN_RAIL = 12


def cross_rail_frames(fabric: Fabric, client: P4RuntimeClient) -> int | None:
    """Frames that a rail's leaves sent up to where other rails are, or dropped as another rail's.

    None where there are no rails. Where a rail of several leaves shares its spines with others, what goes
    from leaf to leaf of one rail counts as well: no counter tells it from the rest.
    """
    found = None
    for node in fabric.nodes:
        rail = rail_of(fabric, node.name)
        if rail is None:
            continue
        dropped, _ = client.read_counter(node.name, "drops").get(_FOREIGN_RAIL, (0, 0))
        up = 0
        if not rail.closed:
            sent = SwitchReport.of(client.read_counter(node.name, "tx_by_port_vl"), 0, 0).sent
            above = {
                fabric.port_to(node.name, far)
                for far in fabric.neighbours(node.name)
                if fabric.node(far).tier > node.tier
            }
            up = sum(frames for port, frames in sent.items() if port in above)
        found = (found or 0) + dropped + up
    return found
