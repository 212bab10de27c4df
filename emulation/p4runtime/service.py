# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime gRPC server of all switches of a network, run by the background event loop."""

import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import grpc
from finsy.proto import p4r, rpc_code
from google.protobuf.message_factory import GetMessageClass

from controller.p4runtime.event_loop import run
from controller.p4runtime.local import offer, withdraw
from emulation import _engine
from emulation.errors import MachineError
from emulation.p4runtime.clock import At, Clock, RealTime, VirtualTime
from emulation.p4runtime.device import Device
from emulation.p4runtime.pipeline.pipelines import PIPELINES, Pipelines
from emulation.p4runtime.status import Refusal, abort
from emulation.p4runtime.streams import Streams
from emulation.p4runtime.write_request import SerialisedWrite

__all__ = ["ControlItem", "P4RuntimeServer", "Requests"]

_API_VERSION = "1.5.0"
_ENTITIES_A_RESPONSE = 1_000
_MAX_MESSAGE_BYTES = 128 << 20
_STOP_SECONDS = 0.5
_PENDING_CALLS = 1 << 16

_OPTIONS = [
    # By default a second server would share the port and take half of the connections.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
    # Calls that wait to be accepted. gRPC refuses calls above the default of 1,000; a controller that
    # connects to every switch of a Pod at once opens 2,208 streams.
    ("grpc.server.max_pending_requests", _PENDING_CALLS),
    ("grpc.server.max_pending_requests_hard_limit", _PENDING_CALLS),
]

# Keys: (the client streams, the server streams).
_HANDLERS = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}

ControlItem = tuple[str, int, int, int, bool, bytes]
"""Event from the engine's take_control(): kind, time in ps, switch, value, whether a port is up, bytes."""


@final
@dataclass(frozen=True, slots=True)
class Requests:
    """Numbers of updates and of SetForwardingPipelineConfig requests to a device, refused or not."""

    updates: int
    pipelines: int


@final
class P4RuntimeServer:
    """Serves `switches` (device id to switch of `network`) at `address`, "host:port" or "unix:path".

    Without an address it serves clients of this process only, and opens no socket.

    The server calls the engine under `lock`: a thread that holds the lock must not wait for the server,
    neither in stop() nor in a client of this process. When a packet-out has entered the engine, the server's
    thread calls `on_packet_out` without the lock. Timeouts run in real time, or in the network's virtual time
    if `at` is given: `at(time_ps, callback)` calls back between two network events, without the lock.
    `others` are further gRPC services at the address; `pipelines` compiles the programs that clients push.
    """

    def __init__(
        self,
        network: _engine.SwitchSet,
        switches: Mapping[int, int],
        address: str | None = "127.0.0.1:0",
        *,
        lock: threading.RLock,
        on_packet_out: Callable[[], None] | None = None,
        at: At | None = None,
        others: Sequence[grpc.GenericRpcHandler] = (),
        pipelines: Pipelines = PIPELINES,
    ) -> None:
        self._address = address
        self._others = tuple(others)
        self._server: grpc.aio.Server | None = None
        self._local: str | None = None
        clock = RealTime() if at is None else VirtualTime(network, at)
        self._service = _Service(network, switches, lock, on_packet_out, clock, pipelines)

    def start(self) -> str:
        """Listen, and return the address for clients, with the port chosen for port 0; or MachineError."""
        if self._address is None:
            self._local = offer(self._service)
            return self._local
        try:
            _try_address(self._address)
            return run(self._start(self._address))
        except (OSError, RuntimeError, ValueError) as error:
            reason = str(error.strerror if isinstance(error, OSError) else error).partition(" (while")[0]
            raise MachineError(
                f"cannot listen on {self._address}: {reason}",
                remedy="stop what holds the port, or choose another address (port 0 takes a free one)",
            ) from error

    async def _start(self, address: str) -> str:
        server = grpc.aio.server(options=_OPTIONS)
        server.add_generic_rpc_handlers([_handlers(self._service), *self._others])
        port = server.add_insecure_port(address)
        await server.start()
        self._server = server
        if address.startswith("unix:"):
            return address
        return f"{address.rpartition(':')[0]}:{port}"

    def deliver(self, item: ControlItem) -> None:
        """Pass a packet-in, digest, idle timeout or port change of the engine to the controllers.

        Items of other kinds are ignored. Takes the lock briefly, and does not wait for controllers.
        """
        self._service.deliver(item)

    def packet_in(self, device_id: int, frame: bytes) -> None:
        """Pass a frame from the CPU port, packet_in header first, to the primaries. Does not wait."""
        self._service.packet_in(device_id, frame)

    def requests(self, device_id: int) -> Requests:
        """Return the counts of requests to a device so far."""
        return Requests(self._service.updates[device_id], self._service.pipelines[device_id])

    def lost(self, device_id: int) -> Mapping[str, int]:
        """Return the numbers of messages lost to slow controllers of a device, by kind.

        Kinds are "packet-ins", "digest lists", "idle timeout notifications" and "stream errors"; kinds
        without losses are left out.
        """
        return self._service.streams.losses.of(device_id)

    def stop(self) -> None:
        """Close every stream and the port. Calling it again does nothing."""
        if self._local is not None:
            withdraw(self._local)
            run(self._close_streams())
            self._local = None
        if self._server is not None:
            run(self._stop(self._server))
            self._server = None

    async def _close_streams(self) -> None:
        self._service.close()

    async def _stop(self, server: grpc.aio.Server) -> None:
        self._service.close()
        await server.stop(_STOP_SECONDS)


def _try_address(address: str) -> None:
    """Listen on the address briefly: an OSError names the reason of a failure, gRPC does not."""
    if address.startswith("unix:"):
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError("the address has neither the form host:port nor unix:path")
    family, _, _, _, where = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
    socket.create_server(where[:2], family=family).close()


def _device_of(devices: Mapping[int, Device], device_id: int) -> Device:
    device = devices.get(device_id)
    if device is None:
        raise Refusal(rpc_code.NOT_FOUND, f"there is no device with id {device_id}")
    return device


def _handlers(service: "_Service") -> grpc.GenericRpcHandler:
    """Return the handlers of all methods; Write gets its request as bytes, Read returns bytes."""
    described = p4r.DESCRIPTOR.services_by_name["P4Runtime"]
    handlers = {}
    for method in described.methods:
        request, response = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        reads = method.name == "Read"
        handlers[method.name] = _HANDLERS[method.client_streaming, method.server_streaming](
            service.ReadSerialised if reads else getattr(service, method.name),
            request_deserializer=None if method.name == "Write" else request.FromString,
            response_serializer=None if reads else response.SerializeToString,
        )
    return grpc.method_handlers_generic_handler(described.full_name, handlers)


@final
class _Locked:
    """A clock that calls back with the lock held."""

    def __init__(self, clock: Clock, lock: threading.RLock) -> None:
        self.now_ns = clock.now_ns
        self.timestamp_ns = clock.timestamp_ns
        self._clock = clock
        self._lock = lock

    def later(self, delay_ns: int, callback: Callable[[], None]) -> None:
        def locked() -> None:
            with self._lock:
                callback()

        self._clock.later(delay_ns, locked)


@final
class _Service:
    """The methods of the P4Runtime service by their names, all run by one event loop."""

    def __init__(
        self,
        network: _engine.SwitchSet,
        switches: Mapping[int, int],
        lock: threading.RLock,
        on_packet_out: Callable[[], None] | None,
        clock: Clock,
        pipelines: Pipelines,
    ) -> None:
        self._devices: dict[int, Device] = {}
        self._device = partial(_device_of, self._devices)
        self.streams = Streams(network, self._device, lock, on_packet_out)
        locked = _Locked(clock, lock)
        for id, switch in switches.items():
            device = Device(id, network, switch, pipelines, locked)
            device.publish = partial(self.streams.publish, device)
            self._devices[id] = device
        self._by_switch = {device.switch: device for device in self._devices.values()}
        self._lock = lock
        self.updates: Counter[int] = Counter()  # by device id
        self.pipelines: Counter[int] = Counter()

    def close(self) -> None:
        """End every stream, and drop the devices' references to targets and streams."""
        self.streams.close()
        for device in self._devices.values():
            device.close()

    def deliver(self, item: ControlItem) -> None:
        kind, _, switch, value, up, data = item
        device = self._by_switch.get(switch)
        if device is None:
            return
        if kind == "packet_in":
            self.packet_in(device.id, data)
            return
        with self._lock:
            if kind == "digest":
                device.digest(value, data)
            elif kind == "idle":
                device.idle(value)
            elif kind == "port":
                device.port_changed(value, up)

    def packet_in(self, device_id: int, frame: bytes) -> None:
        self.streams.packet_in(self._devices[device_id], frame)

    async def SetForwardingPipelineConfig(
        self, request: p4r.SetForwardingPipelineConfigRequest, context: Any
    ) -> p4r.SetForwardingPipelineConfigResponse:
        try:
            device = self._device(request.device_id)
            self.pipelines[device.id] += 1
            with self._lock:
                device.set_pipeline(request)
        except Refusal as refusal:
            await abort(context, refusal)
        return p4r.SetForwardingPipelineConfigResponse()

    async def GetForwardingPipelineConfig(
        self, request: p4r.GetForwardingPipelineConfigRequest, context: Any
    ) -> p4r.GetForwardingPipelineConfigResponse:
        try:
            return self._device(request.device_id).get_pipeline(request.response_type)
        except Refusal as refusal:
            await abort(context, refusal)

    async def Write(self, request: bytes, context: Any) -> p4r.WriteResponse:
        try:
            updates = SerialisedWrite(request)
            device = self._device(updates.head.device_id)
            self.updates[device.id] += updates.count
            with self._lock:
                device.write(updates)
        except Refusal as refusal:
            await abort(context, refusal)
        return p4r.WriteResponse()

    async def Read(self, request: p4r.ReadRequest, context: Any) -> AsyncIterator[p4r.ReadResponse]:
        try:
            device = self._device(request.device_id)
            with self._lock:
                entities, refusal = device.read(request.entities, request.role)
        except Refusal as refused:
            await abort(context, refused)
        for start in range(0, len(entities), _ENTITIES_A_RESPONSE):
            yield p4r.ReadResponse(entities=entities[start : start + _ENTITIES_A_RESPONSE])
        if refusal is not None:
            await abort(context, refusal)

    async def ReadSerialised(self, request: p4r.ReadRequest, context: Any) -> AsyncIterator[bytes]:
        """Yield serialised ReadResponses; the engine writes the responses for one whole counter."""
        try:
            device = self._device(request.device_id)
            with self._lock:
                responses = device.counter_responses(request, _ENTITIES_A_RESPONSE)
        except Refusal as refused:
            await abort(context, refused)
        if responses is None:
            async for response in self.Read(request, context):
                yield response.SerializeToString()
        else:
            for serialised in responses:
                yield serialised

    async def Capabilities(self, request: p4r.CapabilitiesRequest, context: Any) -> p4r.CapabilitiesResponse:
        if request.device_id and request.device_id not in self._devices:
            await abort(
                context, Refusal(rpc_code.NOT_FOUND, f"there is no device with id {request.device_id}")
            )
        return p4r.CapabilitiesResponse(p4runtime_api_version=_API_VERSION)

    async def StreamChannel(
        self, request_iterator: AsyncIterator[p4r.StreamMessageRequest], context: Any
    ) -> AsyncIterator[p4r.StreamMessageResponse]:
        try:
            async for message in self.streams.converse(request_iterator, getattr(context, "packets", None)):
                yield message
        except Refusal as refusal:
            await abort(context, refusal)
