# SPDX-License-Identifier: Apache-2.0
"""Refused requests, and their gRPC status (P4Runtime specification, "Error Reporting Messages")."""

from collections.abc import Mapping
from typing import Any, NoReturn

import grpc
from finsy.proto import p4r, rpc_code, rpc_status

__all__ = ["Refusal", "abort", "batch_status", "engine_refusal"]

_BY_NUMBER: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}
_STATUS_KEY = "grpc-status-details-bin"

# Canonical code and reason for each status number of the engine; 0 is success.
_ENGINE_STATUS = {
    1: (rpc_code.ALREADY_EXISTS, "the entry exists"),
    2: (rpc_code.NOT_FOUND, "there is no such entry"),
    3: (rpc_code.RESOURCE_EXHAUSTED, "it is full"),
    4: (rpc_code.INVALID_ARGUMENT, "the engine refused the entry"),
    5: (rpc_code.PERMISSION_DENIED, "the entry is constant"),
}


class Refusal(Exception):
    """A refused request: its canonical gRPC code and the reason."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def details(self) -> tuple[tuple[str, bytes], ...]:
        """Trailing gRPC metadata; empty unless members of a batch were refused one by one."""
        return ()


class BatchRefusal(Refusal):
    """A batch with refused members; the details have the result of every member, in order."""

    def __init__(self, status: bytes, message: str) -> None:
        super().__init__(rpc_code.UNKNOWN, message)
        self._status = status

    @property
    def details(self) -> tuple[tuple[str, bytes], ...]:
        """Packed p4.v1.Error of each member of the batch, OK or not, in order."""
        return ((_STATUS_KEY, self._status),)


def engine_refusal(status: int, what: str) -> Refusal:
    """Return the refusal for an engine status other than 0 of an operation on `what`."""
    code, reason = _ENGINE_STATUS[status]
    return Refusal(code, f"{what}: {reason}")


def batch_status(kind: str, size: int, refused: Mapping[int, Refusal]) -> BatchRefusal:
    """Return the refusal of a batch of `size` members; `refused` maps positions to refusals."""
    first = min(refused, key=lambda position: (refused[position].code == rpc_code.ABORTED, position))
    message = (
        f"{len(refused)} of {size} {kind} failed, the first at position {first}: {refused[first].message}"
    )
    status = rpc_status.Status(code=rpc_code.UNKNOWN, message=message)
    for position in range(size):
        refusal = refused.get(position)
        error = p4r.Error()
        if refusal is not None:
            error.canonical_code = refusal.code
            error.message = refusal.message
        status.details.add().Pack(error)
    return BatchRefusal(status.SerializeToString(), message)


async def abort(context: "grpc.aio.ServicerContext[Any, Any]", refusal: Refusal) -> NoReturn:
    """End the call with the refusal's code, message and details."""
    await context.abort(_BY_NUMBER[refusal.code], refusal.message, refusal.details)
    raise AssertionError("abort returned")
