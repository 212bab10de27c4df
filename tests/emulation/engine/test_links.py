# SPDX-License-Identifier: Apache-2.0
"""Links in virtual time: what they lose, refuse and count, cuts, the cycle of a deadlock."""

from typing import Any

import pytest

from tests.emulation.engine.wires import FOREVER, RATE, Sink, chain, frame, steer, switches


def test_drop_tail_counts_what_it_refuses() -> None:
    net, sink = switches(2), Sink()
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
    net, sink = switches(3), Sink()
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
    net = switches(4)
    for i in range(4):
        # Port 2 leads to the next switch; two hops on: port 4 means "port 2, then 3", which is the host.
        steer(net, i, {4: (2, 5), 5: (2, 3)})
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


def test_a_frame_larger_than_the_receive_buffer_is_an_error() -> None:
    net, source, _, _ = chain(1, credit=64)
    with pytest.raises(RuntimeError, match="65 bytes never fits its receive buffer of 64 bytes"):
        net.send(source, frame(2, 65), 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate_bps": 0}, "link s0-s1: a rate of 0"),
        ({"delay_ps": -1}, "link s0-s1: the delay is negative"),
        ({"credit_bytes": -1}, "link s0-s1: a buffer is negative"),
        ({"scheduler": "fifo"}, "scheduler fifo is unknown; use strict, round-robin or deficit"),
        ({"scheduler": "deficit", "quanta": [64]}, "there are 1 quanta; give one for each of the 8 VLs"),
        ({"scheduler": "deficit", "quanta": [64] * 7 + [0]}, "link s0-s1: a quantum of 0 bytes for VL 7"),
    ],
)
def test_settings_that_make_no_link_are_refused(settings: dict[str, Any], message: str) -> None:
    net = switches(2)
    with pytest.raises(ValueError, match=message):
        net.connect(0, 1, 1, 1, **{"rate_bps": RATE, "delay_ps": 0, "credit_bytes": 0, **settings})


def test_time_runs_to_the_bound_or_to_the_last_event() -> None:
    net, source, _, _ = chain(1, delay=50)
    net.send(source, frame(2, 100), 0)
    assert (net.run(120), net.now) == (1, 120)
    assert (net.run(), net.now) == (0, 300)
    assert (net.run(1000), net.now) == (0, 300)
