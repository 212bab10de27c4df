# SPDX-License-Identifier: Apache-2.0
"""Jacks with raw sockets at their device sides, in namespaces of a run of their own."""

import os
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, final

from emulation.mininet.linux import netns
from emulation.mininet.linux.record import RunRecord
from emulation.mininet.linux.watch import CarrierWatch
from emulation.mininet.patch import Jack, PatchPanel
from tests.emulation.switchd.switchd_process import missing_rights

__all__ = ["MTU", "Bench", "frame", "no_rights", "number", "until"]

MTU = 9500
SECONDS = 10.0
_ETH_P_ALL = 3
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_ETHERTYPE = b"\x88\xb5"


def no_rights() -> str:
    """Why namespaces with names cannot be made; empty when they can."""
    return missing_rights() if os.geteuid() == 0 else "needs root"


def until(holds: Callable[[], bool], what: str = "it") -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"{what} does not come about"
        time.sleep(0.001)


def frame(sequence: int, length: int = 64) -> bytes:
    return b"\xff" * 6 + b"\2" + bytes(5) + _ETHERTYPE + sequence.to_bytes(8) + bytes(length - 22)


def number(content: bytes) -> int:
    return int.from_bytes(content[14:22])


@final
class Bench:
    """Jacks j0, j1, ..., whose device sides d0, d1, ... are in one namespace, each with a raw socket."""

    def __init__(self, count: int, root: Path) -> None:
        self.record = RunRecord.create(root)
        self.devices = self.record.namespace("devices")
        self.patches = self.record.namespace("patch")
        self.panel = PatchPanel(self.patches)
        self.panel.add([Jack(f"j{i}", f"p{i}", self.devices, f"d{i}", MTU) for i in range(count)])
        self.watch = CarrierWatch(self.devices)
        self.up: set[str] = set()
        self.sockets: Sequence[socket.socket] = netns.inside(
            self.devices, lambda: [_raw(f"d{i}") for i in range(count)]
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for raw in self.sockets:
            raw.close()
        self.watch.close()
        self.panel.close()
        self.record.close()

    def carriers(self) -> set[str]:
        """Names of the device sides that have one now."""
        for interface, up in self.watch.take():
            (self.up.add if up else self.up.discard)(interface)
        return self.up

    def patch(self, a: int, b: int, *, rate_bps: float | None = None, queue_bytes: int = 1 << 20) -> None:
        """Patch jacks and wait until both devices can send."""
        self.panel.patch(f"j{a}", f"j{b}", rate_bps=rate_bps, queue_bytes=queue_bytes)
        until(lambda: {f"d{a}", f"d{b}"} <= self.carriers(), "the carrier of a new patch")

    def send(self, device: int, *frames: bytes) -> None:
        for one in frames:
            self.sockets[device].send(one)

    def receive(self, device: int, count: int, seconds: float = SECONDS) -> list[bytes]:
        """As many frames, or those that come within the time."""
        found: list[bytes] = []
        deadline = time.monotonic() + seconds
        while len(found) < count and (left := deadline - time.monotonic()) > 0:
            self.sockets[device].settimeout(left)
            try:
                content, address = self.sockets[device].recvfrom(1 << 16)
            except TimeoutError:
                break
            if address[2] != socket.PACKET_OUTGOING:  # type: ignore[attr-defined]
                found.append(content)
        return found

    def rest(self, device: int, seconds: float = 0.1) -> list[bytes]:
        """Whatever comes in this time."""
        return self.receive(device, 1 << 30, seconds)


def _raw(interface: str) -> socket.socket:
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    for buffer in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE):  # a frame that waits for a link counts as its sender's
        raw.setsockopt(socket.SOL_SOCKET, buffer, 16 << 20)
    raw.bind((interface, 0))
    return raw
