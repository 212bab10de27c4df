# SPDX-License-Identifier: Apache-2.0
"""P4Runtime client: the only way in which the controller programs switches. No other module opens a socket.

Calls are synchronous and run on an event loop in the background. All devices of an address share a channel.
"""

import asyncio
import queue
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import grpc
from finsy.proto import p4r, p4r_grpc

from controller.errors import InstallError
from controller.p4runtime.counter_cells import CellDecoder, CounterCells
from controller.p4runtime.device import Device, PacketIn
from controller.p4runtime.event_loop import run, submit
from controller.p4runtime.local import LocalStub, is_local
from controller.p4runtime.node_writes import NodeWrites
from controller.p4runtime.p4info import P4Info
from controller.p4runtime.update_cache import UpdateCache
from controller.plan.entry import Entry
from controller.plan.updates import Kind, Update

__all__ = ["P4RuntimeClient", "PacketIn", "ProgramFiles"]

_MAX_MESSAGE_BYTES = 128 << 20
_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
    # The metadata of a refused batch has a status for each update; the default 8 KiB hold about a hundred.
    ("grpc.max_metadata_size", 4 << 20),
    ("grpc.absolute_max_metadata_size", 4 << 20),
]


_READ, _WRITE = "/p4.v1.P4Runtime/Read", "/p4.v1.P4Runtime/Write"

# Largest number of devices with a call in progress: above a thousand, a gRPC server refuses some calls.
_AT_ONCE = 64

# Largest number of devices that receive a pipeline or a batch of entries (a megabyte each) at the same time.
_LARGE_AT_ONCE = 8


@final
@dataclass(frozen=True, slots=True)
class ProgramFiles:
    """A compiled P4 program: BMv2 JSON, and its p4info in text form."""

    json: bytes
    p4info: bytes


@final
class P4RuntimeClient:
    """P4Runtime client of the devices of one server or of several servers.

    Every method raises InstallError if it fails; the error names the node, the operation and the server's
    reason. The function `on_packet_in`, to be set before connect(), is called with the name of the node for
    each packet that packet_in() can return. It runs in the thread of the event loop, or, if the server is in
    this process, in the thread in which the server sends the packet.

    Args:
        address: Address of the only server, or the address of each node's server by node. An address is
            "host:port", "unix:path", or the result of `local.offer` for a server of this process.
        timeout: Largest duration of each exchange with a server in seconds.
    """

    def __init__(self, address: str | Mapping[str, str], *, timeout: float = 60.0) -> None:
        self._address = address
        self._timeout = timeout
        self._devices: dict[str, Device] = {}
        self._channels: list[grpc.aio.Channel] = []
        self.on_packet_in: Callable[[str], None] | None = None
        self.packets_out: Counter[str] = Counter()  # by node

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self, devices: Mapping[str, int], election_id: int = 1) -> None:
        """Connect, and become the primary controller of `devices`: the device id of each node."""
        run(self._connect(devices, election_id))

    async def _connect(self, devices: Mapping[str, int], election_id: int) -> None:
        await self._close()
        stubs: dict[str, p4r_grpc.P4RuntimeStub | LocalStub] = {}
        for node, device_id in devices.items():
            address = self._address if isinstance(self._address, str) else self._address[node]
            if address not in stubs:
                stubs[address] = self._stub(address)
            device = Device(node, device_id, election_id, stubs[address], address, self._timeout)
            device.on_packet = self.on_packet_in
            self._devices[node] = device
        await _all(device.open() for device in self._devices.values())

    def _stub(self, address: str) -> p4r_grpc.P4RuntimeStub | LocalStub:
        if is_local(address):
            return LocalStub(address)
        channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
        self._channels.append(channel)
        stub = p4r_grpc.P4RuntimeStub(channel)
        # Write gets serialised updates, and counters are decoded as arrays: gRPC passes both as bytes.
        stub.ReadSerialised = channel.unary_stream(  # pyright: ignore[reportAttributeAccessIssue]
            _READ, request_serializer=p4r.ReadRequest.SerializeToString
        )
        stub.Write = channel.unary_unary(_WRITE, response_deserializer=p4r.WriteResponse.FromString)
        return stub

    def push_pipeline(self, programs: Mapping[str, ProgramFiles]) -> None:
        """Load each node's program; this clears the node's tables, counters and registers."""
        parsed: dict[ProgramFiles, tuple[P4Info, p4r.ForwardingPipelineConfig]] = {}
        for files in programs.values():
            if files not in parsed:
                info = P4Info.parse(files.p4info)
                config = p4r.ForwardingPipelineConfig(p4info=info.message, p4_device_config=files.json)
                parsed[files] = info, config
        pushes = (self._device(node).push_pipeline(*parsed[files]) for node, files in programs.items())
        run(_all(pushes, _LARGE_AT_ONCE))

    def install(
        self,
        entries: Mapping[str, Sequence[Entry]],
        progress: Callable[[int, int], None] | None = None,
        cache: UpdateCache | None = None,
    ) -> int:
        """Insert entries into all nodes at once, and return the number of entries.

        Args:
            entries: Entries by node.
            progress: Function that is called with the number of entries written so far and the total.
            cache: Cache of serialised entries, for further calls with the same entries.
        """
        reports: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        devices = {node: self._device(node) for node in entries}
        writes = NodeWrites(entries, _infos(devices), cache)
        future = submit(
            _all((device.write(writes, reports.put) for device in devices.values()), _LARGE_AT_ONCE)
        )
        future.add_done_callback(lambda _: reports.put(None))
        done, total = 0, sum(map(len, entries.values()))
        while (count := reports.get()) is not None:
            done += count
            if progress is not None:
                progress(done, total)
        future.result()
        return done

    def write(self, node: str, updates: Sequence[Update]) -> None:
        """Write updates to a node in order; a refused update does not stop later updates."""
        self.write_all({node: updates})

    def write_all(self, updates: Mapping[str, Sequence[Update]]) -> None:
        """Write updates to several nodes at once, in order at each node."""
        devices = {node: self._device(node) for node in updates}
        writes = NodeWrites(updates, _infos(devices))
        run(_all((device.write(writes) for device in devices.values()), _LARGE_AT_ONCE))

    def replicate(
        self, node: str, entries: Sequence[p4r.PacketReplicationEngineEntry], kind: Kind = "insert"
    ) -> None:
        """Insert, modify or delete multicast groups and clone sessions of a node."""
        run(self._device(node).replicate(entries, kind))

    def read(self, node: str, table: str | None = None) -> list[Entry]:
        """Return the entries of a table, or of all tables, without default entries."""
        return run(self._device(node).read(table))

    def read_counter(self, node: str, counter: str) -> CounterCells:
        """Return the packets and bytes of every index of an indexed counter."""
        return self.read_counters([node], counter)[node]

    def read_counters(self, nodes: Iterable[str], counter: str) -> dict[str, CounterCells]:
        """Return, by node, the packets and bytes of every index of an indexed counter; all nodes at once."""
        decoder = CellDecoder()
        devices = {node: self._device(node) for node in nodes}

        async def read(device: Device, node: str) -> None:
            decoder.add(node, *await device.read_counter(counter))

        run(_all(read(device, node) for node, device in devices.items()))
        cells = decoder.cells()
        return {node: cells[node] for node in devices}

    def read_registers(self, nodes: Iterable[str], register_id: int) -> dict[str, dict[int, int] | None]:
        """Return a register's values by node and index; None for a server that cannot read registers."""
        values: dict[str, dict[int, int] | None] = dict.fromkeys(nodes)

        async def read(node: str) -> None:
            values[node] = await self._device(node).read_register(register_id)

        run(_all(map(read, values)))
        return values

    def packet_out(self, node: str, payload: bytes, **metadata: int) -> None:
        """Send a frame into a switch; missing metadata is 0. After a refusal, the next barrier() raises."""
        self.packet_outs(node, [(payload, metadata)])

    def packet_outs(
        self, node: str, packets: Sequence[tuple[bytes, Mapping[str, int]]], *, barrier: bool = False
    ) -> None:
        """Send frames with their metadata into a switch, in order; with `barrier`, then call barrier()."""
        device = self._device(node)
        if all(device.packet_out_at_once(*packet) for packet in packets):
            if barrier:
                device.check_refused()
        else:
            run(self._packet_outs(device, packets, barrier))
        self.packets_out[node] += len(packets)

    @staticmethod
    async def _packet_outs(
        device: Device, packets: Sequence[tuple[bytes, Mapping[str, int]]], barrier: bool
    ) -> None:
        for payload, metadata in packets:
            await device.packet_out(payload, metadata)
        if barrier:
            await device.barrier()

    def barrier(self, node: str) -> None:
        """Wait until the switch has handled all earlier packet-outs; InstallError if it refused any of them.

        The client repeats the arbitration on the same stream. The switch answers only after it has handled
        the packet-outs. BMv2 does not answer a repeated arbitration: with BMv2, barrier() raises InstallError
        after the timeout.
        """
        run(self._device(node).barrier())

    def packet_in(self, node: str, timeout: float | None = None) -> PacketIn:
        """Return the next packet-in of a node, in the order in which the switch sent them.

        InstallError after `timeout` seconds, by default the client's timeout.
        """
        device = self._device(node)
        timeout = self._timeout if timeout is None else timeout
        try:
            packet = device.packets.get(timeout=timeout)
        except queue.Empty:
            raise InstallError(
                f"{node} sent no packet-in within {timeout} s",
                remedy="check that a frame for the controller was sent",
            ) from None
        if packet is None:
            device.packets.put(None)  # for the next call
            raise device.broken()
        return packet

    def close(self) -> None:
        """Disconnect from every device. Calling it again does nothing."""
        run(self._close())

    async def _close(self) -> None:
        devices, self._devices = self._devices, {}
        await _all(device.close() for device in devices.values())
        channels, self._channels = self._channels, []
        await _all(channel.close(None) for channel in channels)

    def _device(self, node: str) -> Device:
        device = self._devices.get(node)
        if device is None:
            raise InstallError(f"{node} is not connected", remedy="name the node in connect()")
        return device


def _infos(devices: Mapping[str, Device]) -> dict[str, P4Info | None]:
    return {node: device.info for node, device in devices.items()}


async def _all(coroutines: Iterable[Coroutine[Any, Any, None]], at_once: int = _AT_ONCE) -> None:
    """Run all coroutines, at most `at_once` at a time; the first error cancels the others."""
    work = list(coroutines)
    waiting = iter(work)

    async def some() -> None:
        for coroutine in waiting:
            await coroutine

    # A few tasks share the work: a task for each coroutine takes longer than a call within this process.
    tasks = [asyncio.ensure_future(some()) for _ in range(min(at_once, len(work)))]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for coroutine in work:
            coroutine.close()  # matters for coroutines that never started
        raise
