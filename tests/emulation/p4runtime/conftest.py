# SPDX-License-Identifier: Apache-2.0
"""A server with three switches, and its controllers."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from emulation._engine import Network
from emulation.p4runtime import P4RuntimeServer
from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime import every_entity
from tests.emulation.p4runtime.messages import CONFIG

CONTROL = 2
"""Answer of Network.run() when there is something to take."""


@dataclass
class Bench:
    network: Network
    server: P4RuntimeServer
    address: str
    lock: threading.RLock
    packet_outs: threading.Semaphore
    hosts: dict[int, int] = field(default_factory=dict)

    def send(self, frame: bytes, port: int = 0) -> None:
        """A frame from a host on a port of switch 0; what it makes the switch say goes to its controllers."""
        with self.lock:
            if port not in self.hosts:
                self.hosts[port] = self.network.attach_host(0, port, 10**12, 0, 0)
            self.network.send(self.hosts[port], frame, 0)
            self.run(self.network.now + 1000)

    def run(self, until_ps: int) -> None:
        """Let virtual time pass."""
        with self.lock:
            while self.network.run(until_ps) == CONTROL:
                while item := self.network.take_control():
                    self.server.deliver(item)

    def ask(self, frame: bytes, port: int = 0) -> list[tuple[int, bytes]]:
        """Return the outputs of switch 0 for a frame, without passing time."""
        with self.lock:
            return self.network.process(0, port, frame)


@pytest.fixture
def bench() -> Iterator[Bench]:
    """Three switches, device ids 1 to 3."""
    network, lock, packet_outs = Network(), threading.RLock(), threading.Semaphore(0)
    switches = {device: network.add_switch(f"switch{device}") for device in (1, 2, 3)}
    server = P4RuntimeServer(network, switches, lock=lock, on_packet_out=packet_outs.release)
    address = server.start()
    yield Bench(network, server, address, lock, packet_outs)
    server.stop()


@pytest.fixture
def client(bench: Bench) -> Iterator[Controller]:
    """The primary of device 1, without a pipeline yet."""
    with Controller(bench.address) as controller:
        controller.enter()
        yield controller


@pytest.fixture
def ready(client: Controller) -> Controller:
    """The primary of device 1, with the sampler running."""
    client.push(CONFIG)
    return client


@pytest.fixture
def full(client: Controller) -> Controller:
    """The primary of device 1, with the program of every entity running."""
    client.push(every_entity.CONFIG)
    return client
