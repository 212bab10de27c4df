# SPDX-License-Identifier: Apache-2.0
"""A server with three switches, and its controllers."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from emulation._engine import Network
from emulation.p4runtime_server import P4RuntimeServer
from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.messages import CONFIG


@dataclass
class Bench:
    network: Network
    server: P4RuntimeServer
    address: str
    lock: threading.RLock
    packet_outs: threading.Semaphore


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
