# SPDX-License-Identifier: Apache-2.0
"""The gRPC service `railyard.HostPorts`, beside P4Runtime: frames into and out of host ports.

    syntax = "proto3";
    package railyard;

    service HostPorts {
      rpc Exchange(stream HostFrame) returns (stream HostFrame);
    }
    message HostFrame {
      string host = 1;     // name of a host; in a request without a frame also *, all hosts
      bytes frame = 2;     // a request without a frame asks for the frames that leave by that host's port
      uint64 time_ps = 3;  // in answers: virtual time at which the frame has left
      uint32 vl = 4;       // in requests: virtual lane on which the frame enters
    }

When the client has closed its side, the answers end once no frame is under way any more. An unknown host or
too long a frame ends the call with INVALID_ARGUMENT.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, final

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from emulation.embedded.host_ports import HostPorts
from emulation.errors import TestbedError

__all__ = ["ALL_HOSTS", "EXCHANGE", "HostFrame", "frame_service"]

ALL_HOSTS = "*"
"""Stands for every host in a request that asks for frames."""

_PACKAGE, _SERVICE, _METHOD = "railyard", "HostPorts", "Exchange"

EXCHANGE = f"/{_PACKAGE}.{_SERVICE}/{_METHOD}"
"""Path of the method."""

_FIELDS = {"host": "TYPE_STRING", "frame": "TYPE_BYTES", "time_ps": "TYPE_UINT64", "vl": "TYPE_UINT32"}


def _message_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="railyard/host_ports.proto", package=_PACKAGE, syntax="proto3"
    )
    message = file.message_type.add(name="HostFrame")
    for number, (name, kind) in enumerate(_FIELDS.items(), 1):
        label = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
        type = descriptor_pb2.FieldDescriptorProto.Type.Value(kind)
        message.field.add(name=name, number=number, label=label, type=type)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.HostFrame"))


HostFrame = _message_class()
"""Message class, as protoc would generate it."""


def frame_service(ports: HostPorts) -> grpc.GenericRpcHandler:
    """Return the handler of the service, for a gRPC server on the background event loop."""

    async def exchange(requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        conversation = _Conversation(ports)
        try:
            async for answer in conversation.answers(requests):
                yield answer
        except TestbedError as ex:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(ex))

    handler = grpc.stream_stream_rpc_method_handler(
        exchange,  # pyright: ignore[reportArgumentType]  (the stubs know no asynchronous methods)
        request_deserializer=HostFrame.FromString,
        response_serializer=HostFrame.SerializeToString,
    )
    return grpc.method_handlers_generic_handler(f"{_PACKAGE}.{_SERVICE}", {_METHOD: handler})


@final
class _Conversation:
    """One call of Exchange; its queue holds answers, an error, and None at the end."""

    def __init__(self, ports: HostPorts) -> None:
        self._ports = ports
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self._ends: list[Callable[[], None]] = []

    async def answers(self, requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
        reading = asyncio.create_task(self._read(requests))
        try:
            while (item := await self._queue.get()) is not None:
                if isinstance(item, TestbedError):
                    raise item
                yield item
        finally:
            reading.cancel()
            for end in self._ends:
                end()

    async def _read(self, requests: AsyncIterator[Any]) -> None:
        try:
            async for request in requests:
                if request.frame:
                    self._ports.send(request.host, request.frame, request.vl)
                else:
                    hosts = self._ports.names if request.host == ALL_HOSTS else (request.host,)
                    self._ends.append(self._ports.listen(hosts, self._left))
        except TestbedError as ex:
            self._queue.put_nowait(ex)
            return
        self._ports.when_idle(lambda: self._put(None))

    def _left(self, host: str, time_ps: int, frame: bytes) -> None:
        self._put(HostFrame(host=host, frame=frame, time_ps=time_ps))

    def _put(self, item: Any) -> None:
        """Put an item into the queue from the thread that runs the network."""
        self._loop.call_soon_threadsafe(self._queue.put_nowait, item)
