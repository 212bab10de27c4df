# SPDX-License-Identifier: Apache-2.0
"""Test bench of a cross-connect: endpoints with raw sockets at device sides, in namespaces of its own."""

import os
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, final

from emulation.linux import netns
from emulation.linux.backlog import Backlogs
from emulation.linux.netlink import RouteSocket
from emulation.linux.record import RunRecord
from emulation.linux.watch import CarrierWatch
from emulation.mininet.links.cross_connect import CrossConnect
from emulation.mininet.links.endpoints import Endpoint
from tests.emulation.switchd.switchd_process import missing_rights

__all__ = ["MTU", "STALLED", "Bench", "Flush", "frame", "no_rights", "number", "until"]

MTU = 9500
STALLED = 4e3
"""Rate in bit/s at which a queue hardly empties during a test: a frame of 1,000 bytes takes 2 s."""
SECONDS = 60.0
"""Bound on waiting for what must happen: only a test that fails waits for so long."""
_ETH_P_ALL = 3
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_PROBE_INDEX = 1000  # of interfaces in a namespace of their own
_ETHERTYPE = b"\x88\xb5"


def no_rights() -> str:
    """Return why named namespaces cannot be created here; empty if they can."""
    return missing_rights() if os.geteuid() == 0 else "needs root"


def until(holds: Callable[[], bool], what: str = "the condition") -> None:
    """Wait until a condition holds, and fail if it never does."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"{what} does not hold after {SECONDS:g} s"
        time.sleep(0.001)


def frame(sequence: int, length: int = 64) -> bytes:
    """Build a broadcast frame of `length` bytes that carries a sequence number."""
    return b"\xff" * 6 + b"\2" + bytes(5) + _ETHERTYPE + sequence.to_bytes(8) + bytes(length - 22)


def number(content: bytes) -> int:
    """Return the sequence number of a frame."""
    return int.from_bytes(content[14:22])


@final
class Flush:
    """Barrier behind every frame that was sent into a cross-connect and does not wait for a link's rate.

    A frame passes two backlogs of processors on its way from device to device. Each is first in, first out,
    so a probe that comes out shows that nothing sent before it is still inside, however busy the machine is.
    """

    def __init__(self, record: RunRecord) -> None:
        namespace = record.namespace("probes")
        self._route = RouteSocket(namespace)
        self._backlogs = Backlogs(namespace, self._route, _PROBE_INDEX)

    def wait(self) -> None:
        """Return once every such frame has arrived or has been dropped and counted."""
        for _ in range(2):
            self._backlogs.wait()

    def close(self) -> None:
        """Close the probes' sockets; the record removes their namespace."""
        self._backlogs.close()
        self._route.close()


@final
class Bench:
    """Endpoints j0, j1, ..., whose device sides d0, d1, ... share a namespace, each with a raw socket."""

    def __init__(self, count: int, root: Path) -> None:
        self.record = RunRecord.create(root)
        self.devices = self.record.namespace("devices")
        self.connections = self.record.namespace("links")
        self.cross_connect = CrossConnect(self.connections)
        self.cross_connect.add([Endpoint(f"j{i}", f"p{i}", self.devices, f"d{i}", MTU) for i in range(count)])
        self.watch = CarrierWatch(self.devices)
        self.up: set[str] = set()
        self.sockets: Sequence[socket.socket] = netns.inside(
            self.devices, lambda: [_raw(f"d{i}") for i in range(count)]
        )
        self._probes = Flush(self.record)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for raw in self.sockets:
            raw.close()
        self._probes.close()
        self.watch.close()
        self.cross_connect.close()
        self.record.close()

    def carriers(self) -> set[str]:
        """Return the names of the device sides that have a carrier now."""
        for interface, up in self.watch.take():
            (self.up.add if up else self.up.discard)(interface)
        return self.up

    def connect(self, a: int, b: int, *, rate_bps: float | None = None, queue_bytes: int = 1 << 20) -> None:
        """Connect two endpoints and wait until both devices can send."""
        self.cross_connect.connect(f"j{a}", f"j{b}", rate_bps=rate_bps, queue_bytes=queue_bytes)
        until(lambda: {f"d{a}", f"d{b}"} <= self.carriers(), "the carrier of a new connection")

    def send(self, device: int, *frames: bytes) -> None:
        """Send frames out of a device."""
        for content in frames:
            self.sockets[device].send(content)

    def receive(self, device: int, count: int) -> list[bytes]:
        """Return the next `count` frames that arrive at a device; fewer only after SECONDS."""
        frames: list[bytes] = []
        deadline = time.monotonic() + SECONDS
        while len(frames) < count and (left := deadline - time.monotonic()) > 0:
            self.sockets[device].settimeout(left)
            try:
                self._take(device, frames)
            except TimeoutError:
                break
        return frames

    def rest(self, device: int) -> list[bytes]:
        """Return all frames that have arrived at a device, those in flight included."""
        self.flush()
        frames: list[bytes] = []
        self.sockets[device].setblocking(False)
        while True:
            try:
                self._take(device, frames)
            except BlockingIOError:
                return frames

    def flush(self) -> None:
        """Wait until no frame is in a backlog of the kernel."""
        self._probes.wait()

    def drained(self) -> None:
        """Wait until no frame waits for a link's rate."""
        self.flush()
        until(
            lambda: not any(counters.waiting_frames for counters in self.cross_connect.counters().values()),
            "an empty queue at every endpoint",
        )

    def _take(self, device: int, frames: list[bytes]) -> None:
        content, address = self.sockets[device].recvfrom(1 << 16)
        if address[2] != socket.PACKET_OUTGOING:  # type: ignore[attr-defined]
            frames.append(content)


def _raw(interface: str) -> socket.socket:
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    for buffer in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE):  # a frame that waits for a link counts as its sender's
        raw.setsockopt(socket.SOL_SOCKET, buffer, 16 << 20)
    raw.bind((interface, 0))
    return raw
