# SPDX-License-Identifier: Apache-2.0
"""Links in virtual time against closed forms: serialisation, propagation, credits, priority, drops, cuts."""

from pathlib import Path
from typing import Any

import pytest

from emulation._engine import Network, Program

WIRE = Path(__file__).parents[1] / "programs" / "build" / "wire.json"
RATE = 8_000_000_000_000  # one byte a picosecond
FOREVER = 1 << 60


class Sink:
    """Notes when frames arrive."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, bytes]] = []

    def on_frame(self, frame: bytes, now: int) -> tuple[list[tuple[bytes, int]], None]:
        self.seen.append((now, frame))
        return [], None


def frame(port: int, length: int, vl: int = 0) -> bytes:
    return bytes([port << 3 | vl]) + bytes(length - 1)


def chain(switches: int, *, delay: int = 0, credit: int = 0, rate: int = RATE, queue: int = 1 << 20):
    """A host, switches in a row (port 1 to port 2), a host. Frames for port 2 go all the way."""
    net, sink = Network(), Sink()
    program = Program(WIRE.read_bytes())
    for i in range(switches):
        net.add_switch(f"s{i}")
        net.set_program(i, program)
    links = [net.connect(i, 2, i + 1, 1, rate, delay, credit, queue) for i in range(switches - 1)]
    source = net.attach_host(0, 1, rate, delay, credit)
    net.set_handler(net.attach_host(switches - 1, 2, rate, delay, credit), sink)
    return net, source, sink, links


def test_one_frame_takes_serialisation_and_propagation_a_hop() -> None:
    for switches in (1, 2, 5):
        net, source, sink, _ = chain(switches, delay=300)
        net.send(source, frame(2, 100), 0)
        assert net.run(FOREVER) == 0
        assert [at for at, _ in sink.seen] == [(switches + 1) * (100 + 300)]


def test_store_and_forward_chain_is_a_pipeline() -> None:
    net, source, sink, _ = chain(4, delay=7)
    for _ in range(10):
        net.send(source, frame(2, 64), 0)
    net.run(FOREVER)
    first = 5 * (64 + 7)
    assert [at for at, _ in sink.seen] == [first + 64 * i for i in range(10)]


def test_serialisation_rounds_up() -> None:
    net, source, sink, _ = chain(1, rate=3_000_000_000_000)
    net.send(source, frame(2, 100), 0)
    net.run(FOREVER)
    assert sink.seen[0][0] == 2 * 267  # 800 bits at 3 bit/ps are 266.67 ps


def test_credits_bound_the_rate_to_a_buffer_a_round_trip() -> None:
    """Throughput = credits / round trip, where the round trip exceeds the buffer's serialisation time."""
    delay, size, count = 10_000, 100, 50
    net, source, sink, _ = chain(2, delay=delay, credit=2 * size)
    for _ in range(count):
        net.send(source, frame(2, size), 0)
    assert net.run(FOREVER) == 0
    # A buffer is free when its frame has left: serialise, fly, serialise onwards, and the credit flies back.
    trip = size + delay + size + delay
    times = [at for at, _ in sink.seen]
    assert len(times) == count
    gaps = [times[i + 2] - times[i] for i in range(10, count - 2)]
    assert set(gaps) == {trip}


def test_higher_vl_first_and_in_order_within_a_vl() -> None:
    net, source, sink, _ = chain(1)
    for i in range(3):
        net.send(source, frame(2, 50 + i, vl=0), 0)
    for i in range(3):
        net.send(source, frame(2, 60 + i, vl=3), 3)
    net.run(FOREVER)
    # The first frame was being sent when the others came.
    assert [len(f) for _, f in sink.seen] == [50, 60, 61, 62, 51, 52]


def test_drop_tail_counts_what_it_refuses() -> None:
    net, sink = Network(), Sink()
    net.add_switch("s0")
    net.set_program(0, Program(WIRE.read_bytes()))
    net.add_switch("s1")
    net.set_program(1, Program(WIRE.read_bytes()))
    slow = net.connect(0, 2, 1, 1, RATE // 10, 0, 0, 300)
    source = net.attach_host(0, 1, RATE, 0, 0)
    net.set_handler(net.attach_host(1, 2, RATE, 0, 0), sink)
    for _ in range(10):
        net.send(source, frame(2, 100), 0)
    net.run(FOREVER)
    stats = net.link_stats(slow, 0)
    # One on the wire and three queued by the time the tenth arrives; the wire is ten times slower.
    assert len(sink.seen) == 4
    assert stats["refused_full"] == 6
    assert stats["max_queued_bytes"] == 300


def test_lossless_links_lose_nothing_behind_a_slow_one() -> None:
    net, sink = Network(), Sink()
    program = Program(WIRE.read_bytes())
    for i in range(3):
        net.add_switch(f"s{i}")
        net.set_program(i, program)
    net.connect(0, 2, 1, 1, RATE, 5, 256)
    net.connect(1, 2, 2, 1, RATE // 8, 5, 256)
    source = net.attach_host(0, 1, RATE, 5, 256)
    net.set_handler(net.attach_host(2, 2, RATE, 5, 256), sink)
    for _ in range(200):
        net.send(source, frame(2, 128), 0)
    assert net.run(FOREVER) == 0
    assert len(sink.seen) == 200
    assert net.link_stats(0, 0)["max_queued_bytes"] <= 256


def test_a_cut_loses_what_is_on_the_wire_and_credits_come_back_with_the_link() -> None:
    net, source, sink, links = chain(2, delay=1000, credit=200)
    for _ in range(20):
        net.send(source, frame(2, 100), 0)
    net.alarm(2_500, 1)
    assert net.run(FOREVER) == 2
    assert net.take_control() == ("alarm", 2_500, -1, 1, False, b"")
    net.set_link(links[0], False)
    ports = [net.take_control(), net.take_control()]
    assert [(p[0], p[2], p[3], p[4]) for p in ports if p] == [("port", 0, 2, False), ("port", 1, 1, False)]
    assert net.run(FOREVER) == 0
    stats = net.link_stats(links[0], 0)
    lost = stats["lost"] + stats["refused_down"]
    assert lost + len(sink.seen) == 20
    assert lost > 0
    net.set_link(links[0], True)
    while net.take_control():
        pass
    before = len(sink.seen)
    for _ in range(20):
        net.send(source, frame(2, 100), 0)
    assert net.run(FOREVER) == 0
    assert len(sink.seen) == before + 20


def test_a_ring_without_an_escape_deadlocks_and_the_cycle_is_named() -> None:
    net = Network()
    program = Program(WIRE.read_bytes())
    for i in range(4):
        net.add_switch(f"s{i}")
        net.set_program(i, program)
        # port 2 leads to the next switch; two hops on: port 4 means "port 2, then 3", which is the host.
        for port, following in ((4, 5), (5, 3)):
            keys, params = [(bytes([port]), b"", 0)], [bytes([2]), bytes([following])]
            table, action = handle(program.tables, "forward"), handle(program.actions, "forward")
            assert net.table_insert(i, table, keys, 0, action, params) == 0
    links = [net.connect(i, 2, (i + 1) % 4, 1, RATE, 10, 100) for i in range(4)]
    sinks = [Sink() for _ in range(4)]
    for i in range(4):
        host = net.attach_host(i, 3, RATE, 10, 100)
        net.set_handler(host, sinks[i])
        for _ in range(10):
            net.send(host, frame(4, 100), 0)
    assert net.run(FOREVER) == 3
    cycle = net.deadlock()
    assert sorted(link for link, _, _ in cycle) == links
    assert {(direction, vl) for _, direction, vl in cycle} == {(0, 0)}


def handle(things: list[dict[str, Any]], name: str) -> int:
    return next(one["handle"] for one in things if one["name"].split(".")[-1] == name)


def test_a_frame_larger_than_the_receive_buffer_is_an_error() -> None:
    net, source, _, _ = chain(1, credit=64)
    with pytest.raises(RuntimeError, match="65 bytes never fits its receive buffer of 64 bytes"):
        net.send(source, frame(2, 65), 0)


def test_a_rate_of_zero_is_refused() -> None:
    net = Network()
    net.add_switch("a")
    net.add_switch("b")
    with pytest.raises(ValueError, match="link a-b: a rate of 0"):
        net.connect(0, 1, 1, 1, 0, 0, 0)
