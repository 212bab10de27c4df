# SPDX-License-Identifier: Apache-2.0
"""Links between a switch and its host that go down."""

from tests.emulation.engine.wires import (
    RATE,
    SIZE,
    Sink,
    at,
    chain,
    drain,
    frame,
    numbered,
    steer,
    switches,
)


def test_a_host_link_that_is_down_loses_and_counts_and_holds_nobody_up() -> None:
    """Two hosts behind one lossless link: what is for the one that is gone does not keep the other up."""
    net, removed, here = switches(2), Sink(), Sink()
    link = net.connect(0, 2, 1, 1, RATE, 10, 2 * SIZE)
    source = net.attach_host(0, 3, RATE, 10, 2 * SIZE)
    away = net.attach_host(1, 4, RATE, 10, 2 * SIZE)
    stays = net.attach_host(1, 5, RATE, 10, 2 * SIZE)
    net.set_handler(away, removed)
    net.set_handler(stays, here)
    steer(net, 0, {10: (2, 4), 11: (2, 5)})
    for number in range(50):
        net.send(source, numbered(10 + number % 2, number), 0)
    at(net, 2000, lambda: net.set_host_link(away, False))
    net.set_host_link(away, False)  # it is down already
    net.send(away, frame(4, SIZE), 0)
    assert drain(net) == [("port", 2000, 1, 4, False, b"")]
    assert len(here.seen) == 25
    to, back = net.host_stats(away, 1), net.host_stats(away, 0)
    assert to["lost"] + to["refused_down"] + len(removed.seen) == 25
    assert to["refused_down"] > 0
    assert back["refused_down"] == 1
    assert net.link_stats(link, 0)["lost"] == 0
    # And it is as good as new.
    net.set_host_link(away, True)
    assert [item[4] for item in drain(net)] == [True]
    seen = len(removed.seen)
    for number in range(10):
        net.send(source, numbered(10, number), 0)
    assert net.run() == 0
    assert len(removed.seen) == seen + 10


def test_what_is_on_its_way_to_or_from_a_host_is_lost_with_its_link() -> None:
    net, source, sink, _ = chain(1, delay=1000)
    for _ in range(3):
        net.send(source, frame(2, SIZE), 0)
    # At 150 the first frame flies, the second is on the wire, the third waits.
    at(net, 150, lambda: net.set_host_link(0, False))
    drain(net)
    assert (len(sink.seen), net.host_stats(0, 0)["lost"]) == (0, 3)
