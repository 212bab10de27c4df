# SPDX-License-Identifier: Apache-2.0
"""Links that are plugged into ports which an earlier link has left, as circuits of optical switches are."""

import pytest

from emulation._engine import Network
from tests.emulation.engine.wires import RATE, SIZE, Sink, frame, steer, switches


def move(net: Network, before: int, after: int) -> None:
    """Take a link down and plug another into its port, which comes up."""
    net.set_link(before, False)
    net.plug(after)
    net.set_link(after, True)
    while net.take_control():
        pass


def test_a_port_has_one_receive_buffer_whatever_leads_to_it() -> None:
    """Frames of a circuit that is gone still fill the buffer of their port; the next has what is left."""
    slow, room = RATE // 100, 4
    net, sink = switches(3), Sink()
    first = net.connect(0, 1, 2, 1, RATE, 0, room * SIZE)
    second = net.connect(1, 1, 2, 1, RATE, 0, room * SIZE, plugged=False)
    sources = [net.attach_host(i, 3, RATE, 0, 0) for i in range(2)]
    net.set_handler(net.attach_host(2, 3, slow, 0, 0), sink)
    for i in range(2):
        steer(net, i, {10: (1, 3)})
    for _ in range(10):
        net.send(sources[0], frame(10, SIZE), 0)
    # By then the first frame is on the slow link, three wait behind it, and six are still to come.
    net.alarm(20 * SIZE, 0)
    assert net.run() == 2
    assert net.link_stats(first, 0)["frames"] == room
    move(net, first, second)
    for _ in range(10):
        net.send(sources[1], frame(10, SIZE), 0)
    start = net.now
    net.alarm(start + 10 * SIZE, 0)
    assert net.run() == 2
    net.take_control()
    # Nothing has left the slow link yet, so there is no room at all.
    assert net.link_stats(second, 0)["frames"] == 0
    # Each frame that leaves makes room for one.
    for done in range(1, 8):
        net.alarm(2 * SIZE + done * 100 * SIZE + 2 * SIZE, 0)
        assert net.run() == 2
        net.take_control()
        assert net.link_stats(second, 0)["frames"] == done
    # And back again, while frames of the second circuit fill the buffer.
    move(net, second, first)
    for _ in range(10):
        net.send(sources[0], frame(10, SIZE), 0)
    before = net.link_stats(first, 0)["frames"]
    net.alarm(net.now + 30 * SIZE, 0)
    assert net.run() == 2
    net.take_control()
    assert net.link_stats(first, 0)["frames"] == before
    assert net.run() == 0
    assert net.link_stats(first, 0)["frames"] == before + 10
    assert len(sink.seen) == room + 7 + 10
    assert net.link_stats(first, 0)["lost"] == 6
    assert net.link_stats(second, 0)["lost"] == 3


def test_a_deadlock_through_a_buffer_that_an_earlier_circuit_filled_is_found_and_named() -> None:
    """A ring of four, room for one frame each: all hold what the next one waits for, one over a new link."""
    net = switches(4)
    links = [net.connect(i, 2, (i + 1) % 4, 1, RATE, 10, SIZE) for i in range(4)]
    new = net.connect(0, 2, 1, 1, RATE, 10, SIZE, plugged=False)
    hosts = [net.attach_host(i, 3, RATE, 0, 0) for i in range(4)]
    for i in range(4):
        steer(net, i, {14: (2, 15), 15: (2, 3)})
    # The last link is long at its first frame, behind which the others stop, each at the end of its own.
    net.impair(links[3], 0, rate_bps=RATE // 1000)
    for i in (3, 2, 1, 0):
        net.send(hosts[i], frame(14, SIZE), 0)
        net.alarm(net.now + 1000, 0)
        assert net.run() == 2
        net.take_control()
    assert [net.link_stats(link, 0)["frames"] for link in links] == [1, 1, 1, 1]
    net.set_link(links[0], False)
    net.plug(new)
    net.set_link(new, True)
    while net.take_control():
        pass
    assert net.run() == 3
    assert sorted(link for link, _, _ in net.deadlock()) == [*links[1:], new]
    assert net.link_stats(new, 0)["frames"] == net.link_stats(links[0], 0)["lost"] == 0


def test_a_link_is_plugged_into_ports_that_are_dark_and_only_then_goes_up() -> None:
    net = switches(3)
    first = net.connect(0, 1, 1, 1, RATE, 0, 0)
    second = net.connect(0, 1, 2, 1, RATE, 0, 0, plugged=False)
    net.attach_host(1, 3, RATE, 0, 0)
    third = net.connect(1, 3, 2, 2, RATE, 0, 0, plugged=False)
    with pytest.raises(ValueError, match="switch s0: port 1 is in use by link s0-s1"):
        net.plug(second)
    with pytest.raises(ValueError, match="link s0-s2 is not plugged"):
        net.set_link(second, True)
    with pytest.raises(ValueError, match="switch s1: port 3 is in use by link s1-host"):
        net.plug(third)
    net.set_link(first, False)
    net.plug(second)
    net.plug(second)
    net.set_link(second, True)
    with pytest.raises(ValueError, match="link s0-s1 is not plugged"):
        net.set_link(first, True)
    with pytest.raises(ValueError, match="switch s0: port 1 is in use by link s0-s2"):
        net.plug(first)
