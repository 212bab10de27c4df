# SPDX-License-Identifier: Apache-2.0
"""Bounded queues to controllers: what a controller that does not read loses, and what it never loses."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable

import pytest
from finsy.proto import p4r, rpc_code, rpc_status
from google.protobuf import any_pb2

from controller.p4runtime.event_loop import background_loop, run
from controller.p4runtime.local import DirectPackets
from emulation._engine import Network
from emulation.p4runtime.device import Device
from emulation.p4runtime.outgoing import Handover, Losses, Outgoing
from emulation.p4runtime.status import Refusal
from emulation.p4runtime.streams import Stream, Streams
from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.messages import CONFIG


def packet(number: int, size: int = 8) -> p4r.StreamMessageResponse:
    return p4r.StreamMessageResponse(packet=p4r.PacketIn(payload=number.to_bytes(size)))


def state(code: int) -> p4r.StreamMessageResponse:
    update = p4r.MasterArbitrationUpdate(status=rpc_status.Status(code=code))
    return p4r.StreamMessageResponse(arbitration=update)


def taken(queue: Outgoing) -> list[int | str]:
    """Take every message: the number of a packet, "state N" for an arbitration."""

    async def take() -> list[int | str]:
        queue.end()
        result: list[int | str] = []
        while (message := await queue.get()) is not None:
            if message.HasField("arbitration"):
                result.append(f"state {message.arbitration.status.code}")
            else:
                result.append(int.from_bytes(message.packet.payload))
        return result

    return asyncio.run(take())


# -- the queue of a stream


@pytest.mark.parametrize("limits", [(3, 1 << 20), (100, 3 * packet(0).ByteSize())], ids=["number", "bytes"])
def test_a_full_queue_refuses_further_messages(limits: tuple[int, int]) -> None:
    queue = Outgoing(*limits)
    assert [queue.put(packet(number)) for number in range(5)] == [True] * 3 + [False] * 2
    assert taken(queue) == [0, 1, 2]


def test_room_that_a_taken_message_leaves_is_used_again() -> None:
    queue = Outgoing(100, 2 * packet(0).ByteSize())
    for number in range(10):
        assert queue.put(packet(number))
        assert asyncio.run(queue.get()) == packet(number)
    assert [queue.put(packet(number)) for number in (10, 11, 12)] == [True, True, False]


def test_an_empty_queue_takes_a_message_of_any_size() -> None:
    queue = Outgoing(100, 10)
    assert queue.put(packet(1, 1000))
    assert not queue.put(packet(2))


def test_the_state_of_a_full_queue_is_the_latest_and_is_never_lost() -> None:
    queue = Outgoing(2)
    assert [queue.put(packet(number)) for number in (0, 1)] == [True, True]
    for code in (rpc_code.NOT_FOUND, rpc_code.ALREADY_EXISTS, rpc_code.OK):
        queue.put_state(state(code))
    assert not queue.put(packet(2))
    assert taken(queue) == [0, 1, f"state {rpc_code.OK}"]


def test_every_state_is_sent_while_there_is_room() -> None:
    queue = Outgoing()
    queue.put_state(state(rpc_code.NOT_FOUND))
    queue.put_state(state(rpc_code.OK))
    assert taken(queue) == [f"state {rpc_code.NOT_FOUND}", f"state {rpc_code.OK}"]


def test_a_closed_queue_discards_what_waits() -> None:
    queue = Outgoing()
    queue.put_state(state(rpc_code.OK))
    assert all(queue.put(packet(number)) for number in range(3))
    queue.close()
    assert taken(queue) == []


# -- the queue in front of the event loop


def on_held_loop(body: Callable[[], None]) -> None:
    """Run `body` in this thread while the loop does nothing else."""
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        free.wait()

    background_loop().call_soon_threadsafe(hold)
    held.wait()
    try:
        body()
    finally:
        free.set()


def test_a_loop_that_is_busy_is_handed_a_bounded_number_of_calls() -> None:
    calls: list[int] = []
    emptied = threading.Event()
    handover = Handover(background_loop(), emptied.set, most=100)
    answers: list[bool] = []
    on_held_loop(lambda: answers.extend(handover.hand(1, calls.append, number) for number in range(150)))
    emptied.wait()
    assert answers == [True] * 100 + [False] * 50
    assert calls == list(range(100))
    emptied.clear()
    assert handover.hand(1, calls.append, 200)
    emptied.wait()
    assert calls[-1] == 200


def test_a_call_that_fails_does_not_stop_the_next_ones() -> None:
    calls: list[int] = []
    failures: list[object] = []
    emptied = threading.Event()
    loop = background_loop()
    handover = Handover(loop, emptied.set)

    def fail() -> None:
        raise ValueError("on purpose")

    loop.set_exception_handler(lambda _, context: failures.append(context["exception"]))
    try:
        handover.hand(1, fail)
        handover.hand(1, calls.append, 1)
        emptied.wait()
        run(asyncio.sleep(0))
    finally:
        loop.set_exception_handler(None)
    assert calls == [1]
    assert [str(failure) for failure in failures] == ["on purpose"]


def test_losses_are_said_at_the_beginning_and_summed_up_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    losses = Losses()
    for _ in range(3):
        losses.count(7, "the queue", "packet")
    losses.count(7, "the queue", "digest")
    losses.count(8, "the queue", "error")
    losses.say("the queue", 7)
    losses.say("the queue", 7)
    losses.count(7, "the queue", "packet")
    assert [record.getMessage() for record in caplog.records] == [
        "device 7: the queue is full; messages are lost until it is read",
        "device 8: the queue is full; messages are lost until it is read",
        "device 7: the queue has lost 1 digest lists, 3 packet-ins",
        "device 7: the queue is full; messages are lost until it is read",
    ]
    assert losses.of(7) == {"packet-ins": 4, "digest lists": 1}
    assert losses.of(8) == {"stream errors": 1}
    assert losses.of(9) == {}


# -- a server


def test_a_primary_that_does_not_read_loses_packet_ins_and_another_one_none(
    ready: Controller, bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    count, size, every = 8_000, 9_000, 80
    with Controller(bench.address, device_id=2) as other:
        other.enter()
        other.push(CONFIG)
        for number in range(count):
            bench.server.packet_in(1, number.to_bytes(size))
            if number % every == 0:
                bench.server.packet_in(2, number.to_bytes(size))
        assert [number_of(other.receive()) for _ in range(0, count, every)] == list(range(0, count, every))
    assert bench.server.lost(2) == {}
    received: list[int] = []
    # What has neither arrived nor been lost still comes.
    while len(received) + bench.server.lost(1).get("packet-ins", 0) < count:
        received.append(number_of(ready.receive()))
    assert received == sorted(set(received))
    # 16 MiB in either queue, and what gRPC holds on either side.
    assert len(received) * size < 56 << 20
    assert any("is full; messages are lost until it is read" in record.message for record in caplog.records)
    assert ready.enter().status.code == rpc_code.OK


def test_a_server_that_stops_under_a_flood_does_not_work_it_off() -> None:
    most = 10_000
    streams = Streams(Network(), no_device, threading.RLock(), None)
    requests: list[int] = []
    at_close: list[int] = []

    async def flood() -> AsyncIterator[p4r.StreamMessageRequest]:
        while len(requests) < most:
            requests.append(len(requests))
            yield p4r.StreamMessageRequest(other=any_pb2.Any())  # is answered with an error
            await asyncio.sleep(0)

    async def answers() -> int:
        count = 0
        async for _ in streams.converse(flood()):
            count += 1
            if count == 100:
                streams.close()
                at_close.append(len(requests))
            for _ in range(4):  # the client reads more slowly than it asks
                await asyncio.sleep(0)
        return count

    assert asyncio.run(answers()) == 100
    assert 100 < len(requests) <= at_close[0] + 1


def no_device(device_id: int) -> Device:
    raise Refusal(rpc_code.NOT_FOUND, f"no device {device_id}")


def test_a_client_of_the_same_process_loses_nothing() -> None:
    count = 10_000
    losses = Losses()
    local, remote = Stream(DirectPackets(), losses), Stream(losses=losses)
    for number in range(count):
        local.send(packet(number))
        remote.send(packet(number))
    assert len(local.outgoing) == count
    assert len(remote.outgoing) + losses.of(0)["packet-ins"] == count


def test_the_errors_of_a_controller_that_does_not_read_are_bounded(client: Controller, bench: Bench) -> None:
    count = 200
    message = p4r.PacketOut(payload=bytes(1 << 20))  # too long, and each error contains it
    for _ in range(count):
        client.send(packet=message)
    while bench.server.lost(1).get("stream errors", 0) < count // 2:
        time.sleep(0.01)
    received = 0
    while received + bench.server.lost(1).get("stream errors", 0) < count:
        received += client.receive().error.packet_out.packet_out == message
    assert received <= count // 2
    assert client.enter().status.code == rpc_code.OK


def number_of(message: p4r.StreamMessageResponse) -> int:
    header = b"".join(metadata.value for metadata in message.packet.metadata)
    return int.from_bytes(message.packet.payload or header)
