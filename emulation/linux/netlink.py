# SPDX-License-Identifier: Apache-2.0
"""rtnetlink in a namespace: many requests in one system call, dumps as bytes.

To send a request and await its answer for each of a thousand interfaces takes seconds. A batch goes to the
kernel in one system call, and the kernel answers only the requests that it refuses and the last request.
"""

import errno
import os
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from emulation.errors import TestbedError
from emulation.linux import netns

__all__ = ["Refusal", "Request", "RouteSocket", "attributes", "messages"]

NLM_F_ACK, NLM_F_DUMP = 4, 0x300
_NLM_F_DUMP_INTR = 0x10
# A dump is repeated while interfaces come and go during it; a testbed changes them for seconds, not for ever.
_DUMPS = 1000
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_NLM_F_CAPPED, _NLM_F_ACK_TLVS = 0x100, 0x200
_NLMSGERR_ATTR_MSG = 1
_SOL_NETLINK, _NETLINK_CAP_ACK, _NETLINK_EXT_ACK, _NETLINK_GET_STRICT_CHK = 270, 10, 11, 12
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence number, port
_BATCH = 32 << 10
_BUFFER = 4 << 20


@final
@dataclass(frozen=True, slots=True)
class Request:
    """An encoded message; `what` is its subject in error messages, such as `interface npu0-1`."""

    data: bytes
    what: str


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """A request refused by the kernel. `said` is the kernel's explanation, often empty."""

    what: str
    errno: int
    said: str

    def __str__(self) -> str:
        return f"{self.what}: {os.strerror(self.errno)}" + (f" ({self.said})" if self.said else "")


@final
class RouteSocket:
    """A netlink socket in `namespace`, by default in the caller's namespace; any thread may use it."""

    def __init__(self, namespace: str | None = None) -> None:
        self._socket = netns.inside(namespace, _open) if namespace else _open()
        self._sequence = 0
        # One thread at a time: a thread that read the answer to another thread would drop it.
        self._turn = threading.Lock()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def do(self, requests: Sequence[Request]) -> None:
        """Send all requests in order; TestbedError names the first request that the kernel refuses."""
        refused = self.attempt(requests)
        if refused:
            more = f", and {len(refused) - 1} more requests" if len(refused) > 1 else ""
            raise TestbedError(f"the kernel refuses a request about {refused[0]}{more}")

    def attempt(self, requests: Sequence[Request]) -> list[Refusal]:
        """Send requests in order, and return the kernel's refusals."""
        refused: list[Refusal] = []
        batch: list[Request] = []
        size = 0
        with self._turn:
            for request in requests:
                if size + len(request.data) > _BATCH:
                    refused += self._send(batch)
                    batch, size = [], 0
                batch.append(request)
                size += len(request.data)
            if batch:
                refused += self._send(batch)
        return refused

    def dump(self, request: bytes) -> list[tuple[int, memoryview]]:
        """Return (type, content without netlink header) of every answer to a dump request.

        The kernel marks a dump during which objects were added or removed: it may lack objects that existed
        all the time. Such a dump is repeated.

        Raises:
            TestbedError: The kernel refuses the dump, or objects changed during every repetition.
        """
        with self._turn:
            for _ in range(_DUMPS):
                told = self._dump_once(request)
                if told is not None:
                    return told
        raise TestbedError(
            f"interfaces or queues changed during each of {_DUMPS} dumps",
            remedy="end the other process that changes them",
        )

    def _dump_once(self, request: bytes) -> list[tuple[int, memoryview]] | None:
        """Send a dump request and return its answer; None if the kernel marks the answer as inconsistent."""
        told: list[tuple[int, memoryview]] = []
        consistent = True
        self._socket.sendto(self._numbered(request, NLM_F_DUMP), (0, 0))
        while True:
            answer = memoryview(self._socket.recv(1 << 16))
            for kind, flags, sequence, content in messages(answer):
                if sequence != self._sequence:
                    continue
                consistent = consistent and not flags & _NLM_F_DUMP_INTR
                if kind == _NLMSG_DONE:
                    return told if consistent else None
                if kind == _NLMSG_ERROR:
                    raise TestbedError(f"the kernel refuses a dump: {os.strerror(-_error(content))}")
                told.append((kind, content))

    def _send(self, batch: Sequence[Request]) -> list[Refusal]:
        first = self._sequence + 1
        last = len(batch) - 1
        data = b"".join(
            self._numbered(request.data, NLM_F_ACK if at == last else 0) for at, request in enumerate(batch)
        )
        self._socket.sendto(data, (0, 0))
        refused: list[Refusal] = []
        while True:
            for kind, flags, sequence, content in messages(memoryview(self._socket.recv(1 << 16))):
                if kind != _NLMSG_ERROR or sequence < first:
                    continue
                code = -_error(content)
                if code:
                    refused.append(Refusal(batch[sequence - first].what, code, _said(content, flags)))
                if sequence == self._sequence:
                    return refused

    def _numbered(self, data: bytes, flags: int) -> bytes:
        self._sequence += 1
        _, kind, own, _, _ = _HEADER.unpack_from(data)
        return _HEADER.pack(len(data), kind, own | flags, self._sequence, 0) + data[_HEADER.size :]


def messages(buffer: memoryview) -> Iterator[tuple[int, int, int, memoryview]]:
    """Yield (type, flags, sequence number, content) of the netlink messages in a buffer."""
    at = 0
    while at + _HEADER.size <= len(buffer):
        length, kind, flags, sequence, _ = _HEADER.unpack_from(buffer, at)
        if length < _HEADER.size:
            return
        yield kind, flags, sequence, buffer[at + _HEADER.size : at + length]
        at += length + 3 & ~3


def attributes(buffer: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield (type, content) of the netlink attributes in a buffer, without the two flag bits of a type."""
    at = 0
    while at + 4 <= len(buffer):
        length, kind = struct.unpack_from("=HH", buffer, at)
        if length < 4:
            return
        yield (
            kind & 0x3FFF,
            buffer[at + 4 : at + length],
        )  # without the bits "nested" and "network byte order"
        at += length + 3 & ~3


def _open() -> socket.socket:
    try:
        route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    except OSError as ex:
        raise TestbedError(
            f"the kernel refuses a netlink socket: {os.strerror(ex.errno or errno.EPERM)}"
        ) from ex
    for option in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE):
        try:
            route.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
        except OSError:
            continue  # the default limit suffices, with more system calls
    for option in (_NETLINK_EXT_ACK, _NETLINK_CAP_ACK):
        route.setsockopt(_SOL_NETLINK, option, 1)
    route.bind((0, 0))
    return route


def _error(content: memoryview) -> int:
    return struct.unpack_from("=i", content)[0]


def _said(content: memoryview, flags: int) -> str:
    if not flags & _NLM_F_ACK_TLVS:
        return ""
    length = _HEADER.unpack_from(content, 4)[0]
    start = 4 + (_HEADER.size if flags & _NLM_F_CAPPED else length + 3 & ~3)
    for kind, text in attributes(content[start:]):
        if kind == _NLMSGERR_ATTR_MSG:
            return bytes(text).rstrip(b"\0").decode(errors="replace").rstrip(".")
    return ""
