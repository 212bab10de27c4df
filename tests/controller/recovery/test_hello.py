# SPDX-License-Identifier: Apache-2.0
import heapq
import itertools
import random
from collections.abc import Callable

import pytest

from controller import PlanError
from controller.recovery.hello import Hello, HelloAnswer, HelloSessions
from topologies import Fabric, full_mesh

PERIOD = 1000
DELAY = 5


class Line:
    """Hello sessions of every node of a fabric, their hellos carried over its links in simulated time."""

    def __init__(self, fabric: Fabric, multiplier: int = 3) -> None:
        self.fabric = fabric
        self.now = 0
        self.carries: Callable[[str, str], bool] = lambda node, neighbour: True  # may lose frames
        self.changes: list[tuple[int, str, int, bool]] = []
        self.sent = 0
        self.sessions = {
            node.name: HelloSessions(
                fabric, node.name, period_ps=PERIOD, multiplier=multiplier, start_ps=31 * node.index
            )
            for node in fabric.nodes
        }
        self._count = itertools.count()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        for name in self.sessions:
            self._wake_later(name)

    def run(self, until: int) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.now = until

    def heed(self, node: str, answer: HelloAnswer) -> None:
        self.changes += [(self.now, node, port, up) for port, up in answer.changes]
        for port, hello in answer.hellos:
            self.sent += 1
            remote = self.fabric.peer(node, port)
            assert remote is not None
            if self.carries(node, remote.node):
                self._at(
                    self.now + DELAY,
                    lambda neighbour=remote, hello=hello: self._arrives(
                        neighbour.node, neighbour.port, hello
                    ),
                )

    def _arrives(self, node: str, port: int, hello: Hello) -> None:
        self.heed(node, self.sessions[node].on_hello(port, hello, self.now))

    def _wake_later(self, node: str) -> None:
        def wake() -> None:
            self.heed(node, self.sessions[node].on_timer(self.now))
            self._wake_later(node)

        self._at(self.sessions[node].deadline_ps, wake)

    def _at(self, time: int, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._count), event))

    def usable(self) -> bool:
        return all(
            self.sessions[end.node].usable(end.port) for link in self.fabric.links for end in (link.a, link.b)
        )


@pytest.fixture
def pair() -> Line:
    return Line(full_mesh([2]))


def one_way(pair: Line, *lost: tuple[str, str]) -> None:
    pair.carries = lambda node, neighbour: (node, neighbour) not in lost


def test_nothing_is_said_of_links_that_are_well() -> None:
    line = Line(full_mesh([3, 3]))
    line.run(50 * PERIOD - 1)
    assert line.changes == []
    assert line.usable()
    ports = sum(len(node.ports) - 1 for node in line.fabric.nodes)
    assert line.sent == 50 * ports


def test_one_way_that_fails_takes_the_link_from_both_ends(pair: Line) -> None:
    pair.run(10 * PERIOD)
    one_way(pair, ("npu0", "npu1"))
    pair.run(20 * PERIOD)
    (first, *_), (then, *_) = pair.changes[0], next(c for c in pair.changes if c[1] == "npu0")
    assert [change[1:] for change in pair.changes[:2]] == [("npu1", 1, False), ("npu0", 1, False)]
    # The last that npu1 heard left after ten periods. npu0 learns of it from npu1's next hello.
    assert first == 10 * PERIOD + DELAY + 3 * PERIOD + PERIOD // 2
    assert first < then <= first + PERIOD + DELAY


def test_a_silence_of_both_ways_is_noticed_at_both_ends_at_once(pair: Line) -> None:
    pair.run(10 * PERIOD)
    one_way(pair, ("npu0", "npu1"), ("npu1", "npu0"))
    pair.run(14 * PERIOD)
    assert {change[1] for change in pair.changes} == {"npu0", "npu1"}
    assert all(12 * PERIOD <= time <= 13.5 * PERIOD + DELAY for time, *_ in pair.changes)


def test_a_link_is_back_after_hellos_in_a_row(pair: Line) -> None:
    one_way(pair, ("npu0", "npu1"))
    pair.run(20 * PERIOD)
    assert not pair.usable()
    pair.changes.clear()
    one_way(pair)
    pair.run(22 * PERIOD)
    assert not pair.sessions["npu0"].usable(1)  # two hellos are not three
    pair.run(24 * PERIOD)
    assert [change[1:] for change in pair.changes] == [("npu1", 1, True), ("npu0", 1, True)]
    pair.run(40 * PERIOD)
    assert len(pair.changes) == 2


def test_two_hellos_lost_in_a_row_are_no_matter(pair: Line) -> None:
    count = itertools.count()
    pair.carries = lambda node, neighbour: node != "npu0" or next(count) % 3 == 0
    pair.run(60 * PERIOD)
    assert pair.changes == []


def test_a_link_that_loses_most_frames_stays_out_of_use(pair: Line) -> None:
    dice = random.Random(5)
    pair.carries = lambda node, neighbour: dice.random() < 0.2
    pair.run(400 * PERIOD)
    ups = [change for change in pair.changes if change[3]]
    assert not pair.usable()
    # Without the rule of hellos in a row, every one that came through would have brought it back.
    assert len(ups) < 6


def test_a_silent_port_is_given_up_again_and_again(pair: Line) -> None:
    one_way(pair, ("npu0", "npu1"), ("npu1", "npu0"))
    pair.run(13 * PERIOD)
    times = [time for time, node, _, up in pair.changes if node == "npu0" and not up]
    assert times == [3500, 7000, 10500]


def test_a_carrier_that_blinks_is_back_at_once_and_one_that_was_long_gone_is_not() -> None:
    sessions = HelloSessions(full_mesh([2]), "npu0", period_ps=PERIOD)
    assert sessions.on_carrier(1, False) == HelloAnswer(changes=((1, False),))
    assert sessions.on_timer(0).hellos == ()  # a dead port is not spoken to
    assert sessions.on_carrier(1, True) == HelloAnswer(changes=((1, True),))
    assert sessions.on_carrier(1, True) == HelloAnswer()
    sessions.on_carrier(1, False)
    assert sessions.on_timer(4 * PERIOD).changes == ((1, False),)
    assert sessions.on_carrier(1, True) == HelloAnswer()
    hello = Hello(1, 1, 0, 1, True)
    answers = [sessions.on_hello(1, hello, (5 + turn) * PERIOD).changes for turn in range(3)]
    assert answers == [(), (), ((1, True),)]


def test_hellos_say_who_speaks_to_whom_and_whether_it_hears() -> None:
    sessions = HelloSessions(full_mesh([2]), "npu1", period_ps=PERIOD)
    assert sessions.on_timer(0).hellos == ((1, Hello(1, 1, 0, 1, True)),)
    assert sessions.on_timer(4 * PERIOD).hellos == ((1, Hello(1, 1, 0, 1, False)),)


@pytest.mark.parametrize("change", [{"cna": 9}, {"port": 3}, {"neighbour_cna": 0}, {"neighbour_port": 2}])
def test_a_hello_from_elsewhere_keeps_no_link_alive(change: dict[str, int]) -> None:
    sessions = HelloSessions(full_mesh([2]), "npu1", period_ps=PERIOD)
    right = {"cna": 0, "port": 1, "neighbour_cna": 1, "neighbour_port": 1}
    assert sessions.on_hello(1, Hello(**(right | change), hears=True), 2 * PERIOD) == HelloAnswer()
    assert sessions.unexpected == 1
    assert sessions.on_timer(4 * PERIOD).changes == ((1, False),)


def test_a_late_timer_makes_no_hello_up() -> None:
    sessions = HelloSessions(full_mesh([2]), "npu0", period_ps=PERIOD, start_ps=100)
    assert len(sessions.on_timer(7 * PERIOD).hellos) == 1
    assert sessions.on_timer(7 * PERIOD + 99).hellos == ()
    assert len(sessions.on_timer(7 * PERIOD + 100).hellos) == 1


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(
        PlanError,
        match="npu0 cannot send a hello every 0 ps with a multiplier of 3; give a period above 0 and a",
    ):
        HelloSessions(full_mesh([2]), "npu0", period_ps=0)
    with pytest.raises(PlanError, match="npu0 has no link on port 0"):
        HelloSessions(full_mesh([2]), "npu0", period_ps=1).usable(0)
