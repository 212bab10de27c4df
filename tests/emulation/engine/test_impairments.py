# SPDX-License-Identifier: Apache-2.0
"""Links that lose, delay, slow down or block frames."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from emulation._engine import Network, Program
from tests.emulation.engine.wires import (
    RATE,
    SIZE,
    WIRE,
    Sink,
    at,
    chain,
    drain,
    frame,
    handle,
    numbered,
    steer,
    switches,
)


def numbers(sink: Sink) -> list[int]:
    return [int.from_bytes(data[1:5], "big") for _, data in sink.seen]


def train(frames: int, *, seed: int = 0, credit: int = 0, **how: Any) -> tuple[Network, Sink, int]:
    """Frames back to back over one impaired link between two switches."""
    net, source, sink, (link,) = chain(2, delay=7, credit=credit)
    net.set_seed(seed)
    net.impair(link, 0, **how)
    for number in range(frames):
        net.send(source, numbered(2, number), 0)
    assert net.run() == 0
    return net, sink, link


# Loss


def likely(frames: int, probability: float) -> tuple[float, float]:
    """Return the bounds of the number of frames that one run in 10,000 exceeds."""
    from scipy import stats  # takes half a second, of each worker if at the top

    return stats.binom.interval(0.9999, frames, probability)


@pytest.mark.parametrize("loss", [0.001, 0.1, 0.5, 0.97])
@pytest.mark.parametrize("credit", [0, 4 * SIZE])
def test_loss_is_as_probable_as_it_is_said_to_be(loss: float, credit: int) -> None:
    frames = 10_000
    net, sink, link = train(frames, seed=5, credit=credit, loss=loss)
    seen = net.link_stats(link, 0)
    assert seen["impaired"] + len(sink.seen) == seen["frames"] == frames
    assert (seen["lost"], seen["refused_down"], seen["refused_full"]) == (0, 0, 0)
    low, high = likely(frames, loss)
    assert low <= seen["impaired"] <= high
    # No frame's fate tells the next one's.
    removed = [False] * frames
    for number in set(range(frames)) - set(numbers(sink)):
        removed[number] = True
    pairs = sum(a and b for a, b in zip(removed[::2], removed[1::2], strict=True))
    low, high = likely(frames // 2, loss * loss)
    assert low <= pairs <= high


@pytest.mark.parametrize(("how", "arrive"), [({"loss": 0.0}, 50), ({"loss": 1.0}, 0), ({"blocked": True}, 0)])
def test_none_and_all_are_exact(how: dict[str, Any], arrive: int) -> None:
    net, sink, link = train(50, **how)
    assert len(sink.seen) == arrive
    assert net.link_stats(link, 0)["impaired"] == 50 - arrive


def test_what_arrives_over_a_lossy_link_arrives_when_it_would_have() -> None:
    _, whole, _ = train(500)
    _, lossy, _ = train(500, seed=1, loss=0.3)
    assert 250 < len(lossy.seen) < 450
    times = dict(zip(numbers(whole), whole.times, strict=True))
    assert lossy.times == [times[number] for number in numbers(lossy)]


def test_a_seed_decides_what_is_lost_and_each_direction_decides_for_itself() -> None:
    def lost(seed: int, *, back: bool, reverse_too: bool = False) -> list[int]:
        """Numbers of the frames that got through, one way or back."""
        net, sinks = switches(2), (Sink(), Sink())
        link = net.connect(0, 2, 1, 2, RATE, 0, 0)
        hosts = [net.attach_host(i, 3, RATE, 0, 0) for i in range(2)]
        for i in range(2):
            net.set_handler(hosts[i], sinks[1 - i])
            steer(net, i, {10: (2, 3)})
            net.impair(link, i, loss=0.5)
        net.set_seed(seed)
        for number in range(200):
            if not back or reverse_too:
                net.send(hosts[0], numbered(10, number), 0)
            if back or reverse_too:
                net.send(hosts[1], numbered(10, number), 0)
        net.run()
        return numbers(sinks[back])

    assert lost(1, back=False) == lost(1, back=False) != lost(2, back=False)
    assert lost(1, back=False) != lost(1, back=True)
    assert lost(1, back=False) == lost(1, back=False, reverse_too=True)


# Blocked


def test_what_has_begun_to_be_sent_when_a_link_is_blocked_still_arrives_and_the_carrier_stays() -> None:
    delay = 1000
    net, source, sink, (link,) = chain(2, delay=delay)
    for number in range(10):
        net.send(source, numbered(2, number), 0)
    # The k-th frame begins on the link in question at k x SIZE + SIZE + delay.
    begin = SIZE + delay
    at(net, begin + 3 * SIZE + 1, lambda: net.impair(link, 0, blocked=True))
    at(net, begin + 6 * SIZE + 1, lambda: net.impair(link, 0))
    assert drain(net) == []  # no port went down
    assert numbers(sink) == [0, 1, 2, 3, 7, 8, 9]
    assert net.link_stats(link, 0)["frames"] == 10


def test_the_other_direction_of_a_blocked_link_carries_on() -> None:
    net, sinks = switches(2), (Sink(), Sink())
    link = net.connect(0, 2, 1, 2, RATE, 5, 200)
    hosts = [net.attach_host(i, 3, RATE, 0, 200) for i in range(2)]
    for i in range(2):
        net.set_handler(hosts[i], sinks[i])
        steer(net, i, {10: (2, 3)})
    net.impair(link, 1, blocked=True)
    for number in range(20):
        for host in hosts:
            net.send(host, numbered(10, number), 0)
    assert net.run() == 0
    assert (len(sinks[0].seen), len(sinks[1].seen)) == (0, 20)
    assert [net.link_stats(link, way)["impaired"] for way in (0, 1)] == [0, 20]


@pytest.mark.parametrize("credits", [1, 2, 3])
def test_credits_of_lost_frames_come_back_as_if_they_were_there(credits: int) -> None:
    """A lossless link that is blocked is as fast as one whose far end takes every frame at once."""
    delay, frames = 400, 30
    net, sink = switches(2), Sink()
    link = net.connect(0, 2, 1, 1, RATE, delay, credits * SIZE)
    source = net.attach_host(0, 1, RATE, 0, 0)
    net.set_handler(net.attach_host(1, 2, RATE, 0, 0), sink)
    net.impair(link, 0, blocked=True)
    for number in range(frames):
        net.send(source, numbered(2, number), 0)
    trip = max(SIZE + 2 * delay, credits * SIZE)
    sends = [SIZE + i // credits * trip + i % credits * SIZE for i in range(frames)]
    # The rest is seen by its arrival: the first frame that begins after the change.
    at(net, sends[9] + 1, lambda: net.impair(link, 0))
    assert net.run() == 0
    assert numbers(sink) == list(range(10, frames))
    assert sink.times[0] == sends[10] + SIZE + delay + SIZE
    assert net.link_stats(link, 0)["impaired"] == 10


# Rate


@pytest.mark.parametrize("rate", [RATE // 3, RATE // 7, 3_000_000_000_000, 2 * RATE])
def test_a_rate_holds_from_the_next_frame_on_and_is_exact(rate: int) -> None:
    net, source, sink, (link,) = chain(2)
    for number in range(9):
        net.send(source, numbered(2, number), 0)
    # Frames 0 to 2 have begun at SIZE, 2 SIZE, 3 SIZE; frame 2 keeps its own rate to its end.
    at(net, 3 * SIZE + 1, lambda: net.impair(link, 0, rate_bps=rate))
    net.run()
    slow = -(-SIZE * 8 * 10**12 // rate)
    ends = [2 * SIZE, 3 * SIZE, 4 * SIZE]
    for number in range(3, 9):
        ends.append(max(ends[-1], (number + 1) * SIZE) + slow)
    arrivals = [ends[0] + SIZE]
    for end in ends[1:]:
        arrivals.append(max(end, arrivals[-1]) + SIZE)
    assert sink.times == arrivals
    assert net.link_stats(link, 0)["busy_ps"] == 3 * SIZE + 6 * slow


def test_without_an_impairment_the_link_has_its_own_rate_and_delay_again() -> None:
    net, source, sink, (link,) = chain(2, delay=50)
    net.impair(link, 0, rate_bps=RATE // 10, extra_delay_ps=5000, loss=1.0)
    net.impair(link, 0)
    net.send(source, frame(2, SIZE), 0)
    net.run()
    assert sink.times == [3 * (SIZE + 50)]


# Delay


@pytest.mark.parametrize("extra", [1, 333, 10_000])
@pytest.mark.parametrize("slower", [1, 4])
@pytest.mark.parametrize("credits", [1, 2, 5])
def test_an_extra_delay_is_added_to_the_frames_and_not_to_the_credits(
    extra: int, slower: int, credits: int
) -> None:
    delay, frames = 40, 60
    net, sink = switches(2), Sink()
    link = net.connect(0, 2, 1, 1, RATE, delay, credits * SIZE)
    source = net.attach_host(0, 1, RATE, 0, 0)
    net.set_handler(net.attach_host(1, 2, RATE, 0, 0), sink)
    net.impair(link, 0, extra_delay_ps=extra, rate_bps=RATE // slower)
    for number in range(frames):
        net.send(source, numbered(2, number), 0)
    assert net.run() == 0
    assert sink.times[0] == SIZE + slower * SIZE + delay + extra + SIZE
    trip = slower * SIZE + delay + extra + SIZE + delay
    assert {b - a for a, b in zip(sink.times[10:], sink.times[10 + credits :], strict=False)} == {
        max(trip, credits * slower * SIZE)
    }


def test_frames_on_their_way_keep_their_time_and_none_overtakes_another() -> None:
    extra, delay, frames = 730, 10, 20
    net, source, _, (link,) = chain(2, delay=delay)
    program = Program(WIRE.read_bytes())
    table, action = handle(program.tables, "forward"), handle(program.actions, "forward")
    # The far switch hands every frame to its control plane, which sees when it came.
    to_cpu = [(510).to_bytes(2, "big"), b"\0"]
    assert net.table_insert(1, table, [(b"\x02", b"", 0)], 0, action, to_cpu) == 0
    seen: list[tuple[int, int]] = []

    def note() -> None:
        while item := net.take_control():
            if item[0] == "packet_in":
                seen.append((item[1], int.from_bytes(item[5][1:5], "big")))

    def until(time: int, act: Callable[[], None]) -> None:
        net.alarm(time, 0)
        while net.now < time:
            net.run()
            note()
        act()

    for number in range(frames):
        net.send(source, numbered(2, number), 0)
    begin = [SIZE + delay + SIZE * number for number in range(frames)]
    until(begin[4] + 1, lambda: net.impair(link, 0, extra_delay_ps=extra))
    until(begin[12] + 1, lambda: net.impair(link, 0))
    while net.run() == 2:
        note()
    there = [start + SIZE + delay + (extra if 4 < i <= 12 else 0) for i, start in enumerate(begin)]
    for i in range(1, frames):
        there[i] = max(there[i], there[i - 1])
    assert there[13] == there[12]  # it would have been there before
    assert seen == [(time, number) for number, time in enumerate(there)]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"loss": -0.01}, "link s0-s1: a loss of -0.01"),
        ({"loss": 1.01}, "link s0-s1: a loss of 1.01"),
        ({"loss": float("nan")}, "link s0-s1: a loss of nan"),
        ({"rate_bps": 0}, "link s0-s1: a rate of 0 bit/s"),
        ({"rate_bps": -5}, "link s0-s1: a rate of -5 bit/s"),
        ({"extra_delay_ps": -1}, "link s0-s1: the extra delay is negative"),
    ],
)
def test_what_is_no_impairment_is_refused_and_changes_nothing(how: dict[str, Any], message: str) -> None:
    net, source, sink, (link,) = chain(2)
    with pytest.raises(ValueError, match=message):
        net.impair(link, 0, **how)
    net.send(source, frame(2, SIZE), 0)
    net.run()
    assert sink.times == [3 * SIZE]


# Deadlock


def ring() -> tuple[Network, list[int], list[Sink]]:
    """Four switches in a circle, each sending two hops on, with buffers of one frame; and a chord."""
    net = switches(4)
    for i in range(4):
        steer(net, i, {14: (2, 15), 15: (2, 3)})
    links = [net.connect(i, 2, (i + 1) % 4, 1, RATE, 10, SIZE) for i in range(4)]
    links.append(net.connect(0, 5, 2, 5, RATE, 10, SIZE))
    sinks = [Sink() for _ in range(4)]
    for i in range(4):
        host = net.attach_host(i, 3, RATE, 10, SIZE)
        net.set_handler(host, sinks[i])
        for _ in range(10):
            net.send(host, frame(14, SIZE), 0)
    return net, links, sinks


def test_a_deadlock_is_found_beside_a_link_that_is_down_and_ends_with_a_cut() -> None:
    net, links, sinks = ring()
    net.set_link(links[4], False)
    while net.take_control():
        pass
    assert net.run() == 3
    assert sorted(link for link, _, _ in net.deadlock()) == links[:4]
    net.set_link(links[2], False)
    drain(net)  # the others go on; nothing is stuck
    assert net.run() == 0
    lost = sum(net.link_stats(link, 0)["lost"] + net.link_stats(link, 0)["refused_down"] for link in links)
    assert sum(len(sink.seen) for sink in sinks) + lost == 40


def test_lost_frames_are_no_deadlock() -> None:
    net, links, sinks = ring()
    for link in links:
        net.impair(link, 0, blocked=True)
    assert net.run() == 0
    assert sum(len(sink.seen) for sink in sinks) == 0


# Conservation


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("credit", [0, 600])
def test_whatever_goes_wrong_frames_are_counted_once_and_credits_come_back(seed: int, credit: int) -> None:
    chance = random.Random(seed)
    count, delay = 5, 90
    net, source, sink, links = chain(count, delay=delay, credit=credit)
    net.set_seed(seed)
    sent = 0
    for step in range(200):
        for _ in range(chance.randrange(10)):
            net.send(source, frame(2, SIZE), 0)
            sent += 1
        link = chance.choice(links)
        match chance.randrange(6):
            case 0:
                net.set_link(link, False)
            case 1:
                net.set_link(link, True)
            case 2:
                net.impair(link, 0, loss=chance.random(), extra_delay_ps=chance.randrange(2000))
            case 3:
                net.impair(link, 0, rate_bps=RATE // chance.randrange(1, 20))
            case 4:
                net.set_host_link(chance.randrange(2), chance.random() < 0.6)
            case 5:
                net.impair(link, 0)
        while net.take_control():
            pass
        net.alarm((step + 1) * 700, 0)
        while net.now < (step + 1) * 700:
            net.run((step + 1) * 700)
            while net.take_control():
                pass
    for link in links:
        net.set_link(link, True)
        net.impair(link, 0)
    for host in range(2):
        net.set_host_link(host, True)
    assert [item for item in drain(net) if item[0] != "port"] == []
    counted = [net.link_stats(link, 0) for link in links] + [net.host_stats(0, 0), net.host_stats(1, 1)]
    removed = sum(c["lost"] + c["impaired"] + c["refused_down"] + c["refused_full"] for c in counted)
    assert removed > 0
    assert len(sink.seen) + removed == sent
    # All credits are there again: a train is as fast as it would be over links that nothing ever happened to.
    start, before = net.now, len(sink.seen)
    fresh, other, undisturbed, _ = chain(count, delay=delay, credit=credit)
    for _ in range(60):
        net.send(source, frame(2, SIZE), 0)
        fresh.send(other, frame(2, SIZE), 0)
    assert (net.run(), fresh.run()) == (0, 0)
    assert [time - start for time in sink.times[before:]] == undisturbed.times
