# SPDX-License-Identifier: Apache-2.0
"""Small networks of tests/programs/wire.p4: the first byte of a frame names its output and its VL."""

from pathlib import Path
from typing import Any, final

from emulation._engine import Network, Program

__all__ = ["FOREVER", "PROGRAMS", "RATE", "WIRE", "Sink", "chain", "frame", "handle", "steer", "switches"]

PROGRAMS = Path(__file__).parents[1] / "programs" / "build"
WIRE = PROGRAMS / "wire.json"
RATE = 8_000_000_000_000
"""One byte a picosecond."""
FOREVER = 1 << 60


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


def frame(port: int, length: int, vl: int = 0) -> bytes:
    return bytes([port << 3 | vl]) + bytes(length - 1)


def handle(things: list[dict[str, Any]], name: str) -> int:
    return next(one["handle"] for one in things if one["name"].split(".")[-1] == name)


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
