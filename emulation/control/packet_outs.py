# SPDX-License-Identifier: Apache-2.0
"""Packet-outs and packet-ins of the control plane, as frames.

The control plane uses the CNA16 header; frames are converted if links carry the CNA24 header.
"""

from collections.abc import Iterable

from controller.p4runtime.client import P4RuntimeClient
from emulation._engine import from_cna24, to_cna24
from emulation.testbed import ControlledTestbed

__all__ = ["received_frame", "send_packet_outs"]


def send_packet_outs(
    testbed: ControlledTestbed, client: P4RuntimeClient, node: str, frames: Iterable[tuple[int | None, bytes]]
) -> None:
    """Send each frame out of its port of a node; without a port, the node's program routes the frame."""
    if testbed.network_header == "cna24":
        frames = ((port, to_cna24(frame)) for port, frame in frames)
    packets = [(frame, {"egress_port": port or 0, "routed": int(port is None)}) for port, frame in frames]
    if packets:
        # In virtual time the switch must have the packet-outs before time continues: hence the barrier.
        client.packet_outs(node, packets, barrier=testbed.virtual)


def received_frame(testbed: ControlledTestbed, payload: bytes) -> bytes:
    """Return the frame of a packet-in with the CNA16 header."""
    return payload if testbed.network_header == "cna16" else from_cna24(payload)
