# SPDX-License-Identifier: Apache-2.0
"""The statements of an STF file on BMv2's simple_switch: packets through pcap files that are pipes.

simple_switch reads a packet of each of its files ahead and processes the one with the earliest time stamp;
then it waits for the next packet of that file, or its end. Writing packets early for every port but the one
it waits for therefore fixes the order across ports, and nothing happens between packets until it may.
"""

import os
import re
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tests.differential.stf.language import (
    Add,
    CheckCounter,
    Command,
    Expect,
    Packet,
    RemoveAll,
    SetDefault,
    Statement,
    StfError,
)
from tests.differential.stf.names import Entry, Key, Match, Names, lookup
from tests.differential.stf.verdict import Outputs, counter_agrees, ports

__all__ = ["Bmv2Error", "run_on_bmv2"]

_START_SECONDS = 30.0
_EXPECTED_SECONDS = 5.0
# Nothing tells that a packet has been dropped.
_QUIET_SECONDS = 0.1
_POLL_SECONDS = 0.01
_PROMPT = b"RuntimeCmd: "
_REFUSED = re.compile(r"^(Error|Invalid|Unknown|\*\*\* Unknown|Table .* has no|Wrong).*", re.MULTILINE)
# BMv2 takes the smaller number for the more important.
_LARGEST_PRIORITY = 1 << 30

_PCAP_MAGIC, _ETHERNET = 0xA1B2C3D4, 1


class Bmv2Error(Exception):
    """simple_switch did not start, or ended."""


def run_on_bmv2(bmv2_json: bytes, statements: Sequence[Statement], directory: Path) -> Outputs:
    """StfError where the switch refuses a statement; `directory` is empty and takes the files of the run."""
    (directory / "program.json").write_bytes(bmv2_json)
    run = _Run(Names(bmv2_json), statements, directory)
    try:
        run.start()
        return run.take_all()
    finally:
        run.stop()


class _Run:
    def __init__(self, names: Names, statements: Sequence[Statement], directory: Path) -> None:
        self._names, self._statements, self._directory = names, statements, directory
        self._ports = ports(statements) or [0]
        self._pipes: dict[int, IO[bytes]] = {}
        self._waiting = {port: self._of_port(port) for port in self._ports}
        self._last: int | None = None  # the port whose next packet simple_switch waits for
        self._thrift_port = _free_port()
        self._switch: subprocess.Popen[bytes] | None = None
        self._cli: subprocess.Popen[bytes] | None = None

    def _of_port(self, port: int) -> list[tuple[int, bytes]]:
        """Return the packets of a port, each with its place in the file as its time."""
        packets = [statement for statement in self._statements if isinstance(statement, Packet)]
        return [(time, packet.data) for time, packet in enumerate(packets) if packet.port == port]

    def start(self) -> None:
        for port in self._ports:
            os.mkfifo(self._directory / f"{port}_in.pcap")
        files = [f"{port}@{self._directory / str(port)}" for port in self._ports]
        interfaces = [part for file in files for part in ("-i", file)]
        with (self._directory / "simple_switch.log").open("wb") as log:
            self._switch = subprocess.Popen(
                [
                    *("simple_switch", "--use-files", "0", *interfaces),
                    *("--thrift-port", str(self._thrift_port)),
                    *("--device-id", str(self._thrift_port)),  # names its notification socket, if any
                    str(self._directory / "program.json"),
                    *("--", "--priority-queues", "8"),  # it drops what has a priority and no queue for it
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        # simple_switch opens one after the other, by port number, and reads what each begins with.
        for port in self._ports:
            self._pipes[port] = self._open(self._directory / f"{port}_in.pcap")
            self._write(port, struct.pack("<IHHiIII", _PCAP_MAGIC, 2, 4, 0, 0, 65535, _ETHERNET))
        deadline = time.monotonic() + _START_SECONDS
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._thrift_port)) == 0:
                    return
            self._pause(deadline)

    def _open(self, pipe: Path) -> IO[bytes]:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)  # refused as long as nobody reads
            except OSError:
                self._pause(deadline)
                continue
            os.set_blocking(end, True)
            return os.fdopen(end, "wb", buffering=0)

    def _pause(self, deadline: float) -> None:
        assert self._switch is not None
        if self._switch.poll() is not None or time.monotonic() > deadline:
            log = (self._directory / "simple_switch.log").read_text(errors="replace")
            raise Bmv2Error(f"simple_switch did not start:\n{log[:500]}")
        time.sleep(_POLL_SECONDS)

    def take_all(self) -> Outputs:
        packets = [statement for statement in self._statements if isinstance(statement, Packet)]
        for port in self._ports:
            if packets and port != packets[0].port:
                self._advance(port)
        expected = handed_over = 0
        settled = True
        for statement in self._statements:
            if isinstance(statement, Packet):
                self._advance(packets[handed_over].port if self._last is None else self._last)
                self._last = statement.port
                handed_over += 1
                settled = False
            elif isinstance(statement, Expect):
                expected += 1
            else:
                if not settled:
                    self._settle(self._expected_until(statement))
                    settled = True
                self._command(statement)
        for port in self._ports:
            self._close(port)
        outputs = self._settle(expected)
        assert self._switch is not None
        if self._switch.poll() is not None:
            raise Bmv2Error(f"simple_switch ended with status {self._switch.returncode}")
        return outputs

    def _expected_until(self, statement: Statement) -> int:
        return sum(isinstance(item, Expect) for item in self._statements[: self._statements.index(statement)])

    def _advance(self, port: int) -> None:
        """Write a port's next packet, or its end."""
        if not self._waiting[port]:
            self._close(port)
            return
        time, data = self._waiting[port].pop(0)
        self._write(port, struct.pack("<IIII", time + 1, 0, len(data), len(data)) + data)

    def _write(self, port: int, data: bytes) -> None:
        if port in self._pipes:
            try:
                self._pipes[port].write(data)
            except BrokenPipeError as ex:
                raise Bmv2Error("simple_switch has ended") from ex

    def _close(self, port: int) -> None:
        if port in self._pipes:
            self._pipes.pop(port).close()

    def _settle(self, expected: int) -> Outputs:
        """Until as many packets as expected have come, and then no more."""
        deadline = time.monotonic() + _EXPECTED_SECONDS
        count, since = -1, time.monotonic()
        while True:
            outputs = {port: _packets(self._directory / f"{port}_out.pcap") for port in self._ports}
            now, total = time.monotonic(), sum(map(len, outputs.values()))
            if total != count:
                count, since = total, now
            if (total >= expected or now > deadline) and now - since >= _QUIET_SECONDS:
                return outputs
            time.sleep(_POLL_SECONDS)

    def _command(self, statement: Statement) -> None:
        match statement:
            case Add():
                entry = self._names.entry(statement)
                if entry.table.profile is None:
                    self._tell(statement, _table_add(entry))
                else:
                    self._add_group(statement, entry)
            case SetDefault():
                entry = self._names.entry(statement)
                line = f"table_set_default {entry.table.name} {entry.action} "
                self._tell(statement, line + " ".join(map(str, entry.arguments)))
            case RemoveAll():
                for table in self._names.tables:
                    self._tell(statement, f"table_clear {table}")
            case CheckCounter():
                name = lookup("counter", statement.counter, self._names.counters)
                answer = self._tell(statement, f"counter_read {name} {statement.index}")
                result = re.search(r"\((\d+) bytes, (\d+) packets\)", answer)
                if result is None:
                    raise StfError(f"line {statement.line}: no counter in {answer.strip()!r}")
                octets, packets = map(int, result.groups())
                if problem := counter_agrees(statement, packets, octets):
                    raise StfError(problem)
            case Command():
                self._tell(statement, " ".join((statement.name, *statement.arguments)))

    def _add_group(self, statement: Statement, entry: Entry) -> None:
        """Insert an entry of a table with a selector, with a group of its own."""
        profile = entry.table.profile
        group = self._handle(statement, f"act_prof_create_group {profile}")
        for action, arguments in ((entry.action, entry.arguments), *entry.others):
            call = " ".join((f"act_prof_create_member {profile} {action}", *map(str, arguments)))
            member = self._handle(statement, call)
            self._tell(statement, f"act_prof_add_member_to_group {profile} {member} {group}")
        keys = [_key(key, match) for key, match in zip(entry.table.keys, entry.matches, strict=True)]
        words = ["table_indirect_add_with_group", entry.table.name, *keys, "=>", str(group)]
        if entry.table.ordered:
            words.append(str(_LARGEST_PRIORITY - entry.priority))
        self._tell(statement, " ".join(words))

    def _handle(self, statement: Statement, line: str) -> int:
        """Return the handle of what a command creates."""
        answer = self._tell(statement, line)
        result = re.search(r"handle (\d+)", answer)
        if result is None:
            raise StfError(f"line {statement.line}: {line}: no handle in {answer.strip()!r}")
        return int(result[1])

    def _tell(self, statement: Statement, line: str) -> str:
        if self._cli is None:
            self._cli = subprocess.Popen(
                ["simple_switch_CLI", "--thrift-port", str(self._thrift_port)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            self._answer()
        assert self._cli.stdin is not None
        self._cli.stdin.write(line.encode() + b"\n")
        self._cli.stdin.flush()
        answer = self._answer()
        if refused := _REFUSED.search(answer):
            raise StfError(f"line {statement.line}: {line}: {refused[0]}")
        return answer

    def _answer(self) -> str:
        assert self._cli is not None
        assert self._cli.stdout is not None
        answer = b""
        while not answer.endswith(_PROMPT):
            part = os.read(self._cli.stdout.fileno(), 65536)
            if not part:
                raise Bmv2Error(f"simple_switch_CLI ended: {answer.decode(errors='replace')[-500:]}")
            answer += part
        return answer.removesuffix(_PROMPT).decode(errors="replace")

    def stop(self) -> None:
        for port in self._ports:
            self._close(port)
        for process in (self._cli, self._switch):
            if process is None:
                continue
            process.send_signal(signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


def _table_add(entry: Entry) -> str:
    keys = [_key(key, match) for key, match in zip(entry.table.keys, entry.matches, strict=True)]
    words = ["table_add", entry.table.name, entry.action, *keys, "=>", *map(str, entry.arguments)]
    if entry.table.ordered:
        words.append(str(_LARGEST_PRIORITY - entry.priority))
    return " ".join(words)


def _key(key: Key, match: Match) -> str:
    match key.kind:
        case "lpm":
            return f"{match.value}/{match.prefix}"
        case "ternary":
            return f"{match.value}&&&{match.extra}"
        case "range":
            return f"{match.value}->{match.extra}"
        case _:
            return str(match.value)


def _packets(file: Path) -> list[bytes]:
    """Return the packets in a pcap file so far; the last may not be whole yet."""
    data, at = file.read_bytes() if file.exists() else b"", 24
    result: list[bytes] = []
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        if at + 16 + length > len(data):
            break
        result.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return result


def _free_port() -> int:
    with socket.socket() as item:
        item.bind(("127.0.0.1", 0))
        return item.getsockname()[1]
