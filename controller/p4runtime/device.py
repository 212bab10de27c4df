# SPDX-License-Identifier: Apache-2.0
"""A device of a P4Runtime server: its stream and its calls.

Devices run in the event loop of the client. The client opens the channel and passes the stub.
"""

import asyncio
import queue
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import grpc
from finsy.proto import U128, p4r, rpc_code, rpc_status

from controller.errors import InstallError
from controller.p4runtime.entry_encoding import describe
from controller.p4runtime.local import DirectPackets, LocalStream
from controller.p4runtime.node_writes import NodeWrites
from controller.p4runtime.p4info import P4Info
from controller.plan.entry import Entry
from controller.plan.updates import Kind, Update, Written

__all__ = ["Device", "PacketIn"]

# Time for a server to end a stream; a dead or hanging server never ends it.
_FAREWELL_SECONDS = 5.0
_CODE_NAMES: dict[int, str] = {number: name for name, number in rpc_code.Code.items()}
_REMEDIES: dict[int, str] = {
    rpc_code.UNAVAILABLE: "check that the fabric is running at this address",
    rpc_code.DEADLINE_EXCEEDED: "check that the fabric is running, and that nothing holds it up",
    rpc_code.PERMISSION_DENIED: "connect with an election id above that of the other controller",
    rpc_code.FAILED_PRECONDITION: "push the pipeline before anything else",
    rpc_code.ALREADY_EXISTS: "write only entries that the switch lacks, or push the pipeline to clear it",
    rpc_code.RESOURCE_EXHAUSTED: "plan fewer entries, or raise the size of the table in the P4 program",
    rpc_code.NOT_FOUND: "compare what is written with what the switch holds",
}


@final
@dataclass(frozen=True, slots=True)
class PacketIn:
    """A frame from a switch to its controller; `metadata` has the fields of the header packet_in by name."""

    payload: bytes
    metadata: Mapping[str, int]


def _ignore(_count: int) -> None:
    """Ignore a report of progress."""


@final
class Device:
    """A device of a server. Call all methods but `packet_out_at_once` and `check_refused` in the event loop.

    `packets` is the queue of packet-ins, which ends with None; any thread may read it.
    """

    def __init__(
        self,
        node: str,
        device_id: int,
        election_id: int,
        stub: Any,
        address: str,
        timeout: float,
    ) -> None:
        self.packets: queue.SimpleQueue[PacketIn | None] = queue.SimpleQueue()
        self.on_packet: Callable[[str], None] | None = None
        self._node = node
        self._id = device_id
        self._election_id = U128.encode(election_id)
        # Common first part of this device's WriteRequests, before their updates.
        self._write_head = p4r.WriteRequest(
            device_id=device_id, election_id=self._election_id
        ).SerializeToString()
        self._stub = stub
        self._address = address
        self._timeout = timeout
        self._info: P4Info | None = None
        self._stream: Any = None
        self._reader: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._answers: deque[asyncio.Future[p4r.MasterArbitrationUpdate]] = deque()
        self._refused: list[str] = []
        self._broken: InstallError | None = None
        self._direct: DirectPackets | None = None

    # -- the stream

    async def open(self) -> None:
        """Open the stream and become the primary controller."""
        self._stream = self._stub.StreamChannel()
        if isinstance(self._stream, LocalStream):
            self._direct = self._stream.packets
            self._direct.to_client = self._on_message
        self._reader = asyncio.create_task(self._read_stream())
        await self._arbitrate()

    async def close(self) -> None:
        """End the stream; the server then forgets the election id."""
        if self._reader is None:
            return
        # After done_writing(), the stream ends only when the server has forgotten the election id.
        await self._stream.done_writing()
        ended, _ = await asyncio.wait([self._reader], timeout=_FAREWELL_SECONDS)
        if not ended:
            self._stream.cancel()
            await asyncio.wait([self._reader])

    async def barrier(self) -> None:
        """Wait until the switch has handled all packet-outs; InstallError if it refused any."""
        await self._arbitrate()
        self.check_refused()

    def check_refused(self) -> None:
        """Raise InstallError if the switch has refused packet-outs since the last call."""
        if self._refused:
            message, more = self._refused[0], len(self._refused) - 1
            self._refused.clear()
            raise InstallError(
                f"{self._node} refused a packet-out: {message}" + (f", and {more} more" if more else ""),
                remedy="compare its metadata with the packet_out header of the program",
            )

    async def _arbitrate(self) -> None:
        update = p4r.MasterArbitrationUpdate(device_id=self._id, election_id=self._election_id)
        answer = asyncio.get_running_loop().create_future()
        async with self._writing:
            self._answers.append(answer)
            await self._send(p4r.StreamMessageRequest(arbitration=update))
        try:
            async with asyncio.timeout(self._timeout):
                reply = await answer
        except TimeoutError:
            raise self._error(
                rpc_code.DEADLINE_EXCEEDED,
                f"the server did not answer the arbitration within {self._timeout} s",
            ) from None
        if reply.status.code != rpc_code.OK:
            raise self._error(
                rpc_code.PERMISSION_DENIED,
                f"another controller, with election id {U128.decode(reply.election_id)}, controls it",
            )

    async def packet_out(self, payload: bytes, metadata: Mapping[str, int]) -> None:
        """Send a frame into the switch."""
        info = await self._p4info()
        with _naming(self._node):
            sent = info.encode_metadata(metadata)
        async with self._writing:
            await self._send(p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=payload, metadata=sent)))
        if self._broken is not None:
            raise self.broken()

    def packet_out_at_once(self, payload: bytes, metadata: Mapping[str, int]) -> bool:
        """Send a frame into a switch of this process without the event loop; return False if impossible.

        The function needs a local server and a known p4info.
        """
        if self._direct is None or self._direct.to_service is None or self._info is None:
            return False
        if self._broken is not None:
            raise self.broken()
        with _naming(self._node):
            sent = self._info.encode_metadata(metadata)
        self._direct.to_service(
            p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=payload, metadata=sent))
        )
        return True

    async def _send(self, message: p4r.StreamMessageRequest) -> None:
        if self._broken is not None:
            raise self.broken()
        try:
            await self._stream.write(message)
        except (grpc.RpcError, asyncio.InvalidStateError):
            # The stream has ended; wait until the reader has stored the reason.
            if self._reader is not None:
                await asyncio.wait([self._reader])

    async def _read_stream(self) -> None:
        try:
            async for message in self._stream:
                self._on_message(message)
            self._broken = self._error(rpc_code.UNAVAILABLE, "the server has closed the stream")
        except grpc.RpcError as error:
            self._broken = self._failure("stream", error)
        except asyncio.CancelledError:
            self._broken = self._error(rpc_code.UNAVAILABLE, "the connection is closed")
        for answer in self._answers:
            if not answer.done():
                answer.set_exception(self.broken())
        if self._direct is not None:
            self._direct.to_client = None  # a reference to this device
        self.packets.put(None)

    def _on_message(self, message: p4r.StreamMessageResponse) -> None:
        match message.WhichOneof("update"):
            case "arbitration" if self._answers:
                answer = self._answers.popleft()
                if not answer.done():
                    answer.set_result(message.arbitration)
            case "packet":
                metadata = self._info.decode_metadata(message.packet.metadata) if self._info else {}
                self.packets.put(PacketIn(message.packet.payload, metadata))
                if self.on_packet is not None:
                    self.on_packet(self._node)
            case "error":
                self._refused.append(f"{message.error.message} ({_code_name(message.error.canonical_code)})")
            case _:
                pass  # the primary controller has changed; if it was this one, its next write fails

    def broken(self) -> InstallError:
        """Return a new error with the reason why the stream ended."""
        error = self._broken or self._error(rpc_code.UNAVAILABLE, "the stream has ended")
        return InstallError(error.message, remedy=error.remedy)

    # -- calls

    async def push_pipeline(self, info: P4Info, config: p4r.ForwardingPipelineConfig) -> None:
        """Load a program into the device."""
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=self._id,
            election_id=self._election_id,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=config,
        )
        try:
            await self._stub.SetForwardingPipelineConfig(request, timeout=self._timeout)
        except grpc.RpcError as error:
            raise self._failure("push of the pipeline", error) from error
        self._info = info

    @property
    def info(self) -> P4Info | None:
        """The p4info pushed to the switch or read from it; None before."""
        return self._info

    async def _p4info(self) -> P4Info:
        """Return the pushed p4info; read it from the switch if none was pushed."""
        if self._info is None:
            request = p4r.GetForwardingPipelineConfigRequest(
                device_id=self._id, response_type=p4r.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE
            )
            try:
                response = await self._stub.GetForwardingPipelineConfig(request, timeout=self._timeout)
            except grpc.RpcError as error:
                raise self._failure("read of the pipeline", error) from error
            if not response.HasField("config"):
                raise self._error(rpc_code.FAILED_PRECONDITION, "the switch has no pipeline")
            self._info = P4Info(response.config.p4info)
        return self._info

    async def write(self, writes: NodeWrites, report: Callable[[int], None] = _ignore) -> None:
        """Write the device's entries or updates in batches; `report` gets the size of each batch."""
        info = await self._p4info()
        with _naming(self._node):
            batches = writes.batches(self._node, info)
        for batch, serialised in batches:
            await self._send_updates(serialised, len(batch), partial(_update_at, batch))
            report(len(batch))

    async def _send_updates(self, serialised: bytes, count: int, update: Callable[[int], Update]) -> None:
        """Write serialised updates; `update` returns the update at a position, for error messages."""
        try:
            await self._stub.Write(self._write_head + serialised, timeout=self._timeout)
        except grpc.RpcError as error:
            raise self._refusal(count, update, error) from error

    async def replicate(
        self, entries: Sequence[p4r.PacketReplicationEngineEntry], kind: Kind = "insert"
    ) -> None:
        """Insert, modify or delete multicast groups and clone sessions."""
        request = p4r.WriteRequest(device_id=self._id, election_id=self._election_id)
        for entry in entries:
            update = request.updates.add(type=p4r.Update.Type.Value(kind.upper()))
            update.entity.packet_replication_engine_entry.CopyFrom(entry)
        try:
            await self._stub.Write(request.SerializeToString(), timeout=self._timeout)
        except grpc.RpcError as error:
            raise self._failure("write of multicast groups and clone sessions", error) from error

    async def read(self, table: str | None) -> list[Entry]:
        """Return the entries of a table, or of all tables."""
        info = await self._p4info()
        request = p4r.ReadRequest(device_id=self._id)
        wanted = request.entities.add().table_entry
        wanted.SetInParent()
        with _naming(self._node):
            if table is not None:
                wanted.table_id = info.table_id(table)
        try:
            return [
                info.decode(entity.table_entry)
                async for response in self._stub.Read(request, timeout=self._timeout)
                for entity in response.entities
            ]
        except grpc.RpcError as error:
            raise self._failure(f"read of table {table}" if table else "read of all tables", error) from error

    async def read_counter(self, counter: str) -> tuple[int, list[bytes]]:
        """Return the id of a counter, and the serialised responses to a read of all its cells."""
        info = await self._p4info()
        request = p4r.ReadRequest(device_id=self._id)
        with _naming(self._node):
            counter_id = info.counter_id(counter)
        request.entities.add().counter_entry.counter_id = counter_id
        try:
            responses = self._stub.ReadSerialised(request, timeout=self._timeout)
            return counter_id, [response async for response in responses]
        except grpc.RpcError as error:
            raise self._failure(f"read of counter {counter}", error) from error

    async def read_register(self, register_id: int) -> dict[int, int] | None:
        """Return the value of every cell of a register by index; None if the server cannot read registers."""
        request = p4r.ReadRequest(device_id=self._id)
        request.entities.add().register_entry.register_id = register_id
        try:
            return {
                entity.register_entry.index.index: int.from_bytes(entity.register_entry.data.bitstring, "big")
                async for response in self._stub.Read(request, timeout=self._timeout)
                for entity in response.entities
            }
        except grpc.RpcError as error:
            if _refuses_all(error):
                return None
            raise self._failure(f"read of register {register_id}", error) from error

    # -- errors

    def _refusal(self, count: int, update: Callable[[int], Update], error: grpc.RpcError) -> InstallError:
        """Return an error for the first refused update of a batch, from its status."""
        failed = [
            (position, detail) for position, detail in enumerate(_details(error)) if detail.canonical_code
        ]
        if not failed:
            first = update(0).entry
            return self._failure(f"write of {count} entries, the first in table {first.table}", error)
        position, detail = failed[0]
        refused = update(position)
        return self._error(
            detail.canonical_code,
            f"table {refused.entry.table}: {refused.kind} of {describe(refused.entry)}: {detail.message} "
            f"({_code_name(detail.canonical_code)}; {len(failed)} of {count} updates were refused)",
        )

    def _failure(self, operation: str, error: Any) -> InstallError:
        code = error.code().value[0]
        if code == rpc_code.UNAVAILABLE:
            return self._error(code, f"{operation} failed: no P4Runtime server answers at {self._address}")
        return self._error(code, f"{operation} failed: {error.details()} ({_code_name(code)})")

    def _error(self, code: int, message: str) -> InstallError:
        remedy = _REMEDIES.get(code, "compare the program, its p4info and the plan")
        return InstallError(f"{self._node}: {message}", remedy=remedy)


def _update_at(written: Written, position: int) -> Update:
    """Return the update at a position; for an entry, the update that installs the entry in an empty table."""
    item = written[position]
    if isinstance(item, Update):
        return item
    return Update("modify" if item.default else "insert", item)


def _details(error: Any) -> list[p4r.Error]:
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            errors = []
            for packed in rpc_status.Status.FromString(value).details:
                errors.append(p4r.Error())
                packed.Unpack(errors[-1])
            return errors
    return []


def _refuses_all(error: Any) -> bool:
    """Return whether a server does not implement the requested operation."""
    return error.code().value[0] == rpc_code.UNIMPLEMENTED


def _code_name(code: int) -> str:
    return _CODE_NAMES.get(code, str(code))


@contextmanager
def _naming(node: str) -> Iterator[None]:
    """Prefix errors with the name of the node."""
    try:
        yield
    except InstallError as error:
        raise InstallError(f"{node}: {error.message}", remedy=error.remedy) from error
