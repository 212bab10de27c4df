# SPDX-License-Identifier: Apache-2.0
"""A P4 program of the user's own on a fabric in virtual time: any frames in and out of its hosts' ports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

from controller.errors import PlanError
from emulation.embedded.testbed import EmbeddedTestbed
from lab.run.boot import Booted, filled
from lab.run.own_program import entries_for, own_program
from railyard.api.records import Record, entry_record
from railyard.api.testbeds import Station
from topologies import Fabric

__all__ = ["ProgramTestbed", "program_testbed"]


@final
class ProgramTestbed:
    """A running fabric whose nodes all run one program; made by `program_testbed`. Time passes in `run`."""

    def __init__(self, fabric: Fabric, bed: EmbeddedTestbed, booted: Booted) -> None:
        self.fabric = fabric
        self._bed = bed
        self._booted = booted
        self._stations = {node.name: Station() for node in fabric.nodes if not node.tier}
        for name, station in self._stations.items():
            bed.attach(name, station)

    @property
    def address(self) -> str:
        """HOST:PORT of the P4Runtime server, which serves every switch under its device id."""
        return self._bed.address

    def send(self, node: str, frame: bytes) -> None:
        """Send a frame, any bytes, from the host of an endpoint into port 0 of its switch, now."""
        self._station(node).waiting.append((bytes(frame), 0))
        self._bed.attach(node, self._station(node))

    def run(self, until_us: float | None = None) -> None:
        """Let virtual time pass: until a time in microseconds, or until nothing moves."""
        self._bed.run(None if until_us is None else round(until_us * 10**6))

    def received(self, node: str) -> list[bytes]:
        """Return the frames that left port 0 of an endpoint's switch, in their order."""
        return [frame for _, frame in self._station(node).arrived]

    def entries(self, node: str) -> list[Record]:
        """Return the table entries that a switch holds now, read back over P4Runtime."""
        self.fabric.node(node)
        return [entry_record(node, entry) for entry in self._booted.client.read(node)]

    def _station(self, node: str) -> Station:
        self.fabric.node(node)
        if node not in self._stations:
            raise PlanError(f"{node} is a switch and has no host", remedy="name an endpoint")
        return self._stations[node]


@contextmanager
def program_testbed(
    fabric: Fabric,
    program: str | Path,
    p4info: str | Path | None = None,
    *,
    entries: str | Path | None = None,
    address: str = "127.0.0.1:0",
) -> Iterator[ProgramTestbed]:
    """Start a fabric in virtual time with a program of your own on every node; stop it when the block ends.

    Args:
        fabric: the fabric; the host of an endpoint is behind port 0 of its switch.
        program: FILE.json that p4c wrote for v1model, or FILE.p4 where p4c is installed.
        p4info: FILE.txtpb beside FILE.json.
        entries: FILE.json or FILE.txtpb with table entries; without it the tables are empty.
        address: HOST:PORT of the P4Runtime server; port 0 takes a free port.

    Raises:
        RailyardError: a file cannot be read, or an entry does not fit the program.
    """
    files = own_program(Path(program), None if p4info is None else Path(p4info))
    rows = entries_for(fabric, files, None if entries is None else Path(entries))
    bed = EmbeddedTestbed(fabric, grpc_address=address)
    with filled(bed, {node.name: files for node in fabric.nodes}, rows) as booted:
        yield ProgramTestbed(fabric, bed, booted)
