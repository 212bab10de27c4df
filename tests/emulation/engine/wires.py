# SPDX-License-Identifier: Apache-2.0
"""Small networks of tests/programs/wire.p4: the first byte of a frame names its output and its VL."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

from emulation._engine import Network, Program

__all__ = [
    "FOREVER",
    "PROGRAMS",
    "RATE",
    "SIZE",
    "WIRE",
    "Sink",
    "at",
    "chain",
    "drain",
    "frame",
    "handle",
    "numbered",
    "pcap",
    "steer",
    "switches",
]

PROGRAMS = Path(__file__).parents[2] / "programs" / "build"
WIRE = PROGRAMS / "wire.json"
RATE = 8_000_000_000_000
"""One byte a picosecond."""
FOREVER = 1 << 60
SIZE = 100
"""Bytes of a numbered frame."""


@final
class Sink:
    """A host that notes when frames arrive."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, bytes]] = []

    @property
    def times(self) -> list[int]:
        return [at for at, _ in self.seen]

    def on_frame(self, frame: bytes, now: int) -> tuple[list[tuple[bytes, int]], None]:
        self.seen.append((now, frame))
        return [], None


def drain(net: Network) -> list[tuple[str, int, int, int, bool, bytes]]:
    """Let everything happen, and return what the switches told their controllers."""
    told = []
    while net.run() == 2:
        while item := net.take_control():
            told.append(item)
    return told


def frame(port: int, length: int, vl: int = 0) -> bytes:
    return bytes([port << 3 | vl]) + bytes(length - 1)


def handle(things: list[dict[str, Any]], name: str) -> int:
    return next(thing["handle"] for thing in things if thing["name"].split(".")[-1] == name)


def switches(count: int, program: Path = WIRE) -> Network:
    """Switches s0, s1, ..., each with the program, and no links."""
    network, loaded = Network(), Program(program.read_bytes())
    for i in range(count):
        network.add_switch(f"s{i}")
        network.set_program(i, loaded)
    return network


def steer(network: Network, switch: int, routes: dict[int, tuple[int, int]]) -> None:
    """Frames for a port of `routes` leave by the first port given, as frames for the second."""
    program = Program(WIRE.read_bytes())
    table, action = handle(program.tables, "forward"), handle(program.actions, "forward")
    for port, (out, then) in routes.items():
        key = [(bytes([port]), b"", 0)]
        assert network.table_insert(switch, table, key, 0, action, [bytes([out]), bytes([then])]) == 0


def chain(count: int, *, delay: int = 0, credit: int = 0, rate: int = RATE, queue: int = 1 << 20):
    """A host, switches in a row (port 1 to port 2), a host. Frames for port 2 go all the way."""
    net, sink = switches(count), Sink()
    links = [net.connect(i, 2, i + 1, 1, rate, delay, credit, queue) for i in range(count - 1)]
    source = net.attach_host(0, 1, rate, delay, credit)
    net.set_handler(net.attach_host(count - 1, 2, rate, delay, credit), sink)
    return net, source, sink, links


def numbered(port: int, number: int, vl: int = 0) -> bytes:
    return frame(port, 1, vl) + number.to_bytes(4, "big") + bytes(SIZE - 5)


def at(net: Network, time: int, act: Callable[[], None]) -> None:
    """Runs to `time` and acts then, before anything that happens later."""
    net.alarm(time, 0)
    assert net.run() == 2
    item = net.take_control()
    assert item is not None
    assert item[:2] == ("alarm", time)
    act()


def pcap(path: Path) -> list[tuple[int, bytes]]:
    """Nanoseconds and bytes of each frame."""
    data = path.read_bytes()
    magic, major, minor, _, _, _, kind = struct.unpack_from("<IHHiIII", data)
    assert (magic, major, minor, kind) == (0xA1B23C4D, 2, 4, 1)
    frames, place = [], 24
    while place < len(data):
        seconds, nanoseconds, length, whole = struct.unpack_from("<IIII", data, place)
        assert length == whole
        frames.append((seconds * 10**9 + nanoseconds, data[place + 16 : place + 16 + length]))
        place += 16 + length
    return frames
