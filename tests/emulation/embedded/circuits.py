# SPDX-License-Identifier: Apache-2.0
"""A fabric of NPUs at one optical circuit switch on the embedded testbed, and hosts that send over it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, final

from emulation._engine import Program
from emulation.embedded.testbed import EmbeddedTestbed
from tests.emulation.engine.wires import WIRE, frame, steer
from topologies import Fabric, optical_rings, with_circuits
from topologies.model.checks import check

__all__ = ["DARK", "SIZE", "Chatter", "every", "running", "single_port"]

DARK = 3_000_000
SIZE = 100


def single_port(npus: int, joined: Mapping[int, int] | None = None, **settings: Any) -> Fabric:
    """NPUs with port 1 on the optical switch and no other: switch port i is NPU i."""
    rings = optical_rings(npus, reconfiguration_us=DARK / 10**6, **settings)
    (ocs,) = rings.optical
    fabric = replace(
        rings,
        nodes=tuple(replace(node, ports=node.ports[:2]) for node in rings.nodes),
        links=(),
        optical=(replace(ocs, ends=ocs.ends[::2]),),
    )
    created = with_circuits(fabric, "ocs0", joined or {})
    check(created)
    return created


@contextmanager
def running(fabric: Fabric, **settings: Any) -> Iterator[EmbeddedTestbed]:
    """Every frame for port 10 + p leaves by port p and ends at the host of the far end."""
    with EmbeddedTestbed(fabric, **settings) as testbed:
        for i, node in enumerate(fabric.nodes):
            testbed.network.set_program(i, Program(WIRE.read_bytes()))
            steer(testbed.network, i, {10 + port.number: (port.number, 0) for port in node.ports[1:]})
        yield testbed


@final
class Chatter:
    """Sends a frame for `port` at every one of `times`; hands what it gets to `seen`."""

    def __init__(
        self, own: int, times: list[int], seen: Callable[[int, int, bytes], None], port: int = 11
    ) -> None:
        self.own, self.times, self.seen, self.port, self.sent = own, times, seen, port, 0

    def _next(self) -> int | None:
        return self.times[self.sent] if self.sent < len(self.times) else None

    def start(self, now: int) -> tuple[list[tuple[bytes, int]], int | None]:
        return [], self._next()

    def on_timer(self, now: int) -> tuple[list[tuple[bytes, int]], int | None]:
        data = frame(self.port, 1) + bytes([self.own]) + bytes(SIZE - 2)
        self.sent += 1
        return [(data, 0)], self._next()

    def on_frame(self, frame: bytes, now: int) -> tuple[list[tuple[bytes, int]], int | None]:
        self.seen(self.own, now, frame)
        return [], self._next()


def every(period: int, until: int, start: int = 0) -> list[int]:
    return list(range(start, until, period))
