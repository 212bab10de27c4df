# SPDX-License-Identifier: Apache-2.0
"""Send frames from hosts of a running Mininet testbed, and record each time a frame is seen on a link.

A raw socket in the namespace of the cross-connect sees a frame twice on each link: after the device at one
end has sent it, and before the device at the other end receives it.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self, final

from emulation.errors import TestbedError
from emulation.linux import netns
from emulation.mininet.links.cabling import HOST_INTERFACE
from emulation.mininet.testbed import MininetTestbed
from emulation.traffic.frames.values import CFG_SOURCE_ROUTE, ETHERTYPE

__all__ = ["HOST", "Probe", "Sighting", "Trace"]

HOST = None
"""Value of `Sighting.port` for a sighting at a host rather than at a port of a switch."""

_EVERY_PROTOCOL = 0x0003  # ETH_P_ALL
_OUTGOING = 4  # PACKET_OUTGOING
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE = 26, 33
_BUFFER_BYTES = 64 << 20
_MAX_FRAME = 1 << 15
# Socket filter in classic BPF: accept a frame if its Ethernet type is that of UB frames.
_ONLY_UB = ((0x28, 0, 0, 12), (0x15, 0, 1, ETHERTYPE), (0x06, 0, 0, 0xFFFFFFFF), (0x06, 0, 0, 0))
# Bytes of the headers up to the NTH, without and with a source route: Ethernet, LPH, (source route,) NTH.
_HEADS = {False: 14 + 4 + 8, True: 14 + 4 + 8 + 8}


@final
@dataclass(frozen=True, slots=True)
class Sighting:
    """A frame seen at an end of a link: `node` has sent or received it at `port` (HOST: the node's host)."""

    node: str
    port: int | None
    received: bool
    frame: bytes


@final
@dataclass(frozen=True, slots=True)
class Trace:
    """All sightings of a frame in order of time, and its receiving host; None if no host received it."""

    sightings: tuple[Sighting, ...]
    host: str | None


@final
class Probe:
    """Sends frames from the hosts of a testbed, and records sightings. Use it in a `with` statement."""

    def __init__(self, testbed: MininetTestbed) -> None:
        self._testbed = testbed
        self._places: Mapping[str, tuple[str, int | None]] = {
            endpoint.interface: _place(endpoint.name) for endpoint in testbed.cabling.endpoints
        }
        self._senders: dict[str, socket.socket] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._listening = self._stack.enter_context(
            netns.inside(self._testbed.shared_namespaces["links"], _listening)
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def send(self, node: str, frame: bytes) -> None:
        """Send a frame from a node's host; TestbedError if the node has no host or its link is down."""
        if node not in self._testbed.namespaces:
            raise TestbedError(f"{node} has no host", remedy="name an NPU or GPU of the fabric")
        if node not in self._senders:
            self._senders[node] = self._stack.enter_context(
                netns.inside(self._testbed.namespaces[node], _sending)
            )
        try:
            self._senders[node].send(frame)
        except OSError as ex:
            raise TestbedError(
                f"the host of {node} cannot send {len(frame)} bytes: {ex.strerror}",
                remedy="restore its link, or send a shorter frame",
            ) from None

    def sightings(self, quiet_seconds: float) -> Iterator[Sighting]:
        """Yield sightings of frames, until no frame was seen for `quiet_seconds`."""
        deadline = time.monotonic() + quiet_seconds
        while (left := deadline - time.monotonic()) > 0:
            self._listening.settimeout(left)
            try:
                frame, address = self._listening.recvfrom(_MAX_FRAME)
            except TimeoutError:
                return
            if address[0] in self._places:
                node, port = self._places[address[0]]
                yield Sighting(node, port, address[2] == _OUTGOING, frame)
                deadline = time.monotonic() + quiet_seconds

    def trace(self, node: str, frame: bytes, quiet_seconds: float) -> Trace:
        """Send a frame from a node's host, and follow it until a host receives it or it is lost.

        The frame counts as lost if no frame was seen for `quiet_seconds`. A sighting belongs to the frame if
        the addresses in its NTH and all bytes behind the NTH are equal: switches change other bytes.
        """
        self.send(node, frame)
        ours: list[Sighting] = []
        for sighting in self.sightings(quiet_seconds):
            if _identity(sighting.frame) != _identity(frame):
                continue
            ours.append(sighting)
            if sighting.received and sighting.port is HOST:
                return Trace(tuple(ours), sighting.node)
        return Trace(tuple(ours), None)


def _place(endpoint: str) -> tuple[str, int | None]:
    node, _, port = endpoint.rpartition(":")
    return node, int(port) if port.isdecimal() else HOST


def _identity(frame: bytes) -> bytes:
    """Return the bytes of a frame that no switch changes: addresses of the NTH, and all behind the NTH."""
    head = _HEADS[frame[15] & 0xF == CFG_SOURCE_ROUTE]
    return frame[head - 8 : head - 4] + frame[head:]


def _listening() -> socket.socket:
    listening = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_EVERY_PROTOCOL))
    listening.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in _ONLY_UB))
    program = struct.pack("@HP", len(_ONLY_UB), ctypes.addressof(code))
    listening.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
    return listening


def _sending() -> socket.socket:
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sender.bind((HOST_INTERFACE, 0))
    return sender
