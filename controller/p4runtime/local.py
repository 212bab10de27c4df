# SPDX-License-Identifier: Apache-2.0
"""P4Runtime between a client and a server of one process: the usual messages, but no socket.

A server offers its service under an address of the form "local:N". The client's calls run the methods of the
service in the event loop of the client. gRPC has such a transport in C++ and Java, but not in Python. Packets
do not wait for the event loop: `DirectPackets` passes them on immediately.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from itertools import count
from typing import Any, NoReturn, Protocol, Self, final

import grpc
from finsy.proto import p4r

__all__ = ["DirectPackets", "LocalStream", "LocalStub", "is_local", "offer", "withdraw"]

_PREFIX = "local:"


class Service(Protocol):
    """The methods of P4RuntimeServicer called by a controller; `context` is only for abort()."""

    def SetForwardingPipelineConfig(
        self, request: p4r.SetForwardingPipelineConfigRequest, context: Any
    ) -> Coroutine[Any, Any, p4r.SetForwardingPipelineConfigResponse]:
        """Load a program into a device."""
        ...

    def GetForwardingPipelineConfig(
        self, request: p4r.GetForwardingPipelineConfigRequest, context: Any
    ) -> Coroutine[Any, Any, p4r.GetForwardingPipelineConfigResponse]:
        """Return the program of a device."""
        ...

    def Write(self, request: bytes, context: Any) -> Coroutine[Any, Any, p4r.WriteResponse]:
        """Carry out the updates of a serialised WriteRequest."""
        ...

    def Read(self, request: p4r.ReadRequest, context: Any) -> AsyncIterator[p4r.ReadResponse]:
        """Yield the entities selected by a request."""
        ...

    def ReadSerialised(self, request: p4r.ReadRequest, context: Any) -> AsyncIterator[bytes]:
        """Yield the responses of Read, serialised."""
        ...

    def StreamChannel(
        self, request_iterator: AsyncIterator[p4r.StreamMessageRequest], context: Any
    ) -> AsyncIterator[p4r.StreamMessageResponse]:
        """Yield the messages to a controller; `request_iterator` yields the messages from the controller."""
        ...


_offered: dict[str, Service] = {}
_numbers = count(1)


def offer(service: Service) -> str:
    """Let clients of this process reach a service; return its address."""
    address = f"{_PREFIX}{next(_numbers)}"
    _offered[address] = service
    return address


def withdraw(address: str) -> None:
    """Refuse further calls to an address."""
    _offered.pop(address, None)


def is_local(address: str) -> bool:
    """Return whether an address has the form of local addresses, as returned by offer()."""
    return address.startswith(_PREFIX)


class LocalError(grpc.RpcError):
    """Error of a refused call, with the methods of a gRPC error."""

    def __init__(
        self, code: grpc.StatusCode, details: str, metadata: tuple[tuple[str, bytes], ...] = ()
    ) -> None:
        super().__init__(details)
        self._code = code
        self._details = details
        self._metadata = metadata

    def code(self) -> grpc.StatusCode:
        """Return the status code."""
        return self._code

    def details(self) -> str:
        """Return the reason of the refusal."""
        return self._details

    def trailing_metadata(self) -> Any:
        """Return the server's metadata about the refusal: pairs of key and value."""
        return self._metadata


@final
@dataclass(slots=True)
class DirectPackets:
    """Functions to pass packet-outs to a service and packet-ins to its client, in the caller's thread.

    Each side sets the function that receives its packets. A testbed in virtual time sends and receives many
    thousands of packets in a row; passing each packet through the event loop would take most of the time.
    """

    to_service: Callable[[p4r.StreamMessageRequest], None] | None = None
    to_client: Callable[[p4r.StreamMessageResponse], None] | None = None


@final
class _Context:
    """The part of a gRPC servicer context used by a service, and `packets` for direct passing."""

    def __init__(self, packets: DirectPackets | None = None) -> None:
        self.packets = packets

    async def abort(
        self, code: grpc.StatusCode, details: str = "", trailing_metadata: tuple[tuple[str, bytes], ...] = ()
    ) -> NoReturn:
        raise LocalError(code, details, trailing_metadata)


@final
class LocalStub:
    """Client stub of the service at a local address: each method of P4RuntimeStub calls the service's own.

    The service gets each request by reference, so neither side may change a message after passing it.
    Timeouts are ignored: a method of the service waits only for the event loop.
    """

    def __init__(self, address: str) -> None:
        self._address = address

    def _service(self) -> Service:
        service = _offered.get(self._address)
        if service is None:
            raise LocalError(grpc.StatusCode.UNAVAILABLE, f"no server of this process is at {self._address}")
        return service

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda request, timeout=None: getattr(self._service(), method)(request, _Context())

    def StreamChannel(self) -> "LocalStream":
        """Open a stream to the service."""
        return LocalStream(self._service())


@final
class LocalStream:
    """A StreamChannel: written messages go to the service, iteration yields the service's messages."""

    def __init__(self, service: Service) -> None:
        self._requests: asyncio.Queue[p4r.StreamMessageRequest | None] = asyncio.Queue()
        self.packets = DirectPackets()
        self._responses = service.StreamChannel(self._requested(), _Context(self.packets))

    async def _requested(self) -> AsyncIterator[p4r.StreamMessageRequest]:
        while (message := await self._requests.get()) is not None:
            yield message

    async def write(self, message: p4r.StreamMessageRequest) -> None:
        """Send a message."""
        self._requests.put_nowait(message)

    async def done_writing(self) -> None:
        """End the stream from this side."""
        self._requests.put_nowait(None)

    def cancel(self) -> None:
        """End the stream at once."""
        self._requests.put_nowait(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> p4r.StreamMessageResponse:
        return await anext(self._responses)
