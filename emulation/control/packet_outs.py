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
    if testbed.network_header == "cna24":
        frames = ((port, to_cna24(frame)) for port, frame in frames)
    packets = [(frame, {"egress_port": port or 0, "routed": int(port is None)}) for port, frame in frames]
    if packets:
        # The server passes packet-outs to the switch before virtual time goes on.
        client.packet_outs(node, packets, barrier=testbed.virtual)


def received_frame(testbed: ControlledTestbed, payload: bytes) -> bytes:
    """Return the frame of a packet-in with the CNA16 header."""
    return payload if testbed.network_header == "cna16" else from_cna24(payload)
