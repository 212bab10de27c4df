# SPDX-License-Identifier: Apache-2.0
"""Links in virtual time against the closed forms of docs/reference/links.md, to the picosecond if exact."""

import itertools
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from emulation._engine import Network
from tests.emulation.engine.wires import RATE, Sink, chain, frame, steer, switches

BYTE = 1  # picoseconds a byte takes at RATE


def fan_in(inputs: int, **settings: Any) -> tuple[Network, list[int], Sink]:
    """Hosts on ports 8, 9, ... of a switch, all as fast as its output on port 2, which leads to a host."""
    net, sink = switches(1), Sink()
    hosts = [net.attach_host(0, 8 + i, RATE, 0, 0) for i in range(inputs)]
    net.set_handler(net.attach_host(0, 2, RATE, 0, 0, **settings), sink)
    return net, hosts, sink


def vl_of(data: bytes) -> int:
    return data[0] & 7


# Store and forward


@pytest.mark.parametrize("hops", [2, 3, 6])
@pytest.mark.parametrize("frames", [1, 10])
@pytest.mark.parametrize("credit", [0, 1 << 20])
def test_a_train_through_a_chain_is_a_pipeline(hops: int, frames: int, credit: int) -> None:
    size, delay = 64, 7
    net, source, sink, _ = chain(hops - 1, delay=delay, credit=credit)
    for _ in range(frames):
        net.send(source, frame(2, size), 0)
    assert net.run() == 0
    assert sink.times == [(hops + i) * size * BYTE + hops * delay for i in range(frames)]


@pytest.mark.parametrize("rates", [(1, 2, 5), (5, 2, 1), (2, 1, 5)])
def test_the_slowest_link_of_a_chain_spaces_the_frames(rates: tuple[int, ...]) -> None:
    size, delay, frames = 100, 30, 20
    times = [size * BYTE * rate for rate in rates]
    net, sink = switches(2), Sink()
    source = net.attach_host(0, 1, RATE // rates[0], delay, 0)
    net.connect(0, 2, 1, 1, RATE // rates[1], delay, 0)
    net.set_handler(net.attach_host(1, 2, RATE // rates[2], delay, 0), sink)
    for _ in range(frames):
        net.send(source, frame(2, size), 0)
    net.run()
    assert sink.times == [sum(times) + len(rates) * delay + i * max(times) for i in range(frames)]


@pytest.mark.parametrize(
    ("rate", "size"), [(3_000_000_000_000, 100), (1, 1), (400_000_000_000, 9000), (7, 65_000), (10**18, 1)]
)
def test_serialisation_is_exact_and_rounds_up(rate: int, size: int) -> None:
    net, source, sink, _ = chain(1, rate=rate)
    net.send(source, frame(2, size), 0)
    net.run()
    assert sink.times == [2 * -(-size * 8 * 10**12 // rate)]


# Sharing an output


def test_the_higher_vl_starves_the_lower_and_no_time_is_lost() -> None:
    size, frames = 100, 50
    net, (low, high), sink = fan_in(2)
    for _ in range(frames):
        net.send(low, frame(2, size, vl=1), 1)
        net.send(high, frame(2, size, vl=5), 5)
    net.run()
    # Both arrive as fast as the output sends: the lower one has it for its first frame and after the last.
    assert [vl_of(data) for _, data in sink.seen] == [1] + [5] * frames + [1] * (frames - 1)
    assert sink.times == [size * (2 + i) for i in range(2 * frames)]


def test_within_a_vl_frames_keep_their_order() -> None:
    net, (host,), sink = fan_in(1)
    sizes = random.Random(1).sample(range(40, 400), 30)
    for size in sizes:
        net.send(host, frame(2, size), 0)
    net.run()
    assert [len(data) for _, data in sink.seen] == sizes


def test_round_robin_shares_in_frames() -> None:
    vls, sizes, frames = (0, 3, 4, 7), (300, 100, 200, 50), 40
    net, hosts, sink = fan_in(len(vls), scheduler="round-robin")
    for host, vl, size in zip(hosts, vls, sizes, strict=True):
        for _ in range(frames):
            net.send(host, frame(2, size, vl), vl)
    net.run()
    order = [vl_of(data) for _, data in sink.seen]
    assert Counter(order) == dict.fromkeys(vls, frames)
    # From when all of them wait, and until the first has sent its last, one frame of each in turn.
    steady = order[2 * len(vls) : -4 * len(vls)]
    turns = itertools.cycle(vls)
    while steady[0] != next(turns):
        pass
    assert steady[1:] == list(itertools.islice(turns, len(steady) - 1))


def test_deficit_round_robin_shares_in_bytes_by_quantum() -> None:
    vls, sizes, quanta = (0, 3, 6), (1500, 64, 700), (3000, 1500, 2000)
    largest, picoseconds = max(sizes), 400_000
    weights = [1] * 8
    for vl, quantum in zip(vls, quanta, strict=True):
        weights[vl] = quantum
    net, hosts, sink = fan_in(len(vls), scheduler="deficit", quanta=weights)
    for host, vl, size in zip(hosts, vls, sizes, strict=True):
        for _ in range(picoseconds // size):
            net.send(host, frame(2, size, vl), vl)
    net.run(picoseconds)
    sent: Counter[int] = Counter()
    start = next(i for i, (at, _) in enumerate(sink.seen) if at > 5 * largest)  # all of them wait by then
    for _, data in sink.seen[start:]:
        sent[vl_of(data)] += len(data)
        rounds = [sent[vl] / quantum for vl, quantum in zip(vls, quanta, strict=True)]
        # Shreedhar and Varghese: no two differ by more than a round and what a frame may add to either end.
        assert max(rounds) - min(rounds) <= 1 + 2 * largest / min(quanta)
    assert sum(sent.values()) > 0.9 * picoseconds


def test_a_vl_without_credits_does_not_keep_another_from_its_turn() -> None:
    """VL 0 leads to a slow output behind the shared link and runs out of credits there; VL 1 has the rest."""
    size, frames = 100, 60
    for scheduler in ("strict", "round-robin", "deficit"):
        net, slow, fast = switches(2), Sink(), Sink()
        net.connect(0, 2, 1, 1, RATE, 0, 2 * size, scheduler=scheduler)
        hosts = [net.attach_host(0, 8 + i, RATE, 0, 2 * size) for i in range(2)]
        steer(net, 0, {10: (2, 4), 11: (2, 5)})
        net.set_handler(net.attach_host(1, 4, RATE // 10, 0, 2 * size), slow)
        net.set_handler(net.attach_host(1, 5, RATE, 0, 2 * size), fast)
        for vl, host in enumerate(hosts):
            for _ in range(frames):
                net.send(host, frame(10 + vl, size, vl), vl)
        assert net.run() == 0
        gaps = {b - a for a, b in itertools.pairwise(slow.times)}
        assert gaps == {10 * size}, scheduler  # never short of frames
        # One frame in ten is the slow one's; all others are the fast one's, without a pause.
        assert fast.times[-1] <= (frames + frames // 9 + 4) * size, scheduler


# Credits


@pytest.mark.parametrize("credits", [1, 2, 3, 10, 30])
@pytest.mark.parametrize("delay", [0, 50, 1000])
@pytest.mark.parametrize("slower", [1, 4])
def test_credits_bound_the_rate_to_a_buffer_a_round_trip(credits: int, delay: int, slower: int) -> None:
    """Serialise, fly, serialise onwards, which frees the buffer; and the credit flies back."""
    size, spare, frames = 100, 99, 400
    net, sink = switches(2), Sink()
    source = net.attach_host(0, 1, RATE, 0, 0)
    net.connect(0, 2, 1, 1, RATE, delay, credits * size + spare)
    net.set_handler(net.attach_host(1, 2, RATE // slower, 0, 0), sink)
    for _ in range(frames):
        net.send(source, frame(2, size), 0)
    net.run()
    trip = size + delay + slower * size + delay
    assert len(sink.times) == frames
    assert {b - a for a, b in zip(sink.times[50:], sink.times[50 + credits :], strict=False)} == {
        max(trip, credits * slower * size)
    }


@pytest.mark.parametrize("credits", [1, 2, 5])
def test_a_host_frees_its_buffer_when_the_frame_is_there(credits: int) -> None:
    size, delay, frames = 100, 400, 60
    net, sink = switches(1), Sink()
    source = net.attach_host(0, 1, RATE, 0, 0)
    net.set_handler(net.attach_host(0, 2, RATE, delay, credits * size), sink)
    for _ in range(frames):
        net.send(source, frame(2, size), 0)
    net.run()
    assert {b - a for a, b in itertools.pairwise(sink.times[::credits])} == {
        max(size + 2 * delay, credits * size)
    }


def test_credits_of_one_vl_are_not_anothers() -> None:
    size, delay, frames = 100, 1000, 100
    net, sink = switches(2), Sink()
    sources = [net.attach_host(0, 8 + vl, RATE, 0, 0) for vl in range(2)]
    net.connect(0, 2, 1, 1, RATE, delay, size)
    net.set_handler(net.attach_host(1, 2, RATE, 0, 0), sink)
    for _ in range(frames):
        for vl, source in enumerate(sources):
            net.send(source, frame(2, size, vl), vl)
    net.run()
    for vl in range(2):
        times = [at for at, data in sink.seen if vl_of(data) == vl]
        # One frame a round trip, and a credit may have to wait for the end of the other's frame.
        assert {b - a for a, b in itertools.pairwise(times[5:])} <= set(
            range(2 * (size + delay), 2 * (size + delay) + 2 * size)
        )


# Tail drop


@pytest.mark.parametrize("frames", [1, 5, 40, 200])
@pytest.mark.parametrize("room", [1, 2, 7])
@pytest.mark.parametrize("service", [400, 600, 1000, 3000])
def test_a_burst_into_a_full_queue_loses_what_neither_fits_nor_is_sent(
    frames: int, room: int, service: int
) -> None:
    size = 300
    net, sink = switches(2), Sink()
    host = net.attach_host(0, 8, RATE, 0, 0)
    net.connect(0, 2, 1, 1, size * 8 * 10**12 // service, 0, 0, room * size + size - 1)
    net.set_handler(net.attach_host(1, 2, RATE, 0, 0), sink)
    for _ in range(frames):
        net.send(host, frame(2, size), 0)
    net.run()
    taken = min(frames, room + 1 + (frames - 1) * size // service)
    seen = net.link_stats(0, 0)
    assert (len(sink.seen), seen["refused_full"]) == (taken, frames - taken)
    if taken < frames:
        assert seen["max_queued_bytes"] == room * size


@pytest.mark.parametrize("inputs", [1, 4, 9])
def test_of_a_burst_at_one_moment_the_queue_and_the_wire_take_their_fill(inputs: int) -> None:
    size, room = 300, 3
    net, hosts, sink = fan_in(inputs, queue_bytes=room * size)
    for host in hosts:
        net.send(host, frame(2, size), 0)
    net.run()
    assert len(sink.seen) == min(inputs, room + 1)


# Waiting


class Poisson:
    """Frames of one size at exponential intervals, straight into a switch; they carry their arrival."""

    def __init__(self, seed: int, shares: dict[int, float], size: int) -> None:
        self.random, self.size = np.random.default_rng(seed), size
        self.net, self.sink = switches(1), Sink()
        self.net.set_handler(self.net.attach_host(0, 2, RATE, 0, 0, queue_bytes=1 << 40), self.sink)
        self.vls, self.loads = list(shares), list(shares.values())

    def waits(self, frames: int) -> list[tuple[int, int, int]]:
        """VL, arrival and picoseconds in the queue of each frame, in order of service."""
        gaps = self.random.exponential(self.size / sum(self.loads), frames)
        arrivals = np.ceil(np.cumsum(gaps)).astype(int).tolist()
        vls = self.random.choice(self.vls, frames, p=np.array(self.loads) / sum(self.loads)).tolist()
        for at, vl in zip(arrivals, vls, strict=True):
            self.net.run(at)
            if self.net.now < at:
                self.net.alarm(at, 0)
                self.net.run()
                self.net.take_control()
            body = at.to_bytes(8, "big")
            self.net.packet_out(0, frame(2, 1, vl) + body + bytes(self.size - 9))
        self.net.run()
        return [
            (vl_of(data), begun := int.from_bytes(data[1:9], "big"), end - self.size - begun)
            for end, data in self.sink.seen
        ]


def interval(values: list[float], confidence: float = 0.99) -> tuple[float, float]:
    """Return the confidence interval of the mean, by batches longer than the queue's memory."""
    batches = [np.mean(batch) for batch in np.array_split(np.array(values), 30)]
    from scipy import stats  # takes half a second, of each worker if at the top

    return stats.t.interval(confidence, len(batches) - 1, np.mean(batches), stats.sem(batches))


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_random_arrivals_wait_as_lindley_and_pollaczek_and_khinchine_say(load: float) -> None:
    size = 1000
    seen = Poisson(seed=1, shares={0: load}, size=size).waits(30_000)
    # Lindley: each waits for what the one before it left, exactly.
    wait = 0
    for (_, before, _), (_, arrival, measured) in itertools.pairwise(seen):
        wait = max(0, wait + size - (arrival - before))
        assert measured == wait
    # M/D/1: mean wait = load x service / 2 (1 - load).
    low, high = interval([wait for _, _, wait in seen[500:]])
    assert low <= load * size / (2 * (1 - load)) <= high
    assert high - low < 0.2 * (low + high)


def test_random_arrivals_of_two_vls_wait_as_cobham_says() -> None:
    size, shares = 1000, {0: 0.4, 5: 0.4}
    seen = Poisson(seed=2, shares=shares, size=size).waits(60_000)
    left = sum(shares.values()) * size / 2  # mean rest of the frame on the wire
    expected = {5: left / (1 - shares[5]), 0: left / ((1 - shares[5]) * (1 - sum(shares.values())))}
    for vl, mean in expected.items():
        low, high = interval([wait for seen_vl, _, wait in seen[500:] if seen_vl == vl])
        assert low <= mean <= high


# Conservation


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("credit", [0, 600])
def test_what_enters_leaves_or_is_counted_as_lost(seed: int, credit: int) -> None:
    """Random links in a row, random frames; a link is busy for as long as its frames take."""
    chance = random.Random(seed)
    count, net, sinks = 5, switches(5), [Sink() for _ in range(5)]
    rates = [RATE // chance.choice((1, 2, 3, 7)) for _ in range(count - 1)]
    links = [
        net.connect(
            i,
            2,
            i + 1,
            1,
            rates[i],
            chance.randrange(500),
            credit,
            2000,
            scheduler=chance.choice(("strict", "round-robin", "deficit")),
        )
        for i in range(count - 1)
    ]
    hosts = [net.attach_host(i, 3, RATE, chance.randrange(50), credit) for i in range(count)]
    sent: Counter[int] = Counter()
    for i in range(count):
        net.set_handler(hosts[i], sinks[i])
        # Port 10 + h leads h switches on.
        steer(net, i, {10: (3, 0), **{10 + h: (2, 9 + h) for h in range(1, count)}})
    for _ in range(2000):
        i, vl = chance.randrange(count), chance.randrange(8)
        neighbour = chance.randrange(count - i)
        net.send(hosts[i], frame(10 + neighbour, chance.randrange(20, 500), vl), vl)
        sent[i] += 1
    assert net.run() == 0
    refused = 0
    for i, link in enumerate(links):
        seen = net.link_stats(link, 0)
        refused += seen["refused_full"]
        assert seen["frames"] == sum(seen["frames_by_vl"])
        assert 0 <= seen["busy_ps"] - seen["bytes"] * 8 * 10**12 / rates[i] <= seen["frames"]
        assert seen["busy_ps"] <= net.now
    assert sum(len(sink.seen) for sink in sinks) + refused == sum(sent.values())
    assert (refused == 0) == (credit > 0)
    assert net.frames_without_link == 0
