# SPDX-License-Identifier: Apache-2.0
"""The gRPC side: every switch of a network behind one server, on the event loop in the background."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, final

import grpc
from finsy.proto import U128, p4r, p4r_grpc, rpc_code, rpc_status

from controller.event_loop import background_loop, run
from emulation import _engine
from emulation.errors import EmulationError
from emulation.p4runtime.device import Device
from emulation.p4runtime.pipeline import Pipelines
from emulation.p4runtime.status import Refusal, abort

__all__ = ["P4RuntimeServer"]

_API_VERSION = "1.4.1"
_ENTITIES_A_RESPONSE = 1_000
_MAX_MESSAGE_BYTES = 128 << 20
_STOP_SECONDS = 2.0

_OPTIONS = [
    # Without this a second server would share the port and take half of the connections.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
]


@final
class P4RuntimeServer:
    """Serves `switches` (device id to switch of `network`) at `address`, "host:port" or "unix:path".

    The engine is only touched under `lock`: a thread that holds it must not wait for the server, neither in
    stop() nor in a client of the same process. `on_packet_out` is called in the server's thread, without the
    lock, when a packet-out has entered the engine.
    """

    def __init__(
        self,
        network: _engine.Network,
        switches: Mapping[int, int],
        address: str = "127.0.0.1:0",
        *,
        lock: threading.RLock,
        on_packet_out: Callable[[], None] | None = None,
    ) -> None:
        self._address = address
        self._server: grpc.aio.Server | None = None
        self._service = _Service(network, switches, lock, on_packet_out)

    def start(self) -> str:
        """Listen, and return the address that clients connect to (port 0 becomes the port chosen)."""
        try:
            _try_address(self._address)
            return run(self._start())
        except (OSError, RuntimeError, ValueError) as error:
            reason = str(error.strerror if isinstance(error, OSError) else error).partition(" (while")[0]
            raise EmulationError(
                f"cannot listen on {self._address}: {reason}",
                remedy="stop what holds the port, or choose another address (port 0 takes a free one)",
            ) from error

    async def _start(self) -> str:
        server = grpc.aio.server(options=_OPTIONS)
        p4r_grpc.add_P4RuntimeServicer_to_server(self._service, server)
        port = server.add_insecure_port(self._address)
        await server.start()
        self._server = server
        if self._address.startswith("unix:"):
            return self._address
        return f"{self._address.rpartition(':')[0]}:{port}"

    def packet_in(self, device_id: int, frame: bytes) -> None:
        """Hand a frame from the CPU port, its packet_in header in front, to the primary. Does not wait."""
        background_loop().call_soon_threadsafe(self._service.packet_in, device_id, frame)

    def stop(self) -> None:
        """Close every stream and the port. Calling it again does nothing."""
        if self._server is not None:
            run(self._stop(self._server))
            self._server = None

    async def _stop(self, server: grpc.aio.Server) -> None:
        self._service.close_streams()
        await server.stop(_STOP_SECONDS)


def _try_address(address: str) -> None:
    """Listen for a moment: gRPC's own error gives no reason, and leaves lines of its core on stderr."""
    if address.startswith("unix:"):
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError("it is neither host:port nor unix:path")
    family, _, _, _, where = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
    socket.create_server(where[:2], family=family).close()


class _Stream:
    """One StreamChannel: what is still to be sent on it, and the (device, role) it entered for."""

    def __init__(self) -> None:
        self.outgoing: asyncio.Queue[p4r.StreamMessageResponse | None] = asyncio.Queue()
        self.device: Device | None = None
        self.role = ""


class _Service(p4r_grpc.P4RuntimeServicer):
    """The methods of the P4Runtime service, all run by one event loop."""

    def __init__(
        self,
        network: _engine.Network,
        switches: Mapping[int, int],
        lock: threading.RLock,
        on_packet_out: Callable[[], None] | None,
    ) -> None:
        pipelines = Pipelines()
        self._network = network
        self._devices = {id: Device(id, network, switch, pipelines) for id, switch in switches.items()}
        self._lock = lock
        self._on_packet_out = on_packet_out
        self._streams: set[_Stream] = set()

    def _device(self, device_id: int) -> Device:
        device = self._devices.get(device_id)
        if device is None:
            raise Refusal(rpc_code.NOT_FOUND, f"no device with id {device_id}")
        return device

    # -- unary methods

    async def SetForwardingPipelineConfig(
        self, request: p4r.SetForwardingPipelineConfigRequest, context: Any
    ) -> p4r.SetForwardingPipelineConfigResponse:
        try:
            device = self._device(request.device_id)
            with self._lock:
                device.set_pipeline(request)
        except Refusal as refusal:
            await abort(context, refusal)
        return p4r.SetForwardingPipelineConfigResponse()

    async def GetForwardingPipelineConfig(
        self, request: p4r.GetForwardingPipelineConfigRequest, context: Any
    ) -> p4r.GetForwardingPipelineConfigResponse:
        try:
            device = self._device(request.device_id)
        except Refusal as refusal:
            await abort(context, refusal)
        return device.get_pipeline(request.response_type)

    async def Write(self, request: p4r.WriteRequest, context: Any) -> p4r.WriteResponse:
        try:
            device = self._device(request.device_id)
            with self._lock:
                device.write(request)
        except Refusal as refusal:
            await abort(context, refusal)
        return p4r.WriteResponse()

    async def Read(self, request: p4r.ReadRequest, context: Any) -> AsyncIterator[p4r.ReadResponse]:
        try:
            device = self._device(request.device_id)
            with self._lock:
                found, refusal = device.read(request.entities)
        except Refusal as refused:
            await abort(context, refused)
        for start in range(0, len(found), _ENTITIES_A_RESPONSE):
            yield p4r.ReadResponse(entities=found[start : start + _ENTITIES_A_RESPONSE])
        if refusal is not None:
            await abort(context, refusal)

    async def Capabilities(self, request: p4r.CapabilitiesRequest, context: Any) -> p4r.CapabilitiesResponse:
        if request.device_id and request.device_id not in self._devices:
            await abort(context, Refusal(rpc_code.NOT_FOUND, f"no device with id {request.device_id}"))
        return p4r.CapabilitiesResponse(p4runtime_api_version=_API_VERSION)

    # -- streams

    async def StreamChannel(
        self, request_iterator: AsyncIterator[p4r.StreamMessageRequest], context: Any
    ) -> AsyncIterator[p4r.StreamMessageResponse]:
        stream = _Stream()
        listener = asyncio.create_task(self._listen(stream, request_iterator))
        self._streams.add(stream)
        try:
            while (message := await stream.outgoing.get()) is not None:
                yield message
            await listener
        except Refusal as refusal:
            await abort(context, refusal)
        finally:
            listener.cancel()
            self._streams.discard(stream)
            if stream.device is not None:
                self._notify(stream.device, stream.role, stream.device.role(stream.role).leave(stream))

    async def _listen(self, stream: "_Stream", messages: AsyncIterator[p4r.StreamMessageRequest]) -> None:
        try:
            async for message in messages:
                self._on_message(stream, message)
        finally:
            stream.outgoing.put_nowait(None)

    def close_streams(self) -> None:
        """End every stream, so that the server need not wait for its clients."""
        for stream in self._streams:
            stream.outgoing.put_nowait(None)

    def _on_message(self, stream: _Stream, message: p4r.StreamMessageRequest) -> None:
        which = message.WhichOneof("update")
        if which == "arbitration":
            self._arbitrate(stream, message.arbitration)
            return
        try:
            if which != "packet":
                raise Refusal(rpc_code.UNIMPLEMENTED, f"stream message {which} is not supported")
            self._packet_out(stream, message.packet)
        except Refusal as refusal:
            error = p4r.StreamError(canonical_code=refusal.code, message=refusal.message)
            if which == "packet":
                error.packet_out.packet_out.CopyFrom(message.packet)
            elif which == "digest_ack":
                error.digest_list_ack.SetInParent()
            else:
                error.other.SetInParent()
            stream.outgoing.put_nowait(p4r.StreamMessageResponse(error=error))

    def _arbitrate(self, stream: _Stream, update: p4r.MasterArbitrationUpdate) -> None:
        device = self._device(update.device_id)
        if update.role.HasField("config"):
            raise Refusal(rpc_code.INVALID_ARGUMENT, "a role config: none has been agreed upon")
        if stream.device is not None and (stream.device is not device or stream.role != update.role.name):
            raise Refusal(rpc_code.FAILED_PRECONDITION, "the device and the role of a stream cannot change")
        election_id = U128.decode(update.election_id) if update.HasField("election_id") else None
        told = device.role(update.role.name).update(stream, election_id)
        stream.device, stream.role = device, update.role.name
        self._notify(device, stream.role, told)

    def _notify(self, device: Device, role: str, told: list[Any]) -> None:
        arbitration = device.role(role)
        for stream in told:
            update = p4r.MasterArbitrationUpdate(device_id=device.id)
            if role:
                update.role.name = role
            if arbitration.highest is not None:
                update.election_id.CopyFrom(U128.encode(arbitration.highest))
            code = arbitration.standing(stream)
            message = "" if code == rpc_code.OK else "another controller is primary"
            if code == rpc_code.NOT_FOUND:
                message = "no controller is primary"
            update.status.CopyFrom(rpc_status.Status(code=code, message=message))
            stream.outgoing.put_nowait(p4r.StreamMessageResponse(arbitration=update))

    def _packet_out(self, stream: _Stream, packet: p4r.PacketOut) -> None:
        device = stream.device
        if device is None or device.role(stream.role).primary is not stream:
            raise Refusal(rpc_code.PERMISSION_DENIED, "only the primary sends packet-outs")
        target = device.forwarding
        if target is None:
            raise Refusal(
                rpc_code.FAILED_PRECONDITION, f"No forwarding pipeline config set for device {device.id}"
            )
        frame = target.pipeline.packet_out.join(packet)
        with self._lock:
            self._network.packet_out(device.switch, frame)
        if self._on_packet_out is not None:
            self._on_packet_out()

    def packet_in(self, device_id: int, frame: bytes) -> None:
        """Queue a packet-in for the primary of every role; without one it is dropped, as on hardware."""
        device = self._devices[device_id]
        if device.forwarding is None:
            return
        packet = device.forwarding.pipeline.packet_in.split(frame)
        if packet is None:
            return
        for stream in device.primaries:
            stream.outgoing.put_nowait(p4r.StreamMessageResponse(packet=packet))  # pyright: ignore
