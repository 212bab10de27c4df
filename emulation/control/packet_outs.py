# SPDX-License-Identifier: Apache-2.0
"""Frames that the control plane sends through a switch."""

from collections.abc import Iterable

from controller.p4runtime.client import P4RuntimeClient
from emulation.testbed import ControlledTestbed

__all__ = ["send_packet_outs"]


def send_packet_outs(
    testbed: ControlledTestbed, client: P4RuntimeClient, node: str, frames: Iterable[tuple[int | None, bytes]]
) -> None:
    """Send each frame out of its port of a node; without a port, the node's program routes the frame."""
    sent = 0
    for port, frame in frames:
        client.packet_out(node, frame, egress_port=port or 0, routed=int(port is None))
        sent += 1
    if sent and testbed.virtual:
        # The server passes packet-outs to the switch before virtual time goes on.
        client.barrier(node)
