# SPDX-License-Identifier: Apache-2.0
"""A P4 program of the user's own on a fabric in virtual time: any frames in and out of its hosts' ports."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from controller.errors import PlanError
from emulation.embedded.testbed import EmbeddedTestbed
from harness.formats.p4lang_exercise import read_exercise
from harness.frames.exchange import Departure, vl_of
from harness.frames.exchange import exchange as exchange_frames
from harness.run.boot import Booted, filled
from harness.run.programs.own_program import entries_for, own_program
from railyard.api.records import Record, entry_record
from railyard.api.testbeds import ManualHost
from topologies import Fabric

__all__ = ["ProgramTestbed", "exchange", "exercise_testbed", "program_testbed"]


@final
class ProgramTestbed:
    """A running fabric whose nodes all run one program; made by `program_testbed`. Time passes in `run`."""

    def __init__(self, fabric: Fabric, bed: EmbeddedTestbed, booted: Booted) -> None:
        self.fabric = fabric
        self._bed = bed
        self._booted = booted
        self._hosts = {name: ManualHost() for name in fabric.host_ends()}
        for name, host in self._hosts.items():
            bed.attach(name, host)

    @property
    def address(self) -> str:
        """HOST:PORT of the P4Runtime server, which serves every switch under its device id."""
        return self._bed.address

    def send(self, host: str, frame: bytes) -> None:
        """Send a frame, any bytes, from a host into the port of its switch, now.

        A host goes by the name of its endpoint, whose port 0 it is behind, or by its own name.
        """
        self._host(host).waiting.append((bytes(frame), 0))
        self._bed.attach(host, self._host(host))

    def run(self, until_us: float | None = None) -> None:
        """Let virtual time pass: until a time in microseconds, or until nothing moves."""
        self._bed.run(None if until_us is None else round(until_us * 10**6))

    def received(self, host: str) -> list[bytes]:
        """Return the frames that left by a host's port, in their order."""
        return [frame for _, frame in self._host(host).arrived]

    def entries(self, node: str) -> list[Record]:
        """Return the table entries that a switch holds now, read back over P4Runtime."""
        self.fabric.node(node)
        return [entry_record(node, entry) for entry in self._booted.client.read(node)]

    def _host(self, host: str) -> ManualHost:
        if host not in self._hosts:
            self.fabric.node(host)
            raise PlanError(f"{host} is a switch and has no host", remedy="name an endpoint")
        return self._hosts[host]


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
        fabric: the fabric; the host of an endpoint is behind port 0 of its switch, a host of the graph behind
            the port of its edge.
        program: FILE.json that p4c wrote for v1model, or FILE.p4 where p4c is installed.
        p4info: FILE.txtpb beside FILE.json.
        entries: FILE.json, FILE.txtpb or a folder of NODE.json with table entries; without it the
            tables are empty.
        address: HOST:PORT of the P4Runtime server; port 0 takes a free port.

    Raises:
        RailyardError: a file cannot be read, or an entry does not fit the program.
    """
    files = own_program(Path(program), None if p4info is None else Path(p4info))
    rows = entries_for(fabric, files, None if entries is None else Path(entries))
    bed = EmbeddedTestbed(fabric, grpc_address=address)
    with filled(bed, {node.name: files for node in fabric.nodes}, rows) as booted:
        yield ProgramTestbed(fabric, bed, booted)


@contextmanager
def exercise_testbed(
    folder: str | Path, program: str | Path | None = None, *, address: str = "127.0.0.1:0"
) -> Iterator[ProgramTestbed]:
    """Start an exercise of the P4 language project's tutorials in virtual time, from the files of its folder.

    Args:
        folder: folder of the exercise, such as exercises/basic.
        program: FILE.p4 that all switches run, such as the exercise's solution, in place of the folder's.
        address: HOST:PORT of the P4Runtime server; port 0 takes a free port.

    Raises:
        RailyardError: a file is at fault, or leads out of the folder.
    """
    content = read_exercise(Path(folder), None if program is None else Path(program))
    bed = EmbeddedTestbed(content.fabric, grpc_address=address)
    with filled(bed, content.programs, content.entries) as booted:
        for node, entries in content.replication.items():
            if entries:
                booted.client.replicate(node, entries)
        yield ProgramTestbed(content.fabric, bed, booted)


def exchange(
    address: str,
    frames: Iterable[tuple[str, Any]],
    *,
    hosts: Collection[str] = (),
    seconds: float = 30.0,
) -> list[Record]:
    """Send frames into a fabric that `railyard up` runs, and return the frames that leave it.

    Args:
        address: HOST:PORT that `railyard up` prints.
        frames: pairs of a host and a frame: a Scapy packet, or bytes.
        hosts: hosts whose ports are watched; without any, all hosts.
        seconds: real time after which frames that still circulate are an error.

    Returns:
        Records in the order in which frames left: host, time_us, frame.

    Raises:
        RailyardError: nothing answers, a host does not exist, or frames circulate without end.
    """
    sent = [Departure(host, data := bytes(frame), vl_of(data)) for host, frame in frames]
    return [
        {"host": item.host, "time_us": item.time_ps / 10**6, "frame": item.frame}
        for item in exchange_frames(address, sent, hosts, seconds=seconds)
    ]
