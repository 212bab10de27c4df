# SPDX-License-Identifier: Apache-2.0
"""Packet-out and packet-in."""

import pytest
from finsy.proto import p4r, rpc_code
from google.protobuf import any_pb2

from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.messages import entry, exact, frame


class Sink:
    """A host that keeps the frames it gets."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def on_frame(self, received: bytes, now: int) -> tuple[list[tuple[bytes, int]], int | None]:
        self.frames.append(received)
        return [], None


def packet_out(payload: bytes, *values: bytes, first: int = 1) -> p4r.PacketOut:
    metadata = [p4r.PacketMetadata(metadata_id=first + n, value=value) for n, value in enumerate(values)]
    return p4r.PacketOut(payload=payload, metadata=metadata)


def test_packet_out_is_forwarded(ready: Controller, bench: Bench) -> None:
    sink = Sink()
    with bench.lock:
        host = bench.network.attach_host(0, 5, 10**11, 1000, 65536)
        bench.network.set_handler(host, sink)
    ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
    ready.send(packet=packet_out(frame(a=1) + b"tail", b"\x01\xfe", b"\x7f"))
    assert bench.packet_outs.acquire(timeout=120)
    with bench.lock:
        bench.network.run(10**12)
    assert sink.frames == [frame(a=1) + b"tail"]


@pytest.mark.parametrize(
    ("values", "first", "code"),
    [
        ((b"\x01",), 1, rpc_code.INVALID_ARGUMENT),
        ((b"\x01", b"\x00", b"\x00"), 1, rpc_code.INVALID_ARGUMENT),
        ((b"\x01", b"\x00"), 2, rpc_code.INVALID_ARGUMENT),
        ((b"\x02\x00", b"\x00"), 1, rpc_code.OUT_OF_RANGE),
        ((b"", b"\x00"), 1, rpc_code.OUT_OF_RANGE),
    ],
    ids=["missing", "extra", "unknown", "too wide", "empty"],
)
def test_bad_metadata_drops_it_and_says_so(
    ready: Controller, bench: Bench, values: tuple[bytes, ...], first: int, code: int
) -> None:
    packet = packet_out(frame(), *values, first=first)
    ready.send(packet=packet)
    error = ready.receive().error
    assert error.canonical_code == code
    assert error.packet_out.packet_out == packet
    assert not bench.packet_outs.acquire(blocking=False)
    assert ready.enter().status.code == rpc_code.OK


def test_only_the_primary_sends(ready: Controller, bench: Bench) -> None:
    with Controller(bench.address, election_id=0) as backup:
        backup.send(packet=packet_out(frame(), b"\x01", b"\x00"))
        assert backup.receive().error.canonical_code == rpc_code.PERMISSION_DENIED
        backup.enter()
        backup.send(packet=packet_out(frame(), b"\x01", b"\x00"))
        assert backup.receive().error.canonical_code == rpc_code.PERMISSION_DENIED


def test_packet_out_before_a_pipeline(client: Controller) -> None:
    client.send(packet=packet_out(frame(), b"\x01", b"\x00"))
    assert client.receive().error.canonical_code == rpc_code.FAILED_PRECONDITION


def test_packet_in_goes_to_the_primary_with_its_metadata(ready: Controller, bench: Bench) -> None:
    with Controller(bench.address, election_id=0) as backup:
        backup.enter()
        header = (0x1A5 << 7 | 0x2A).to_bytes(2)
        bench.server.packet_in(1, header + b"first")
        bench.server.packet_in(1, b"\x00")  # too short for the header: dropped
        bench.server.packet_in(1, header)
        first, second = ready.receive().packet, ready.receive().packet
        assert first.payload == b"first"
        assert [(m.metadata_id, m.value) for m in first.metadata] == [(1, b"\x01\xa5"), (2, b"\x2a")]
        assert second.payload == b""
        assert backup.enter(election_id=0).status.code == rpc_code.ALREADY_EXISTS


def test_packet_in_without_a_primary_is_dropped(bench: Bench) -> None:
    bench.server.packet_in(3, b"\0\0nobody")
    with Controller(bench.address, device_id=3) as controller:
        assert controller.enter().status.code == rpc_code.OK


@pytest.mark.parametrize(
    "message",
    [p4r.StreamMessageRequest(), p4r.StreamMessageRequest(other=any_pb2.Any(type_url="x"))],
    ids=["unset", "other"],
)
def test_other_messages_are_answered_with_an_error(
    ready: Controller, message: p4r.StreamMessageRequest
) -> None:
    ready.send(**{"other": message.other} if message.HasField("other") else {})
    error = ready.receive().error
    assert error.canonical_code == rpc_code.UNIMPLEMENTED
    assert error.other.other == message.other
    assert ready.enter().status.code == rpc_code.OK


@pytest.mark.parametrize("length", [65_536, 3_000_000])
def test_a_frame_longer_than_any_is_refused(ready: Controller, length: int) -> None:
    ready.send(packet=packet_out(bytes(length), b"\x01", b"\x00"))
    error = ready.receive().error
    assert error.canonical_code == rpc_code.INVALID_ARGUMENT
    assert error.message == f"the packet-out has {length} bytes, but a frame at most 65535"
