# SPDX-License-Identifier: Apache-2.0
"""The same program, the same entries and the same frames through the engine and through BMv2.

    with Differential(files, entries, ports=range(15), directory=tmp_path) as pair:
        assert pair.differences(frames) == []

A frame is (ingress port, bytes). On the CPU port it begins with the packet_out header, as the program sees
it, and reaches BMv2 as a packet-out; a frame for the CPU port comes back as a packet-in. What comes out is
compared port by port without regard to order, which BMv2's priority queues may change; so a number in the
payload makes a difference easy to trace.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from controller import Entry, InstallError
from controller.p4info import P4Info
from controller.p4runtime import P4RuntimeClient, ProgramFiles
from emulation._engine import Network
from emulation.p4runtime_server import P4RuntimeServer
from tests.differential.bmv2 import CPU_PORT, NODE, Bmv2

__all__ = ["Differential", "Frame"]

Frame = tuple[int, bytes]

# Switches of the engine's network: the one compared, and one to ask what a frame would do.
_ENGINE, _PROBE = 0, 1

# BMv2's receive ring of a port holds 32 frames, its egress queues 64; fewer are on their way at a time.
_CHUNK = 16
_QUIET_SECONDS = 0.1
_SETTLE_SECONDS = 0.02
_SHORTEST = 14


class Differential:
    """Both switches with a program and its entries, ready to be fed."""

    def __init__(
        self, files: ProgramFiles, entries: Sequence[Entry], *, ports: Sequence[int], directory: Path
    ) -> None:
        self._files, self._entries = files, tuple(entries)
        self._info = P4Info.parse(files.p4info)
        # What leaves by a port that BMv2 has no interface for is nowhere to be seen.
        self._watched = {*ports, CPU_PORT}
        self._bmv2 = Bmv2(ports, directory)
        self._network = Network()
        for name in (NODE, "probe"):
            self._network.add_switch(name, CPU_PORT)
        self._server = P4RuntimeServer(self._network, {1: _ENGINE, 2: _PROBE}, lock=threading.RLock())
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._server.stop)
            self._engine = stack.enter_context(P4RuntimeClient(self._server.start()))
            self._engine.connect({NODE: 1, "probe": 2})
            stack.enter_context(self._bmv2)
            for client, nodes in [(self._engine, (NODE, "probe")), (self._bmv2.client, (NODE,))]:
                client.push_pipeline(dict.fromkeys(nodes, self._files))
                client.install(dict.fromkeys(nodes, self._entries))
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    @property
    def clients(self) -> tuple[P4RuntimeClient, P4RuntimeClient]:
        """Primary controllers, under the node name NODE: of the engine and of BMv2."""
        return self._engine, self._bmv2.client

    def differences(self, frames: Sequence[Frame], *, late_seconds: float = 5.0) -> list[str]:
        """What came out of one and not of the other, and counters that differ; empty when they agree.

        A frame counts as lost when BMv2 has been silent for `late_seconds`.
        """
        expected: Counter[Frame] = Counter()
        got: Counter[Frame] = Counter()
        sent = [(port, frame) for port, frame in frames if port == CPU_PORT or len(frame) >= _SHORTEST]
        fences = self._fences(sent)
        for start in range(0, len(sent), _CHUNK):
            chunk = sent[start : start + _CHUNK]
            used = {port for port, _ in chunk}
            chunk += [fences[port] for port in used if port in fences]
            for port, frame in chunk:
                expected.update(self._process(_ENGINE, port, frame))
            for port, frame in chunk:
                self._send(port, frame)
            self._collect(got, expected.total(), late_seconds)
            if got.total() < expected.total():
                break  # what follows would each time be waited for in vain
            if used - fences.keys():
                self._collect(got, expected.total() + 1, _SETTLE_SECONDS)
        self._collect(got, expected.total() + 1, _QUIET_SECONDS)
        found = [f"only the engine: {_show(one)}" for one in (expected - got).elements()]
        found += [f"only BMv2: {_show(one)}" for one in (got - expected).elements()]
        return found + list(self._counter_differences())

    def _process(self, switch: int, port: int, frame: bytes) -> list[Frame]:
        return [one for one in self._network.process(switch, port, frame) if one[0] in self._watched]

    def _fences(self, frames: Sequence[Frame]) -> dict[int, Frame]:
        """A frame a port that is forwarded.

        BMv2 takes what comes by a port in order: when such a frame comes out, those before it, forwarded or
        not, have been taken too, and its small receive ring is empty again.
        """
        fences: dict[int, Frame] = {}
        for port, frame in frames:
            if port not in fences and self._process(_PROBE, port, frame):
                fences[port] = port, frame
        return fences

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

    def _collect(self, got: "Counter[Frame]", total: int, seconds: float) -> None:
        """Until `total` frames have come in all, or none comes for `seconds`."""
        deadline = time.monotonic() + seconds
        while got.total() < total and time.monotonic() < deadline:
            arrived = self._bmv2.receive(0.01) + list(self._packet_ins())
            if arrived:
                got.update(arrived)
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

    def _counter_differences(self) -> Iterator[str]:
        for counter in self._info.message.counters:
            name = counter.preamble.alias
            ours, theirs = (client.read_counter(NODE, name) for client in self.clients)
            for index in range(counter.size):
                if ours[index] != theirs[index]:
                    yield f"counter {name}[{index}]: engine {ours[index]}, BMv2 {theirs[index]}"


def _show(frame: Frame) -> str:
    port, data = frame
    return f"port {port}, {len(data)} bytes: {data[:48].hex()}{'...' if len(data) > 48 else ''}"
