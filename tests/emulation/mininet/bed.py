# SPDX-License-Identifier: Apache-2.0
"""A Mininet testbed without hosts or programs, and raw sockets wherever a frame can be."""

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import final

from emulation.faults import Event, Fault, Faults
from emulation.mininet.counters import JackCounters
from emulation.mininet.linux import netns
from emulation.mininet.switches import SwitchKind
from emulation.mininet.testbed import MininetTestbed
from emulation.targets import TargetKind, find_target
from topologies import End, Fabric, Link, Port
from topologies.families.full_mesh import full_mesh

__all__ = ["DILATION", "Bed", "doubled", "send", "taken"]

DILATION = 100_000
SECONDS = 15.0

# Not what UB frames say: hosts' sockets do not see them, and no program runs here that would pass them on.
_TYPE = 0x88B6
_SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 33, 35


def doubled() -> Fabric:
    """Four NPUs in a square, and a second link between two of them."""
    fabric = full_mesh([2, 2])
    first = fabric.link("npu0-npu1")
    nodes = tuple(
        replace(node, ports=(*node.ports, Port(9, "twin", first.lanes, 0)))
        if node.name in ("npu0", "npu1")
        else node
        for node in fabric.nodes
    )
    twin = Link("twin", End("npu0", 9), End("npu1", 9), first.lanes, first.rate_bps, first.delay_ps, 0)
    return replace(fabric, name="doubled", nodes=nodes, links=(*fabric.links, twin))


@final
class Bed:
    """A testbed, its faults, and a raw socket at every switch's interface and every host's."""

    def __init__(self, fabric: Fabric, kind: SwitchKind = "builtin") -> None:
        self.testbed = MininetTestbed(fabric, switch=kind, dilation=DILATION)
        self.testbed.start()
        self.faults = Faults(self.testbed)
        self.ports: list[tuple[str, int, bool]] = []
        self.testbed.on_port = lambda *told: self.ports.append(told)
        # Taken together, changes of carriers are seen in order.
        self.sockets: dict[tuple[str, int], socket.socket] = netns.inside(
            self.testbed.shared_namespaces["fabric"],
            lambda: {port: _raw(name) for port, name in self.testbed.cabling.interfaces.items()},
        )
        self.hosts = {
            node: netns.inside(namespace, lambda: _raw("eth0"))
            for node, namespace in self.testbed.namespaces.items()
        }

    def close(self) -> None:
        for raw in (*self.sockets.values(), *self.hosts.values()):
            raw.close()
        self.testbed.stop()

    def apply(self, kind: TargetKind, name: str | int, event: Event = "down", **more: float) -> None:
        fault = Fault(self.testbed.now_ps, find_target(self.testbed.fabric, kind, name), event, **more)  # type: ignore[arg-type]
        self.faults.apply(fault)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Let time pass until it does."""
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"{what} does not come about"
            self.pass_time(0.005)

    def pass_time(self, seconds: float) -> None:
        until = self.testbed.now_ps + round(seconds * 1e12 / DILATION)
        self.testbed.at(until, lambda: None)  # else there is nothing to wait for
        self.testbed.run(until)

    def told(self, *ports: tuple[str, int, bool]) -> None:
        """Wait for these changes of carriers, and see that there are no others."""
        self.until(lambda: len(self.ports) >= len(ports), f"{ports} against {self.ports}")
        self.pass_time(0.05)
        assert sorted(self.ports) == sorted(ports)
        self.ports.clear()

    def ends(self, link: str) -> tuple[tuple[str, int], tuple[str, int]]:
        found = self.testbed.fabric.link(link)
        return (found.a.node, found.a.port), (found.b.node, found.b.port)

    def passed(self, link: str, count: int = 20) -> tuple[int, int]:
        """How many of so many frames cross a link from its first end to its second, and back."""
        near, far = self.ends(link)
        return self.crossed(self.sockets[near], self.sockets[far], count), self.crossed(
            self.sockets[far], self.sockets[near], count
        )

    def crossed(self, near: socket.socket, far: socket.socket, count: int = 20) -> int:
        taken(far)
        for number in range(count):
            send(near, number)
        deadline = time.monotonic() + SECONDS
        found: list[bytes] = []
        quiet = 0
        while len(found) < count and quiet < 4 and time.monotonic() < deadline:
            time.sleep(0.02)
            more = taken(far)
            quiet = 0 if more else quiet + 1
            found += more
        return len(found)

    def counters(self, node: str, port: int) -> JackCounters:
        return self.testbed._links.counters()[f"{node}:{port}"]


def _raw(interface: str) -> socket.socket:
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 16 << 20)
    raw.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    raw.bind((interface, _TYPE))
    raw.setblocking(False)
    return raw


def send(raw: socket.socket, number: int, sender: int = 0, length: int = 70) -> bool:
    """Whether the kernel took it."""
    frame = b"\xff" * 6 + b"\2" + bytes(5) + _TYPE.to_bytes(2) + sender.to_bytes(8) + number.to_bytes(8)
    try:
        raw.send(frame + bytes(length - len(frame)))
    except OSError:
        return False
    return True


def taken(raw: socket.socket) -> list[bytes]:
    """All frames that have come."""
    found: list[bytes] = []
    while True:
        try:
            content, _, _, address = raw.recvmsg(2048)
        except BlockingIOError:
            return found
        if address[2] != 4:  # PACKET_OUTGOING
            found.append(content)
