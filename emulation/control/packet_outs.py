# SPDX-License-Identifier: Apache-2.0
"""Frames that the control plane sends through a switch, and gets from it.

Messages are read and written with the CNA16 header, and converted where links carry the CNA24 header.
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
    sent = 0
    if testbed.network_header == "cna24":
        frames = ((port, to_cna24(frame)) for port, frame in frames)
    for port, frame in frames:
        client.packet_out(node, frame, egress_port=port or 0, routed=int(port is None))
        sent += 1
    if sent and testbed.virtual:
        # The server passes packet-outs to the switch before virtual time goes on.
        client.barrier(node)


def received_frame(testbed: ControlledTestbed, payload: bytes) -> bytes:
    """Return the frame of a packet-in with the CNA16 header."""
    return payload if testbed.network_header == "cna16" else from_cna24(payload)
