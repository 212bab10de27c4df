# SPDX-License-Identifier: Apache-2.0
"""Copies, queues that the program reads, and frames that do not leave."""

import struct
from typing import final

import pytest

from emulation._engine import Network, Program
from tests.emulation.engine.wires import PROGRAMS, RATE, Sink, handle, switches

COPIES, DIGEST, CLONE, DROP, REPORT, CLONE_ALL, RECIRCULATE, TO_CPU = (1 << bit for bit in range(7, -1, -1))
MICROSECOND = 10**6  # picoseconds
SEEN_BYTES = 12
SLOW = 8 * 10**6
"""One byte a microsecond, the unit of v1model's queue timestamps."""


def frame(port: int, wishes: int, length: int, vl: int = 0) -> bytes:
    return bytes([port << 3 | vl, wishes]) + bytes(length - 2)


@final
class Star:
    """One switch with a source on port 1 and sinks on ports 2, 3 and 4."""

    def __init__(
        self,
        program: str,
        *,
        credit: int = 0,
        delay: int = 0,
        rates: tuple[int, int, int, int] = (RATE, RATE, RATE, RATE),
        queue: int = 1 << 20,
    ) -> None:
        path = PROGRAMS / f"{program}.json"
        self.program = Program(path.read_bytes())
        self.net: Network = switches(1, path)
        self.source = self.net.attach_host(0, 1, rates[0], delay, credit, queue)
        self.sinks = [Sink() for _ in range(3)]
        for port, (rate, sink) in enumerate(zip(rates[1:], self.sinks, strict=True), start=2):
            self.net.set_handler(self.net.attach_host(0, port, rate, 0, 0, queue), sink)

    def send(self, *frames: bytes) -> None:
        for item in frames:
            self.net.send(self.source, item, item[0] & 7)

    def items(self) -> list[tuple[str, int, int, int, bool, bytes]]:
        """Runs to the end, through everything that the control plane is told."""
        told = []
        while self.net.run() == 2:
            while item := self.net.take_control():
                told.append(item)
        return told

    @property
    def arrivals(self) -> list[list[int]]:
        return [sink.times for sink in self.sinks]


PROGRAM_NAMES = pytest.mark.parametrize("program", ["departures", "queue"])


@PROGRAM_NAMES
def test_a_buffer_is_held_until_the_last_copy_has_left(program: str) -> None:
    """Two copies of 100 bytes, the first of them over a link ten times slower; room for one frame."""
    star = Star(program, credit=100, delay=7, rates=(RATE, RATE // 10, RATE, RATE))
    star.net.multicast_set(0, 1, [(2, 0), (3, 1)])
    star.send(frame(0, COPIES, 100), frame(0, COPIES, 100))
    assert star.items() == []
    first = 100 + 7
    second = first + 1000 + 7 + 100 + 7  # the slow copy, the credit's way back, the next frame
    assert star.arrivals == [[first + 1000, second + 1000], [first + 100, second + 100], []]


@PROGRAM_NAMES
def test_a_copy_that_starts_later_may_still_end_earlier(program: str) -> None:
    """The copy for port 3 waits for another frame there, and yet has left long before the slow one."""
    star = Star(program, credit=200, delay=0, rates=(RATE, RATE // 100, RATE, RATE))
    star.net.multicast_set(0, 1, [(2, 0), (3, 0)])
    star.send(frame(3, 0, 100), frame(0, COPIES, 200), frame(4, 0, 200))
    star.items()
    copied = 200 + 200  # when the first frame's credit is back, the second takes 200
    assert star.arrivals[1] == [200, copied + 200]
    assert star.arrivals[0] == [copied + 20_000]
    assert star.arrivals[2] == [copied + 20_000 + 200 + 200]


@PROGRAM_NAMES
def test_copies_that_go_nowhere_free_the_buffer_at_once(program: str) -> None:
    star = Star(program, credit=100)
    star.net.multicast_set(0, 1, [(20, 0), (21, 0)])
    star.send(*[frame(0, COPIES, 100)] * 3, frame(2, 0, 100))
    star.items()
    assert star.net.frames_without_link == 6
    assert star.arrivals[0] == [500]  # four frames without a pause, and the last one's second hop


@PROGRAM_NAMES
def test_a_group_without_members_and_an_egress_drop_free_it_too(program: str) -> None:
    star = Star(program, credit=100)
    star.send(frame(0, COPIES, 100), frame(2, DROP, 100), frame(2, 0, 100))
    star.items()
    assert star.arrivals[0] == [400]


@PROGRAM_NAMES
def test_a_copy_for_the_control_plane_frees_its_part_at_once(program: str) -> None:
    star = Star(program, credit=100)
    star.net.multicast_set(0, 1, [(510, 0), (2, 0)])
    star.send(frame(0, COPIES, 100), frame(2, TO_CPU, 100), frame(2, 0, 100))
    told = star.items()
    assert [(kind, at, len(data)) for kind, at, _, _, _, data in told] == [
        ("packet_in", 100, 100),
        ("packet_in", 300, 100),
    ]
    assert star.arrivals[0] == [200, 500]


@PROGRAM_NAMES
def test_a_clone_of_egress_takes_its_own_port_and_shares_the_buffer(program: str) -> None:
    star = Star(program, credit=100, rates=(RATE, RATE, RATE // 10, RATE))
    star.net.clone_set(0, 1, [(3, 0)], 0)
    star.send(frame(2, CLONE, 100), frame(2, 0, 100))
    star.items()
    assert star.arrivals[:2] == [[200, 1300], [1100]]
    star.net.clone_set(0, 1, [(3, 0)], 40)
    now = star.net.now
    star.send(frame(2, CLONE | DROP, 100), frame(2, 0, 100))
    star.items()
    assert [at - now for at in star.arrivals[0][2:]] == [100 + 400 + 100 + 100]
    assert len(star.sinks[1].seen[1][1]) == 40


@PROGRAM_NAMES
def test_a_recirculated_frame_leaves_once(program: str) -> None:
    star = Star(program, credit=100)
    star.send(frame(2, RECIRCULATE | REPORT, 88), frame(2, 0, 100))
    star.items()
    assert [(at, len(data)) for at, data in star.sinks[0].seen] == [(188, 100), (388, 100)]


@PROGRAM_NAMES
def test_digests_are_told_with_their_time(program: str) -> None:
    star = Star(program)
    star.send(frame(2, DIGEST, 100), frame(3, DIGEST, 50))
    number = handle(star.program.digests, "told_t")
    assert star.items() == [
        ("digest", 100, 0, number, False, bytes([2, DIGEST])),
        ("digest", 150, 0, number, False, bytes([3, DIGEST])),
    ]


def seen(data: bytes) -> tuple[int, int, int, int]:
    """Enqueued at, waited, both in microseconds, frames before it, frames behind it."""
    at, waited, before, behind = struct.unpack(">IIHH", data[2 : 2 + SEEN_BYTES])
    return at, waited, before, behind


def test_egress_sees_when_a_frame_was_queued_and_how_deep_its_queue_was() -> None:
    """A burst over a link of one byte a microsecond; the report makes frames of 38 bytes 50 long."""
    star = Star("queue", rates=(RATE, SLOW, RATE, RATE))
    star.send(*[frame(2, REPORT, 38)] * 5)
    star.items()
    assert [at // MICROSECOND for at in star.arrivals[0]] == [50, 100, 150, 200, 250]
    # The first frame leaves at once, before the second is there.
    assert [seen(data) for _, data in star.sinks[0].seen] == [
        (0, 0, 0, 0),
        (0, 50, 0, 3),
        (0, 100, 1, 2),
        (0, 150, 2, 1),
        (0, 200, 3, 0),
    ]


def test_depths_are_of_the_vl() -> None:
    star = Star("queue", rates=(RATE, SLOW, RATE, RATE))
    star.send(*[frame(2, REPORT, 38, vl=1)] * 3, *[frame(2, REPORT, 38, vl=6)] * 2)
    star.items()
    order = [(data[0] & 7, *seen(data)[1:]) for _, data in star.sinks[0].seen]
    assert order == [(1, 0, 0, 0), (6, 50, 0, 1), (6, 100, 1, 0), (1, 150, 0, 1), (1, 200, 1, 0)]


def test_a_frame_that_egress_drops_takes_no_time_of_the_link() -> None:
    star = Star("queue", rates=(RATE, SLOW, RATE, RATE))
    star.send(frame(2, 0, 50), *[frame(2, DROP, 50)] * 4, frame(2, REPORT, 38))
    star.items()
    assert [at // MICROSECOND for at in star.arrivals[0]] == [50, 100]
    assert seen(star.sinks[0].seen[1][1])[1:] == (50, 4, 0)


def test_a_queue_is_full_by_the_lengths_before_egress() -> None:
    star = Star("queue", rates=(RATE, SLOW, RATE, RATE), queue=3 * 38)
    star.send(*[frame(2, REPORT, 38)] * 3)
    star.net.run(1000)
    star.send(*[frame(2, REPORT, 38)] * 3)
    star.items()
    assert len(star.arrivals[0]) == 4


def behind_a_link(credit: int, delay: int) -> tuple[Network, int, Sink]:
    """A source, a link with credits between two switches, a sink."""
    net, sink = switches(2, PROGRAMS / "queue.json"), Sink()
    source = net.attach_host(0, 1, RATE, 0, 0)
    net.connect(0, 2, 1, 1, RATE, delay, credit)
    net.set_handler(net.attach_host(1, 2, RATE, 0, 0), sink)
    return net, source, sink


@pytest.mark.parametrize("credit", [110, 115, 123])
def test_credits_are_spent_on_the_length_after_egress(credit: int) -> None:
    """One frame a round trip: 50 bytes long as it comes, 62 on the link, 74 behind it."""
    delay = 1000
    net, source, sink = behind_a_link(credit, delay)
    for _ in range(4):
        net.send(source, frame(2, REPORT, 50), 0)
    assert net.run() == 0
    trip = 62 + delay + 74 + delay
    assert sink.times == [50 + 62 + delay + 74 + i * trip for i in range(4)]


def test_a_frame_that_egress_makes_too_long_for_the_far_buffer_is_an_error() -> None:
    net, source, _ = behind_a_link(60, 0)
    net.send(source, frame(2, REPORT, 50), 0)
    with pytest.raises(RuntimeError, match="link s0-s1: a frame of 62 bytes never fits"):
        net.run()


@PROGRAM_NAMES
@pytest.mark.parametrize("replicas", [[(2, 0)], [(2, 0), (3, 1)]], ids=["one", "two"])
def test_a_program_that_clones_every_clone_is_an_error(program: str, replicas: list[tuple[int, int]]) -> None:
    star = Star(program)
    star.net.clone_set(0, 1, replicas, 0)
    star.send(frame(2, CLONE_ALL | DROP, 100))
    with pytest.raises(RuntimeError, match=r"switch s0: .* 1000 times"):
        star.net.run()


def test_copies_that_wait_in_queues_share_the_passes_of_their_frame() -> None:
    """Four copies, each cloned without end, and so is every clone: 250 clones of each at most."""
    star = Star("queue")
    star.net.multicast_set(0, 1, [(2, rid) for rid in range(4)])
    star.net.clone_set(0, 1, [(3, 0)], 0)
    star.send(frame(0, COPIES | CLONE_ALL, 100))
    with pytest.raises(RuntimeError, match=r"switch s0: .* 1000 times"):
        star.net.run()
    assert 250 < len(star.arrivals[0]) + len(star.arrivals[1]) <= 1004


def test_frames_in_the_queues_of_a_program_that_is_gone_are_dropped_and_free_their_buffers() -> None:
    star = Star("queue", credit=200, rates=(RATE, SLOW, RATE, RATE))
    star.send(*[frame(2, 0, 100)] * 4)
    star.net.run(MICROSECOND)
    star.net.set_program(0, Program((PROGRAMS / "wire.json").read_bytes()))
    star.items()
    # One was on the wire and one waited; for the other two there was room then.
    assert len(star.arrivals[0]) == 3


def test_a_cut_loses_frames_that_wait_for_egress() -> None:
    net, source, sink = behind_a_link(200, 0)
    for _ in range(5):
        net.send(source, frame(2, REPORT, 50), 0)
    net.run(51)
    net.set_link(0, False)
    while net.run() == 2:
        net.take_control()
    lost = net.link_stats(0, 0)
    assert len(sink.seen) == 0
    assert lost["lost"] + lost["refused_down"] == 5


# Ageing


@final
class Aged:
    """A switch with one entry of a time-out, and frames that hit it."""

    TTL = 1000

    def __init__(self) -> None:
        self.star = Star("departures")
        self.table = handle(self.star.program.tables, "known")
        self.key = [(bytes([2]), b"", 0)]
        action = handle(self.star.program.actions, "NoAction")
        assert self.star.net.table_insert(0, self.table, self.key, 0, action, []) == 0
        assert self.star.net.table_set_ttl(0, self.table, self.key, 0, self.TTL) == 0

    def idle(self, until: int) -> list[int]:
        """Times at which entries were reported."""
        times = []
        while self.star.net.run(until) == 2:
            kind, at, switch, table, _, _ = self.star.net.take_control() or pytest.fail("no item")
            assert (kind, switch, table) == ("idle", 0, self.table)
            assert len(self.star.net.table_aged(0, table)) == 1
            times.append(at)
        return times


def test_an_entry_is_reported_when_its_time_is_over_and_once() -> None:
    aged = Aged()
    assert aged.idle(10_000) == [Aged.TTL]
    assert aged.idle(20_000) == []


def test_a_hit_puts_the_report_off() -> None:
    aged = Aged()
    aged.star.send(*[frame(2, 0, 400)] * 4)
    assert aged.idle(10_000) == [4 * 400 + Aged.TTL]
    aged.star.send(frame(2, 0, 400))
    sent = aged.star.net.now
    assert aged.idle(20_000) == [sent + 400 + Aged.TTL]


def test_ageing_alone_makes_no_time_pass_without_a_bound() -> None:
    aged = Aged()
    aged.star.send(frame(2, 0, 100))
    net = aged.star.net
    assert (net.run(), net.now) == (0, 200)
    assert aged.idle(1099) == []
    assert aged.idle(1100) == [1100]


def test_a_report_that_nobody_looks_at_does_not_stop_the_run() -> None:
    aged = Aged()
    net = aged.star.net
    assert net.run(5000) == 2
    assert net.take_control() is not None
    assert net.run(5000) == 0
    aged.star.send(frame(2, 0, 400))
    assert aged.idle(10_000) == [Aged.TTL + 400 + Aged.TTL]
