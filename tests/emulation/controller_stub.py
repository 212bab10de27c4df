# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime client for tests that says whatever it is told to, valid or not."""

import queue
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import grpc
from finsy.proto import U128, p4i, p4r, p4r_grpc, rpc_status

from controller.p4runtime.event_loop import run
from controller.p4runtime.local import LocalStream, LocalStub

__all__ = ["Controller", "LocalController", "code_of", "details_of"]

_SECONDS = 60.0
# A stream lives as long as its test, which a busy machine may take minutes for.
_STREAM_SECONDS = 900


def code_of(error: grpc.RpcError) -> str:
    """The name of a gRPC error's code."""
    return error.code().name  # pyright: ignore[reportAttributeAccessIssue]


def details_of(error: grpc.RpcError) -> list[p4r.Error]:
    """The p4.v1.Error of every member of a batch."""
    metadata: dict[str, bytes] = dict(error.trailing_metadata())  # pyright: ignore
    packed = metadata["grpc-status-details-bin"]
    errors = []
    for detail in rpc_status.Status.FromString(packed).details:
        errors.append(p4r.Error())
        assert detail.Unpack(errors[-1])
    return errors


class Controller:
    """One channel and one stream to one device."""

    def __init__(
        self,
        address: str,
        device_id: int = 1,
        election_id: int | None = 1,
        role: str = "",
        stream_seconds: float = _STREAM_SECONDS,
    ) -> None:
        options = [("grpc.max_metadata_size", 1 << 20), ("grpc.absolute_max_metadata_size", 1 << 20)]
        self.channel = grpc.insecure_channel(address, options=options)
        self.stub: Any = p4r_grpc.P4RuntimeStub(self.channel)
        self.device_id, self.election_id, self.role = device_id, election_id, role
        self._sent: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        self._stream = self.stub.StreamChannel(iter(self._sent.get, None), timeout=stream_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the stream, wait until the server has ended it too, and close the channel."""
        self._sent.put(None)
        try:
            for _ in self._stream:
                pass
        except grpc.RpcError:
            pass
        self.channel.close()

    # -- stream

    def send(self, **update: Any) -> None:
        """Put a message on the stream."""
        self._sent.put(p4r.StreamMessageRequest(**update))

    def receive(self) -> p4r.StreamMessageResponse:
        """The next message of the stream; grpc.RpcError when the server has ended it."""
        return next(self._stream)

    def enter(self, election_id: int | None = None) -> p4r.MasterArbitrationUpdate:
        """Arbitrate, with another election id if one is given, and return the answer."""
        if election_id is not None:
            self.election_id = election_id
        update = p4r.MasterArbitrationUpdate(device_id=self.device_id)
        if self.election_id is not None:
            update.election_id.CopyFrom(U128.encode(self.election_id))
        if self.role:
            update.role.name = self.role
        self.send(arbitration=update)
        return self.receive().arbitration

    # -- calls

    def push(
        self, config: tuple[bytes, p4i.P4Info] | None, action: str = "VERIFY_AND_COMMIT", cookie: int = 0
    ) -> None:
        """SetForwardingPipelineConfig."""
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            election_id=U128.encode(self.election_id or 0),
            action=p4r.SetForwardingPipelineConfigRequest.Action.Value(action),
            role=self.role,
        )
        if config is not None:
            request.config.p4_device_config = config[0]
            request.config.p4info.CopyFrom(config[1])
            if cookie:
                request.config.cookie.cookie = cookie
        self.stub.SetForwardingPipelineConfig(request, timeout=_SECONDS)

    def pipeline(self, response_type: str = "ALL") -> p4r.GetForwardingPipelineConfigResponse:
        """GetForwardingPipelineConfig."""
        kind = p4r.GetForwardingPipelineConfigRequest.ResponseType.Value(response_type)
        request = p4r.GetForwardingPipelineConfigRequest(device_id=self.device_id, response_type=kind)
        return self.stub.GetForwardingPipelineConfig(request, timeout=_SECONDS)

    def write(self, *updates: tuple[str, p4r.Entity], **request: Any) -> None:
        """One Write of ("INSERT", entity) and the like."""
        message = p4r.WriteRequest(device_id=self.device_id, role=self.role, **request)
        if self.election_id is not None:
            message.election_id.CopyFrom(U128.encode(self.election_id))
        for kind, entity in updates:
            message.updates.add(type=p4r.Update.Type.Value(kind), entity=entity)  # pyright: ignore
        self.stub.Write(message, timeout=_SECONDS)

    def responses(self, *wanted: p4r.Entity) -> Iterator[Sequence[p4r.Entity]]:
        """The entities of each response to one Read."""
        request = p4r.ReadRequest(device_id=self.device_id, entities=wanted)
        for response in self.stub.Read(request, timeout=_SECONDS):
            yield response.entities

    def read(self, *wanted: p4r.Entity) -> list[p4r.Entity]:
        """All entities that one Read returns."""
        result: Iterable[Sequence[p4r.Entity]] = self.responses(*wanted)
        return [entity for entities in result for entity in entities]


class LocalController(Controller):
    """A controller of a server of this process that has no socket; calls take less processor time."""

    def __init__(self, address: str, device_id: int = 1, election_id: int | None = 1, role: str = "") -> None:
        self.stub = _LocalCalls(address)
        self.device_id, self.election_id, self.role = device_id, election_id, role
        self._messages = LocalStub(address).StreamChannel()

    def close(self) -> None:
        """End the stream, and wait until the server has ended it too."""
        run(_end(self._messages))

    def send(self, **update: Any) -> None:
        run(self._messages.write(p4r.StreamMessageRequest(**update)))

    def receive(self) -> p4r.StreamMessageResponse:
        return run(anext(self._messages))


async def _end(stream: LocalStream) -> None:
    await stream.done_writing()
    async for _ in stream:
        pass


class _LocalCalls:
    """The unary calls of P4RuntimeStub, and Read, to the server at a local address."""

    def __init__(self, address: str) -> None:
        self._stub = LocalStub(address)

    def SetForwardingPipelineConfig(
        self, request: p4r.SetForwardingPipelineConfigRequest, timeout: float
    ) -> p4r.SetForwardingPipelineConfigResponse:
        return run(self._stub.SetForwardingPipelineConfig(request))

    def Write(self, request: p4r.WriteRequest, timeout: float) -> p4r.WriteResponse:
        return run(self._stub.Write(request.SerializeToString()))

    def Read(self, request: p4r.ReadRequest, timeout: float) -> list[p4r.ReadResponse]:
        return run(self._responses(request))

    async def _responses(self, request: p4r.ReadRequest) -> list[p4r.ReadResponse]:
        return [
            p4r.ReadResponse.FromString(response) async for response in self._stub.ReadSerialised(request)
        ]
