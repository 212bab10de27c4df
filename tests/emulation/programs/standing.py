# SPDX-License-Identifier: Apache-2.0
"""The compiled programs on the engine, each with the tables of ub_reference."""

import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from controller.forwarding.pipeline import DropReason
from controller.p4runtime.client import P4RuntimeClient, ProgramFiles
from controller.p4runtime.counter_cells import CounterCells
from emulation._engine import Network
from emulation.p4runtime import P4RuntimeServer
from tests.emulation.programs.ub_frames import UbFrame
from tests.emulation.programs.ub_reference import CPU_PORT, ROUTERS, Router, packet_out

NODE = "router"


class Standing:
    """A program with the tables of ub_reference, and what it has dropped since the last look."""

    def __init__(self, router: Router, files: ProgramFiles | None = None) -> None:
        """`files` stand in for those of the router."""
        self.tables = router
        self._network = Network()
        self._network.add_switch(NODE)
        self._server = P4RuntimeServer(self._network, {10: 0}, lock=threading.RLock())
        self._client = P4RuntimeClient(self._server.start())
        self._client.connect({NODE: 10})
        self._client.push_pipeline({NODE: files or router.files})
        self._client.install({NODE: router.entries})
        self._drops = Counter[int]()

    def close(self) -> None:
        self._client.close()
        self._server.stop()

    def __call__(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        return self._network.process(0, port, frame)

    def from_own_side(self, frame: UbFrame) -> list[tuple[int, bytes]]:
        """From the host; a switch, which has none, gets it from the controller."""
        if self.tables.has_host:
            return self(0, frame.packed())
        return self(CPU_PORT, packet_out(frame.packed()))

    def keeps(self, port: int, arrived: UbFrame, kept: UbFrame) -> bool:
        """Is what came for the router itself delivered so? A switch has nobody to deliver to."""
        out = self(port, arrived.packed())
        if self.tables.has_host:
            return out == [(0, kept.packed())]
        return out == [] and self.dropped() == {DropReason.NO_HOST: 1}

    def dropped(self) -> dict[DropReason, int]:
        counts = self._client.read_counter(NODE, "drops").items()
        now = Counter({index: packets for index, (packets, _) in counts})
        new, self._drops = now - self._drops, now
        return {DropReason(index): count for index, count in new.items()}

    def counters(self) -> dict[str, CounterCells]:
        return {name: self._client.read_counter(NODE, name) for name in ("drops", "tx_by_port_vl")}

    def sent(self, port: int, vl: int) -> tuple[int, int]:
        return self._client.read_counter(NODE, "tx_by_port_vl")[port * 4 + vl]


@pytest.fixture(scope="module")
def installed() -> Iterator[dict[Router, Standing]]:
    standing = {router: Standing(router) for router in ROUTERS}
    yield standing
    for item in standing.values():
        item.close()


@pytest.fixture(params=ROUTERS, ids=lambda router: router.program)
def router(installed: dict[Router, Standing], request: pytest.FixtureRequest) -> Standing:
    """Each program in turn, or those that a test names."""
    standing = installed[request.param]
    standing.dropped()
    return standing


only = {
    router: pytest.mark.parametrize("router", [router], indirect=True, ids=[router.program])
    for router in ROUTERS
}
