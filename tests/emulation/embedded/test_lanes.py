# SPDX-License-Identifier: Apache-2.0
"""Two lanes a priority: who goes first, who waits for whose credits, and what they are called."""

import pytest

from emulation._engine import Network
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.frames.values import SERVED_VLS
from tests.emulation.engine.wires import FOREVER, RATE, Sink, chain, switches
from topologies import full_mesh

# The last bit of a frame's second byte says which lane.
LANE_BIT = 15
LENGTH = 100


def frame(priority: int, lane: int, number: int = 0) -> bytes:
    """For port 2; so steered, it has its first byte anew at every switch."""
    return bytes([2 << 3 | priority, lane, number]) + bytes(LENGTH - 3)


def lanes(net: Network) -> None:
    net.set_lanes(LANE_BIT, SERVED_VLS)


def test_the_highest_priority_first_and_of_one_the_second_lane() -> None:
    net, sink = switches(2), Sink()
    lanes(net)
    link = net.connect(0, 2, 1, 1, RATE // 10, 0, 0)
    source = net.attach_host(0, 1, RATE, 0, 0)
    net.set_handler(net.attach_host(1, 2, RATE, 0, 0), sink)
    order = [(0, 0), (0, 1), (3, 0), (6, 1), (7, 0), (7, 1)]
    for number, (priority, lane) in enumerate(order):
        net.send(source, frame(priority, lane, number), 0)
    net.run(FOREVER)
    # The first is on the wire by the time the others come.
    assert [seen[2] for _, seen in sink.seen] == [0, 5, 4, 3, 2, 1]
    by_vl = net.link_stats(link, 0)["frames_by_vl"]
    assert {vl: count for vl, count in enumerate(by_vl) if count} == {0: 1, 1: 1, 8: 1, 15: 1, 2: 1, 3: 1}


@pytest.mark.parametrize("priority", range(8))
def test_a_frame_that_is_on_the_wire_is_all_that_a_higher_one_waits_for(priority: int) -> None:
    net, sink = switches(2), Sink()
    lanes(net)
    net.connect(0, 2, 1, 1, RATE, 0, 4 * LENGTH)
    low, high = (net.attach_host(0, port, RATE, 0, 8 * LENGTH) for port in (1, 3))
    net.set_handler(net.attach_host(1, 2, RATE, 0, 8 * LENGTH), sink)
    for number in range(20):
        net.send(low, frame(0, 0, number), 0)
    for number in range(20):
        net.send(high, frame(priority, 1, 100 + number), SERVED_VLS[2 * priority + 1])
    net.run(FOREVER)
    first = [at for at, seen in sink.seen if seen[2] >= 100]
    # The host's own link, the frame of the other that began at the same time, the link, the host's link.
    assert first[0] - 3 * LENGTH <= LENGTH
    assert first == [first[0] + LENGTH * number for number in range(20)]
    assert len(sink.seen) == 40


def test_credits_of_one_lane_do_not_hold_up_another() -> None:
    """The far switch sends on lane 0 of priority 0 to a host that is down; its buffer fills, and no other."""
    net, source, sink, links = chain(2, credit=4 * LENGTH)
    lanes(net)
    slow = net.attach_host(1, 4, RATE // 1000, 0, 4 * LENGTH)
    net.set_handler(slow, Sink())
    for number in range(30):
        net.send(source, bytes([4 << 3, 0, number]) + bytes(LENGTH - 3), 0)
    for number in range(30):
        net.send(source, frame(0, 1, number), 1)
    net.run(40 * 3 * LENGTH)
    assert len(sink.seen) == 30
    assert net.link_stats(links[0], 0)["frames"] < 60


@pytest.mark.parametrize("vls", [range(8), [*range(15), 14], range(1, 17)])
def test_every_vl_is_of_one_lane(vls: list[int]) -> None:
    with pytest.raises(ValueError, match="there must be 16, each from 0 to 15 once"):
        Network().set_lanes(LANE_BIT, list(vls))


def test_a_host_names_no_vl_that_there_is_not() -> None:
    net, source, *_ = chain(1)
    with pytest.raises(ValueError, match="VL 8 is not between 0 and 7"):
        net.send(source, frame(0, 0), 8)
    lanes(net)
    with pytest.raises(ValueError, match="VL 16 is not between 0 and 15"):
        net.send(source, frame(0, 0), 16)


def test_the_embedded_testbed_has_a_lane_for_every_vl() -> None:
    testbed = EmbeddedTestbed(full_mesh((2, 2)))
    testbed.start()
    try:
        assert len(testbed.network.link_stats(0, 0)["frames_by_vl"]) == 16
    finally:
        testbed.stop()
