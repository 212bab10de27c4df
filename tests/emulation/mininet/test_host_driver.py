# SPDX-License-Identifier: Apache-2.0
"""The driver of hosts in real time: slots of frames, begin and replacement of hosts, times of timers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
import pytest

from emulation._engine import HostDriver
from emulation.linux import netns
from emulation.mininet.agents.driver import Clock, missed_frames, open_socket, pace_of
from emulation.traffic.frames.values import VL_RESPONSE
from tests.emulation.mininet.benches import Bench, no_rights

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

RATE_BPS = 8e6
"""One byte a microsecond."""
DILATION = 1000
SIZE = 1000
DATA_VL = 0
RING_BYTES = 1 << 18

Output = tuple[list[tuple[bytes, int]], int | None]


def frame(number: int, vl: int = DATA_VL) -> bytes:
    """A UB frame whose first two bytes behind the Ethernet header tell the VL."""
    return bytes(12) + b"\x88\xb5" + bytes([0, vl << 5]) + number.to_bytes(4, "big") + bytes(SIZE - 20)


def numbers(frames: Sequence[bytes]) -> list[int]:
    return [int.from_bytes(content[16:20], "big") for content in frames]


@dataclass
class Source:
    """A host that sends all frames at its start and has ended once `wanted` frames have arrived."""

    frames: list[tuple[bytes, int]] = field(default_factory=list)
    wanted: int = 0
    deadline: int | None = None
    failed: None = None
    done: bool = True
    arrived: list[bytes] = field(default_factory=list)
    timers: list[int] = field(default_factory=list)
    finished_ps: int | None = None

    def start(self, now: int) -> Output:
        self.finished_ps = None if self.wanted else now
        return self.frames, self.deadline

    def on_frame(self, content: bytes, now: int) -> Output:
        self.arrived.append(content)
        if len(self.arrived) == self.wanted:
            self.finished_ps = now
        return [], self.deadline

    def on_timer(self, now: int) -> Output:
        self.timers.append(now)
        self.deadline = None
        return [], None


@final
class Pair:
    """Two joined interfaces with a driven host at the first, and a second or a test's socket at the other."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.use_rate(RATE_BPS)
        self.sockets: list[Any] = []
        self.arrived = np.zeros(2, np.int64)
        bench.connect(0, 1)

    def use_rate(self, rate_bps: float) -> None:
        self.driver = HostDriver(rate_bps, DILATION, 10**6)

    def add(self, host: Source, ring_bytes: int = RING_BYTES) -> int:
        number = len(self.sockets)
        self.sockets.append(netns.inside(self.bench.devices, lambda: open_socket(f"d{number}")))
        return self.driver.add(host, self.sockets[-1].fileno(), self.arrived[number : number + 1], ring_bytes)

    def until_ended(self, count: int) -> list[int]:
        """Run until so many hosts have ended."""
        ended: list[int] = []
        while len(ended) < count:
            ended += self.driver.run()[1]
        return ended


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with Bench(2, tmp_path) as bench:
        yield Pair(bench)


def test_frames_leave_in_their_slots_and_responses_first(pair: Pair) -> None:
    sent = [(frame(i), DATA_VL) for i in range(40)] + [(frame(100, VL_RESPONSE), VL_RESPONSE)]
    pair.add(Source(sent))
    sink = Source(wanted=len(sent))
    pair.add(sink)
    began = time.monotonic_ns()
    pair.driver.go(began)
    assert sorted(pair.until_ended(2)) == [0, 1]
    # A frame may be late, but never early.
    assert time.monotonic_ns() - began >= (len(sent) - 1) * SIZE * 1000
    assert numbers(sink.arrived) == [100, *range(40)]
    assert pair.arrived.tolist() == [0, 40 * SIZE]
    assert sum(pair.driver.bins(1).values()) == 40 * SIZE
    pair.driver.stop()
    pace = pace_of(pair.driver, 0, missed_frames(pair.sockets[0]))
    assert pace.sent_bytes == len(sent) * SIZE <= pace.offered_bytes
    assert len(pace.late_us) == len(pace.waited_us) == len(sent)
    assert min(pace.late_us) >= 0
    assert pace.missed == pace.refused == 0
    # Frame k of the queue waits for k slots before it.
    assert all(waited >= place * SIZE for place, waited in enumerate(pace.waited_us))


def test_a_frame_needs_two_waits_at_most(pair: Pair) -> None:
    """The driver waits for the frame's slot, and for its arrival."""
    pair.add(Source([(frame(i), DATA_VL) for i in range(100)]))
    sink = Source(wanted=100)
    pair.add(sink)
    pair.driver.go(time.monotonic_ns())
    pair.until_ended(2)
    counts = pair.driver.counts()
    assert counts["received"] == 100
    assert counts["receives"] <= 100
    assert counts["waits"] <= 2 * 100 + 10


@dataclass
class Echo(Source):
    """A host that sends back every frame that arrives."""

    def on_frame(self, content: bytes, now: int) -> Output:
        super().on_frame(content, now)
        return [(content, DATA_VL)], None


def test_a_driver_that_rests_serves_frames_in_groups(pair: Pair) -> None:
    pair.driver.rest(0.5)
    pair.add(Source([(frame(i), DATA_VL) for i in range(100)], wanted=100))
    pair.add(Echo(wanted=100))
    began = time.monotonic_ns()
    pair.driver.go(began)
    pair.until_ended(2)
    assert time.monotonic_ns() - began >= 99 * SIZE * 1000
    assert pair.arrived.tolist() == [100 * SIZE] * 2
    assert pair.driver.counts()["waits"] < 100
    pair.driver.stop()
    paces = [pace_of(pair.driver, index, 0) for index in (0, 1)]
    # Frames that the echo sends back have waited for the end of a rest, which counts as lateness.
    assert all(max(pace.late_us) > SIZE for pace in paces)


def test_a_run_of_known_length_rests_from_its_beginning(pair: Pair) -> None:
    pair.driver.rest(1e-3, 10**11)
    pair.add(Source([(frame(i), DATA_VL) for i in range(100)]))
    pair.add(sink := Source(wanted=100))
    pair.driver.go(time.monotonic_ns())
    pair.until_ended(2)
    assert numbers(sink.arrived) == [*range(100)]
    # The longest frame takes 9.5 ms: the driver looks every 8.4 ms, where a thousandth of the time since the
    # beginning would let it look for every frame.
    counts = pair.driver.counts()
    assert counts["receives"] < 50


def test_frames_beyond_a_ring_are_counted_as_missed(pair: Pair) -> None:
    pair.add(Source(), ring_bytes=0)
    pair.driver.go(time.monotonic_ns())
    for first in range(0, 400, 100):
        pair.bench.send(1, *(frame(i) for i in range(first, first + 100)))
    pair.bench.flush()
    missed = missed_frames(pair.sockets[0])
    assert 0 < missed <= 400 - 64
    sink = Source(wanted=400 - missed)
    pair.driver.replace(0, sink, time.monotonic_ns())
    assert pair.until_ended(1) == [0]
    assert numbers(sink.arrived) == [*range(400 - missed)]


def test_frames_wait_for_a_host_that_has_not_begun(pair: Pair) -> None:
    pair.add(first := Source(wanted=1))
    pair.driver.go(time.monotonic_ns())
    pair.bench.send(1, frame(1))
    assert pair.until_ended(1) == [0]
    begins = time.monotonic_ns() + 50_000_000
    second = Source(wanted=2)
    pair.driver.replace(0, second, begins)
    pair.bench.send(1, frame(2), frame(3))
    assert pair.until_ended(1) == [0]
    assert time.monotonic_ns() >= begins
    assert numbers(first.arrived) == [1]
    assert numbers(second.arrived) == [2, 3]


def test_frames_of_a_replaced_host_do_not_leave(pair: Pair) -> None:
    pair.use_rate(RATE_BPS / 100)  # at which the frames would take 200 s
    pair.add(Source([(frame(i), DATA_VL) for i in range(2000)]))
    sink = Source(wanted=2)
    pair.add(sink)
    pair.driver.go(time.monotonic_ns())
    assert pair.until_ended(1) == [0]  # which is at its start, with frames that wait
    pair.driver.replace(0, Source([(frame(5000), DATA_VL)]), time.monotonic_ns())
    assert sorted(pair.until_ended(2)) == [0, 1]
    assert numbers(sink.arrived) == [0, 5000]


def test_a_timer_comes_at_its_time_in_dilated_time(pair: Pair) -> None:
    host = Source(wanted=1, deadline=20_000_000)
    pair.add(host)
    read, write = os.pipe()
    pair.driver.watch(read)
    began = time.monotonic_ns()
    pair.driver.go(began)
    os.write(write, b"x")
    while not host.timers:
        readable, ended, noted = pair.driver.run()
        assert (readable, ended, noted) == ([read], [], [])
    assert host.timers[0] >= 20_000_000
    assert Clock(began, DILATION).ps(time.monotonic_ns()) >= host.timers[0]
    os.close(read)
    os.close(write)


def test_errors_of_a_host_reach_the_caller(pair: Pair) -> None:
    class Broken(Source):
        def start(self, now: int) -> Output:
            raise RuntimeError("broken")

    pair.add(Source(wanted=1))
    pair.add(Broken())
    pair.driver.go(time.monotonic_ns())
    with pytest.raises(RuntimeError, match="broken"):
        pair.driver.run()
    assert pair.driver.at == 1


def test_a_socket_without_an_interface_is_refused() -> None:
    read, write = os.pipe()
    with pytest.raises(OSError, match="address of a raw socket"):
        HostDriver(RATE_BPS, DILATION, 10**6).add(Source(), read, np.zeros(1, np.int64), RING_BYTES)
    os.close(read)
    os.close(write)
