# SPDX-License-Identifier: Apache-2.0
"""Mininet testbed without hosts or programs, with a raw socket wherever a frame can be."""

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import final

from emulation.faults import Fault, Faults
from emulation.linux import netns
from emulation.mininet.links.counters import EndpointCounters
from emulation.mininet.switches.processes import SwitchKind
from emulation.mininet.testbed import MininetTestbed
from emulation.targets import find_target
from tests.emulation.mininet.benches import Flush
from topologies import End, Fabric, Link, Port
from topologies.families.full_mesh import full_mesh

__all__ = ["DILATION", "TappedTestbed", "doubled", "send", "taken"]

DILATION = 100_000
SECONDS = 60.0
"""Bound on waiting for what must happen: only a test that fails waits for so long."""

# Another EtherType than that of UB frames: hosts' sockets do not see these frames, no program forwards them.
_TYPE = 0x88B6
_SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 33, 35


def doubled() -> Fabric:
    """Build a square of four NPUs, two of which are joined by a second link."""
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
class TappedTestbed:
    """Testbed, its faults, and a raw socket at every interface of a switch or a host."""

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
        assert self.testbed._record is not None
        self._flush = Flush(self.testbed._record)

    def close(self) -> None:
        for raw in (*self.sockets.values(), *self.hosts.values()):
            raw.close()
        self._flush.close()
        self.testbed.stop()

    def apply(self, kind: str, name: str | int, event: str = "down", **more: float) -> None:
        fault = Fault(self.testbed.now_ps, find_target(self.testbed.fabric, kind, name), event, **more)  # type: ignore[arg-type]
        self.faults.apply(fault)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Let time pass until a condition holds; fail if it never does."""
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"{what} does not hold after {SECONDS:g} s"
            self.pass_time(0.005)

    def pass_time(self, seconds: float) -> None:
        """Run the testbed for `seconds` of real time."""
        until = self.testbed.now_ps + round(seconds * 1e12 / DILATION)
        self.testbed.at(until, lambda: None)  # else there is nothing to wait for
        self.testbed.run(until)

    def told(self, *ports: tuple[str, int, bool]) -> None:
        """Wait for these changes of carriers, and check that there are no other changes."""
        self.until(lambda: len(self.ports) >= len(ports), f"{ports} against {self.ports}")
        self.pass_time(0.05)
        assert sorted(self.ports) == sorted(ports)
        self.ports.clear()

    def ends(self, link: str) -> tuple[tuple[str, int], tuple[str, int]]:
        """Return node and port of both ends of a link."""
        ends = self.testbed.fabric.link(link)
        return (ends.a.node, ends.a.port), (ends.b.node, ends.b.port)

    def passed(self, link: str, count: int = 20) -> tuple[int, int]:
        """Return how many of `count` frames cross a link from its first end to its second, and back."""
        first, second = (self.sockets[end] for end in self.ends(link))
        return self.crossed(first, second, count), self.crossed(second, first, count)

    def crossed(self, sender: socket.socket, receiver: socket.socket, count: int = 20) -> int:
        """Return how many of `count` frames come from one socket to another; none is in flight afterwards."""
        self.flush()
        taken(receiver)
        for number in range(count):
            send(sender, number)
        self.flush()
        return len(taken(receiver))

    def flush(self) -> None:
        """Wait until no frame is in a backlog of the kernel, nor waits for a link's rate."""
        self._flush.wait()
        self.until(
            lambda: not any(endpoint.waiting_frames for endpoint in self.testbed._links.counters().values()),
            "an empty queue at every link",
        )
        self._flush.wait()

    def counters(self, node: str, port: int) -> EndpointCounters:
        return self.testbed._links.counters()[f"{node}:{port}"]


def _raw(interface: str) -> socket.socket:
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 16 << 20)
    raw.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    raw.bind((interface, _TYPE))
    raw.setblocking(False)
    return raw


def send(raw: socket.socket, number: int, sender: int = 0, length: int = 70) -> bool:
    """Send a numbered frame; return whether the kernel took it."""
    frame = b"\xff" * 6 + b"\2" + bytes(5) + _TYPE.to_bytes(2) + sender.to_bytes(8) + number.to_bytes(8)
    try:
        raw.send(frame + bytes(length - len(frame)))
    except OSError:
        return False
    return True


def taken(raw: socket.socket) -> list[bytes]:
    """Return all frames that have arrived at a socket."""
    frames: list[bytes] = []
    while True:
        try:
            content, _, _, address = raw.recvmsg(2048)
        except BlockingIOError:
            return frames
        if address[2] != 4:  # PACKET_OUTGOING
            frames.append(content)
