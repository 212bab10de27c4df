# SPDX-License-Identifier: Apache-2.0
"""Exchange frames with the host ports of a fabric running in another process (`railyard up`)."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any, final

import grpc
from scapy.packet import Packet

from emulation.embedded.frame_service import ALL_HOSTS, EXCHANGE, HostFrame
from emulation.errors import MachineError, TestbedError
from emulation.traffic.frames.layers import LPH, Ether

__all__ = ["Arrival", "Departure", "exchange", "listen", "vl_of"]

_MAX_MESSAGE_BYTES = 1 << 20
_START = "start the fabric by `railyard up`, and give the address that it prints"


@final
@dataclass(frozen=True, slots=True)
class Departure:
    """A frame to send into the fabric at the port of a host, on virtual lane `vl`."""

    host: str
    frame: bytes
    vl: int = 0


@final
@dataclass(frozen=True, slots=True)
class Arrival:
    """A frame that left the fabric at the port of a host, at virtual time `time_ps`."""

    host: str
    time_ps: int
    frame: bytes


def vl_of(frame: bytes | Packet) -> int:
    """Return the virtual lane in a UB frame's link packet header; 0 for a frame without this header."""
    packet = Ether(bytes(frame))
    return packet[LPH].vl if LPH in packet else 0


def exchange(
    address: str, sent: Iterable[Departure], hosts: Collection[str] = (), *, seconds: float = 30.0
) -> Iterator[Arrival]:
    """Send frames into host ports; yield the frames that leave the fabric, until no frame is under way.

    Args:
        address: HOST:PORT of the running fabric.
        sent: frames to send, in this order.
        hosts: hosts whose ports are watched; all hosts if it is empty.
        seconds: limit in real time; frames still under way after this time raise an error.

    Raises:
        MachineError: Nothing answers at the address.
        TestbedError: A host does not exist, a frame is too long, or frames are under way after `seconds`.
    """

    def requests() -> Iterator[Any]:
        yield from _watched(hosts)
        for item in sent:
            yield HostFrame(host=item.host, frame=item.frame, vl=item.vl)

    return _call(address, requests(), seconds)


def listen(address: str, hosts: Collection[str] = ()) -> Generator[Arrival, None, None]:
    """Yield the frames leaving the fabric at the ports of hosts, until the fabric stops.

    An empty `hosts` stands for all hosts. Raises MachineError and TestbedError as `exchange` does.
    """

    def requests() -> Iterator[Any]:
        yield from _watched(hosts)
        Event().wait()

    return _call(address, requests(), None)


def _watched(hosts: Collection[str]) -> Iterator[Any]:
    for host in hosts or (ALL_HOSTS,):
        yield HostFrame(host=host)


def _call(address: str, requests: Iterator[Any], seconds: float | None) -> Generator[Arrival, None, None]:
    options = [
        ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
        ("grpc.enable_http_proxy", 0),
    ]
    with grpc.insecure_channel(address, options=options) as channel:
        method = channel.stream_stream(
            EXCHANGE,
            request_serializer=HostFrame.SerializeToString,
            response_deserializer=HostFrame.FromString,
        )
        try:
            for answer in method(requests, timeout=seconds):
                yield Arrival(answer.host, answer.time_ps, answer.frame)
        except grpc.RpcError as ex:
            raise _error(address, ex, seconds) from None


def _error(address: str, error: Any, seconds: float | None) -> TestbedError:
    match error.code():
        case grpc.StatusCode.INVALID_ARGUMENT:
            message, _, remedy = error.details().partition("; ")
            return TestbedError(message, remedy=remedy)
        case grpc.StatusCode.UNAVAILABLE:
            return MachineError(f"no fabric answers at {address}", remedy=_START)
        case grpc.StatusCode.UNIMPLEMENTED:
            return TestbedError(f"the server at {address} takes no frames", remedy=_START)
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return TestbedError(
                f"frames in the fabric at {address} are still under way after {seconds:g} s",
                remedy="look for a loop in the tables, or give more seconds",
            )
        case _:
            return TestbedError(f"the exchange with {address} failed: {error.details()}", remedy=_START)
