# SPDX-License-Identifier: Apache-2.0
"""Cross-connect as an optical circuit switch, reconfigured at random while every port sends all the time."""

import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import pytest

from tests.emulation.mininet.benches import Bench, frame, no_rights, until

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

PORTS = 12
UNTOUCHED = ((0, 1), (2, 3))
"""Circuits that stay all the time."""
SLOW = 2e6
"""Bits a second of some of the others: much waits for them when they are torn."""

_STAMP = struct.Struct("!QQ")  # sender, sequence number, behind an Ethernet header
_PAUSE = 20e-6
_SO_TIMESTAMPNS = 35
_TIME = struct.Struct("=qq")  # timespec


@final
@dataclass
class Traffic:
    """`sent[port]` holds when each frame of a port began to be sent and when that was done, in ns.

    `received[port]` holds who sent each frame, its number, and when the kernel had it for the port.
    """

    bench: Bench
    sent: list[list[tuple[int, int]]] = field(default_factory=lambda: [[] for _ in range(PORTS)])
    received: list[list[tuple[int, int, int]]] = field(default_factory=lambda: [[] for _ in range(PORTS)])
    stop: bool = False

    def send(self) -> None:
        """Send short bursts out of every port in turn; frames that the kernel refuses are not sent."""
        head = frame(0)[:14]
        sockets = self.bench.sockets
        while not self.stop:
            for port in range(PORTS):
                sent = self.sent[port]
                for _ in range(4):
                    data = head + _STAMP.pack(port, len(sent)) + bytes(30)
                    before = time.time_ns()
                    try:
                        sockets[port].send(data)
                    except OSError:  # no carrier
                        continue
                    sent.append((before, time.time_ns()))
            time.sleep(_PAUSE)

    def grows(self, ports: Sequence[int]) -> Callable[[], bool]:
        """Return a function that receives and tells whether more frames have arrived at the ports by then."""

        def received() -> int:
            self.receive()
            return sum(len(self.received[port]) for port in ports)

        before = received()
        return lambda: received() > before

    def receive(self) -> None:
        """Note every frame that has arrived."""
        for port, raw in enumerate(self.bench.sockets):
            while True:
                try:
                    data, control, _, address = raw.recvmsg(256, socket.CMSG_SPACE(_TIME.size))
                except BlockingIOError:
                    break
                if address[2] != 4:  # PACKET_OUTGOING
                    sender, sequence = _STAMP.unpack_from(data, 14)
                    seconds, ns = _TIME.unpack(control[0][2])
                    self.received[port].append((sender, sequence, seconds * 10**9 + ns))


@pytest.mark.parametrize("reconfigurations", [60, pytest.param(1000, marks=pytest.mark.long)])
def test_no_frame_crosses_two_circuits(tmp_path: Path, reconfigurations: int) -> None:
    chance = random.Random(11)
    free = [port for port in range(PORTS) if port not in (end for pair in UNTOUCHED for end in pair)]
    circuits: dict[tuple[int, int], int] = {}
    carried = 0
    stood: dict[tuple[int, int], list[tuple[int, int]]] = {}

    with Bench(PORTS, tmp_path) as bench:
        for a, b in UNTOUCHED:
            bench.connect(a, b)
        for raw in bench.sockets:
            raw.setblocking(False)
            raw.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        traffic = Traffic(bench)
        sender = threading.Thread(target=traffic.send)
        sender.start()
        try:
            for _ in range(reconfigurations):
                chance.shuffle(free)
                pairs = [tuple(sorted(free[i : i + 2])) for i in range(0, len(free), 2)]
                wanted = {(a, b) for a, b in pairs if chance.random() < 0.8}
                for pair in [pair for pair in circuits if pair not in wanted]:
                    bench.cross_connect.disconnect(*(f"j{port}" for port in pair))
                    stood.setdefault(pair, []).append((circuits.pop(pair), time.time_ns()))
                for pair in sorted(wanted - circuits.keys()):
                    began = time.time_ns()
                    rate = SLOW if chance.random() < 0.5 else None
                    bench.cross_connect.connect(*(f"j{port}" for port in pair), rate_bps=rate)
                    circuits[pair] = began
                if chance.random() < 0.5:  # else the next map comes before any carrier is told
                    ends = {f"d{port}" for pair in circuits for port in pair}
                    until(lambda ends=ends: ends <= bench.carriers(), "the carriers of a map")
                    if circuits:
                        carried += 1
                        until(traffic.grows(free), "a frame over a new map")
                traffic.receive()
        finally:
            traffic.stop = True
            sender.join()
        bench.flush()
        traffic.receive()
        counted = bench.cross_connect.counters()
        now = time.time_ns()
        for pair, began in [*circuits.items(), *((pair, 0) for pair in UNTOUCHED)]:
            stood.setdefault(pair, []).append((began, now))  # type: ignore[arg-type]

    for port, frames in enumerate(traffic.received):
        for origin, sequence, arrived in frames:
            before, after = traffic.sent[origin][sequence]
            times = stood.get((min(origin, port), max(origin, port)), [])
            assert any(began <= after and before <= arrived <= ended for began, ended in times), (
                f"frame {sequence} of port {origin} came out of port {port} while there was no such circuit"
            )
    assert carried > reconfigurations / 4
    for a, b in UNTOUCHED:
        for origin, port in ((a, b), (b, a)):
            arrived = [sequence for _, sequence, _ in traffic.received[port]]
            assert arrived == list(range(len(traffic.sent[origin])))
            assert counted[f"j{origin}"].from_dropped_veth == counted[f"j{port}"].to_dropped_veth == 0
