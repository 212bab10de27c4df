# SPDX-License-Identifier: Apache-2.0
"""Run a P4 program of the user's own on a fabric in virtual time; send and receive any frames."""

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
    """A running fabric with P4 programs of the user's own; time passes only in `run`.

    `program_testbed` and `exercise_testbed` make it.
    """

    def __init__(self, fabric: Fabric, bed: EmbeddedTestbed, booted: Booted) -> None:
        self.fabric = fabric
        self._bed = bed
        self._booted = booted
        self._hosts = {name: ManualHost() for name in fabric.host_ends()}
        for name, host in self._hosts.items():
            bed.attach(name, host)

    @property
    def address(self) -> str:
        """HOST:PORT of the P4Runtime server; every switch answers under its device id."""
        return self._bed.address

    def send(self, host: str, frame: bytes) -> None:
        """Send a frame, which may be any bytes, from a host to its switch now.

        The host behind port 0 of an endpoint has the name of the endpoint; a host of the graph has its own.
        """
        self._host(host).waiting.append((bytes(frame), 0))
        self._bed.attach(host, self._host(host))

    def run(self, until_us: float | None = None) -> None:
        """Let virtual time pass until `until_us`, or without it until no event is left."""
        self._bed.run(None if until_us is None else round(until_us * 10**6))

    def received(self, host: str) -> list[bytes]:
        """Return the frames received by a host, in the order of arrival."""
        return [frame for _, frame in self._host(host).arrived]

    def entries(self, node: str) -> list[Record]:
        """Return the current table entries of a switch, read back over P4Runtime."""
        self.fabric.node(node)
        return [entry_record(node, entry) for entry in self._booted.client.read(node)]

    def _host(self, host: str) -> ManualHost:
        if host not in self._hosts:
            self.fabric.node(host)
            raise PlanError(f"{host} is a switch and has no host", remedy="name an endpoint of the fabric")
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
        fabric: The fabric. The host of an endpoint is behind port 0 of its switch, a host of the graph behind
            the port of its edge.
        program: FILE.json that p4c wrote for v1model, or FILE.p4 if p4c is installed.
        p4info: P4info (FILE.txtpb) of FILE.json.
        entries: FILE.json, FILE.txtpb or a folder of NODE.json with table entries; without it the tables are
            empty.
        address: HOST:PORT of the P4Runtime server; port 0 takes a free port.

    Raises:
        RailyardError: A file cannot be read, or an entry does not fit the program.
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
        folder: Folder of the exercise, such as exercises/basic.
        program: FILE.p4 for all switches in place of the folder's program, such as the exercise's solution.
        address: HOST:PORT of the P4Runtime server; port 0 takes a free port.

    Raises:
        RailyardError: A file is missing or invalid, or names a file outside the folder.
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
    """Send frames from hosts into a fabric run by `railyard up`, and return the frames received by hosts.

    Args:
        address: HOST:PORT that `railyard up` prints.
        frames: Pairs of a host and a frame, which is a Scapy packet or bytes.
        hosts: Hosts whose frames are returned; empty means all hosts.
        seconds: Real time after which frames that still circulate are an error.

    Returns:
        Records of host, time_us and frame, in the order of arrival.

    Raises:
        RailyardError: No fabric answers at the address, a host does not exist, or frames circulate forever.
    """
    sent = [Departure(host, data := bytes(frame), vl_of(data)) for host, frame in frames]
    return [
        {"host": item.host, "time_us": item.time_ps / 10**6, "frame": item.frame}
        for item in exchange_frames(address, sent, hosts, seconds=seconds)
    ]
