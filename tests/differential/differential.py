# SPDX-License-Identifier: Apache-2.0
"""Equal programs, entries and frames through the engine and through BMv2.

    with Differential(files, entries, ports=range(15), directory=tmp_path) as pair:
        assert pair.differences(frames) == []

A frame is (ingress port, bytes). On the CPU port it begins with the packet_out header, as the program sees
it, and reaches BMv2 as a packet-out; a frame for the CPU port comes back as a packet-in. What comes out is
compared port by port without regard to order, which BMv2's priority queues may change; so a number in the
payload makes a difference easy to trace.
"""

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Self

from controller import Entry, InstallError
from controller.p4runtime.client import P4RuntimeClient, ProgramFiles
from controller.p4runtime.p4info import P4Info
from emulation._engine import Network
from emulation.p4runtime import P4RuntimeServer
from tests.differential.bmv2 import CPU_PORT, NODE, Bmv2

__all__ = ["Differential", "Frame", "show"]

Frame = tuple[int, bytes]

_ENGINE = 0

# Fewer frames are on their way at a time than BMv2's receive ring of a port holds, 189 of the longest, and
# than its egress queues do, 64 to begin with.
_CHUNK = 48
_LONG_CHUNK, _QUEUE_DEPTH, _SHORT_MTU = 256, 100_000, 2_000
_QUIET_SECONDS = 0.1
_SETTLE_SECONDS = 0.02
# Frames of other ports that are tried as a fence.
_FENCES = 3
_SHORTEST, _SHORTEST_TAGGED = 14, 20


class Differential:
    """Both switches with a program and its entries, ready to be fed."""

    def __init__(
        self,
        files: ProgramFiles,
        entries: Sequence[Entry],
        *,
        ports: Sequence[int],
        directory: Path,
        many: bool = False,
        on_log: Callable[[str], None] | None = None,
    ) -> None:
        """`directory` takes BMv2's socket and log; `many` is for many frames, of at most 2,000 bytes.

        `on_log` gets the log messages of the program as the engine executes them.
        """
        self._files, self._entries = files, tuple(entries)
        self._info = P4Info.parse(files.p4info)
        # What leaves by a port that BMv2 has no interface for is nowhere to be seen.
        self._watched = {*ports, CPU_PORT}
        self._many = many
        self._bmv2 = Bmv2(ports, directory, mtu=_SHORT_MTU) if many else Bmv2(ports, directory)
        self._network = Network()
        self._network.add_switch(NODE, CPU_PORT)
        self._on_log = on_log
        if on_log is not None:
            self._network.set_logging(_ENGINE, True)
        self._server = P4RuntimeServer(self._network, {1: _ENGINE}, lock=threading.RLock())
        self.addresses = ("", self._bmv2.address)
        self._exit = ExitStack()
        # By port, the last frame that came out again: a fence behind frames that the program drops.
        self._forwarded: dict[int, Frame] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._server.stop)
            self.addresses = (self._server.start(), self._bmv2.address)
            self._engine = stack.enter_context(P4RuntimeClient(self.addresses[0]))
            self._engine.connect({NODE: 1})
            stack.enter_context(self._bmv2)
            if self._many:
                self._bmv2.set_queue_depth(_QUEUE_DEPTH)
            self.load(self._files, self._entries)
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def load(self, files: ProgramFiles, entries: Sequence[Entry] = ()) -> None:
        """Replace the program and the entries of both switches; InstallError if one of them refuses."""
        self._info = P4Info.parse(files.p4info)
        self._forwarded.clear()
        for client in self.clients:
            client.push_pipeline({NODE: files})
            client.install({NODE: entries})

    def drain(self, quiet_seconds: float) -> None:
        """Discard what BMv2 still sends, until nothing comes for so long."""
        self._collect([], sys.maxsize, quiet_seconds)

    @property
    def clients(self) -> tuple[P4RuntimeClient, P4RuntimeClient]:
        """Primary controllers, under the node name NODE: of the engine and of BMv2."""
        return self._engine, self._bmv2.client

    def differences(self, frames: Sequence[Frame], *, late_seconds: float = 5.0) -> list[str]:
        """Return the frames that only one switch sent, and counters that differ; empty when they agree."""
        expected, got = self.exchange(frames, late_seconds=late_seconds)
        result = [f"only the engine: {show(element)}" for element in (expected - got).elements()]
        result += [f"only BMv2: {show(element)}" for element in (got - expected).elements()]
        return result + self.counter_differences(late_seconds=late_seconds)

    def exchange(
        self, frames: Sequence[Frame], *, late_seconds: float = 5.0, quiet_seconds: float = _QUIET_SECONDS
    ) -> tuple[Counter[Frame], Counter[Frame]]:
        """Return the frames that the engine sends and the frames that BMv2 sends.

        A frame counts as lost when BMv2 has been silent for `late_seconds`; none is sent after that. At the
        end nothing more may come for `quiet_seconds`.
        """
        expected: list[Frame] = []
        got: list[Frame] = []
        sent = [(port, frame) for port, frame in frames if self._passes(port, frame, "packet_out")]
        for chunk in self._chunks(sent):
            fenced = self._process(chunk, expected)
            for port, frame in chunk:
                self._send(port, frame)
            self._collect(got, len(expected), late_seconds)
            if len(got) < len(expected):
                break
            if not fenced:
                self._collect(got, len(expected) + 1, _SETTLE_SECONDS)
        self._collect(got, len(expected) + 1, quiet_seconds)
        return Counter(expected), Counter(got)

    def _passes(self, port: int, frame: bytes, header: str) -> bool:
        """Nothing without its header passes by P4Runtime, nor anything too short by a link."""
        if port == CPU_PORT:
            return 8 * len(frame) >= sum(width for _, width in self._header(header))
        return _carried(frame)

    def _chunks(self, frames: Sequence[Frame]) -> Iterator[list[Frame]]:
        """Split frames into runs by port, so that both switches see them in equal order."""
        runs = (list(run) for _, run in groupby(frames, key=itemgetter(0))) if self._many else [frames]
        length = _LONG_CHUNK if self._many else _CHUNK
        for run in runs:
            for start in range(0, len(run), length):
                yield list(run[start : start + length])

    def _process(self, chunk: list[Frame], expected: list[Frame]) -> bool:
        """Through the engine, and make the last frame of every port one that is forwarded; False if none is.

        BMv2 takes what comes by a port in order: when such a frame comes out, those before it, forwarded or
        not, have been taken too, and its receive ring is empty again.
        """
        open_ports: set[int] = set()
        for port, frame in chunk:
            if self._expect(port, frame, expected):
                open_ports.discard(port)
            else:
                open_ports.add(port)
        for port in sorted(open_ports):
            # A frame that another port forwards may be forwarded by this one too.
            fences = [self._forwarded.get(port), *list(self._forwarded.values())[-_FENCES:]]
            for fence in dict.fromkeys(frame for _, frame in filter(None, fences)):
                if not self._passes(port, fence, "packet_out"):
                    continue
                chunk.append((port, fence))
                if self._expect(port, fence, expected):
                    open_ports.remove(port)
                    break
        return not open_ports

    def _expect(self, port: int, frame: bytes, expected: list[Frame]) -> bool:
        """Add the visible outputs of a frame; False if there are none."""
        if not (out := self._outputs(port, frame)):
            return False
        expected += out
        self._forwarded.pop(port, None)
        self._forwarded[port] = port, frame
        return True

    def _outputs(self, port: int, frame: bytes) -> list[Frame]:
        """Return the visible outputs of a frame."""
        out = self._network.process(_ENGINE, port, frame)
        while item := self._network.take_control():
            if item[0] == "log" and self._on_log is not None:
                self._on_log(item[5].decode())
        return [(to, data) for to, data in out if to in self._watched and self._passes(to, data, "packet_in")]

    def _send(self, port: int, frame: bytes) -> None:
        if port != CPU_PORT:
            self._bmv2.send(port, frame)
            return
        fields = self._header("packet_out")
        bits = sum(width for _, width in fields)
        header, values = int.from_bytes(frame[: bits // 8]), {}
        for name, width in fields:
            bits -= width
            values[name] = header >> bits & ((1 << width) - 1)
        self._bmv2.client.packet_out(NODE, frame[sum(width for _, width in fields) // 8 :], **values)

    def _collect(self, got: list[Frame], total: int, seconds: float) -> None:
        """Until `total` frames have come in all, or none comes for `seconds`."""
        deadline = time.monotonic() + seconds
        while len(got) < total and time.monotonic() < deadline:
            arrived = self._bmv2.receive(0.01) + list(self._packet_ins())
            if arrived:
                got += arrived
                deadline = time.monotonic() + seconds

    def _packet_ins(self) -> Iterator[Frame]:
        while True:
            try:
                packet = self._bmv2.client.packet_in(NODE, timeout=0)
            except InstallError:
                return
            header = bits = 0
            for name, width in self._header("packet_in"):
                header, bits = header << width | packet.metadata[name], bits + width
            yield CPU_PORT, header.to_bytes(bits // 8) + packet.payload

    def _header(self, name: str) -> list[tuple[str, int]]:
        for header in self._info.message.controller_packet_metadata:
            if header.preamble.name == name:
                return [(field.name, field.bitwidth) for field in header.metadata]
        return []

    def counter_differences(self, *, late_seconds: float = 5.0) -> list[str]:
        """Return the indexed counters whose values differ.

        A frame that BMv2 drops shows in its counters alone, and late when the machine is busy: differences
        count once they have not changed for `late_seconds`.
        """
        before, deadline = None, 0.0
        while True:
            unlike = list(self._unlike_counters())
            if not unlike or (unlike == before and time.monotonic() > deadline):
                return unlike
            if unlike != before:
                before, deadline = unlike, time.monotonic() + late_seconds
            time.sleep(_SETTLE_SECONDS)

    def _unlike_counters(self) -> Iterator[str]:
        for counter in self._info.message.counters:
            name = counter.preamble.alias
            ours, theirs = (client.read_counter(NODE, name) for client in self.clients)
            for index in range(counter.size):
                if ours[index] != theirs[index]:
                    yield f"counter {name}[{index}]: engine {ours[index]}, BMv2 {theirs[index]}"


def _carried(data: bytes) -> bool:
    """The kernel takes no frame shorter than its header, or with a VLAN tag than 20 bytes."""
    tagged = data[12:14] in (b"\x81\x00", b"\x88\xa8")
    return len(data) >= (_SHORTEST_TAGGED if tagged else _SHORTEST)


def show(frame: Frame) -> str:
    port, data = frame
    return f"port {port}, {len(data)} bytes: {data[:48].hex()}{'...' if len(data) > 48 else ''}"
