# SPDX-License-Identifier: Apache-2.0
"""An optical circuit switch by itself: what a new map asks of whatever floor is beneath it, and when."""

from collections.abc import Callable, Mapping
from typing import Any, final

import pytest

from emulation.circuits import CircuitSwitch
from topologies import TopologyError


@final
class Floor:
    """Notes what is asked of it, and when; time passes when the test says so."""

    def __init__(self) -> None:
        self.now_ps = 0
        self.asked: list[tuple[int, str, int, int]] = []
        self.alarms: list[tuple[int, Callable[[], None]]] = []

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        self.alarms.append((time_ps, callback))

    def cut(self, optical: str, low: int, high: int) -> None:
        assert optical == "ocs0"
        self.asked.append((self.now_ps, "cut", low, high))

    def join(self, optical: str, low: int, high: int) -> None:
        assert optical == "ocs0"
        self.asked.append((self.now_ps, "join", low, high))

    def pass_to(self, time_ps: int) -> list[tuple[int, str, int, int]]:
        """Return the requests made meanwhile."""
        for due, callback in sorted(self.alarms, key=lambda alarm: alarm[0]):
            if due <= time_ps:
                self.now_ps = due
                callback()
        self.alarms = [alarm for alarm in self.alarms if alarm[0] > time_ps]
        self.now_ps = time_ps
        asked, self.asked = self.asked, []
        return asked


def switch(floor: Floor, **settings: Any) -> CircuitSwitch:
    return CircuitSwitch("ocs0", 8, floor, reconfiguration_ps=100, **settings)


def test_what_stays_is_not_touched_what_goes_is_dark_at_once_what_comes_comes_later() -> None:
    floor = Floor()
    ocs = switch(floor, standing={0: 1, 2: 3, 4: 5})
    floor.pass_to(1000)
    done = ocs.apply({1: 0, 0: 1, 2: 5, 3: 4})
    assert (done.kept, done.torn, done.created) == (((0, 1),), ((2, 3), (4, 5)), ((2, 5), (3, 4)))
    assert done.dark_until_ps == 1100
    assert ocs.crossconnect == {0: 1, 1: 0}
    assert ocs.target == {0: 1, 1: 0, 2: 5, 3: 4, 4: 3, 5: 2}
    assert floor.pass_to(1099) == [(1000, "cut", 2, 3), (1000, "cut", 4, 5)]
    assert floor.pass_to(1100) == [(1100, "join", 2, 5), (1100, "join", 3, 4)]
    assert ocs.crossconnect == ocs.target


def test_a_map_that_only_tears_or_changes_nothing_is_done_at_once() -> None:
    floor = Floor()
    ocs = switch(floor, standing={0: 1, 2: 3})
    assert ocs.apply({0: 1, 3: 2}).dark_until_ps == 0
    assert floor.asked == []
    assert ocs.apply({}).dark_until_ps == 0
    assert floor.asked == [(0, "cut", 0, 1), (0, "cut", 2, 3)]
    assert floor.alarms == []
    assert ocs.crossconnect == ocs.target == {}


def test_a_map_in_a_dark_time_is_the_last_word_and_the_dark_time_begins_again() -> None:
    floor = Floor()
    ocs = switch(floor, standing={0: 1})
    ocs.apply({0: 1, 2: 3, 4: 5})
    floor.pass_to(60)
    done = ocs.apply({2: 3, 4: 6})
    assert (done.torn, done.created, done.dark_until_ps) == (((0, 1),), ((2, 3), (4, 6)), 160)
    assert floor.pass_to(159) == [(60, "cut", 0, 1)]  # and nothing at 100
    assert ocs.crossconnect == {}
    assert floor.pass_to(500) == [(160, "join", 2, 3), (160, "join", 4, 6)]


def test_circuits_that_were_to_come_and_are_not_wanted_any_more_never_do() -> None:
    floor = Floor()
    ocs = switch(floor)
    ocs.apply({0: 1})
    floor.pass_to(50)
    assert ocs.apply({}).dark_until_ps == 50
    assert floor.pass_to(1000) == []
    assert ocs.target == {}


@pytest.mark.parametrize(
    ("joined", "message"),
    [
        ({0: 8}, "ocs0 has no port 8; give a port from 0 to 7"),
        ({-1: 3}, "ocs0 has no port -1"),
        ({0: 1, 4: 4}, "ocs0: port 4 is joined to itself"),
        ({0: 1, 1: 2}, "ocs0: port 1 is joined to both 0 and 2"),
        ({0: 5, 5: 0, 6: 5}, "ocs0: port 5 is joined to both 0 and 6"),
        ({0: 2, 1: 2}, "ocs0: port 2 is joined to both 0 and 1"),
    ],
)
def test_a_map_that_cannot_be_is_refused_before_anything_happens(
    joined: Mapping[int, int], message: str
) -> None:
    floor = Floor()
    ocs = switch(floor, standing={2: 3, 6: 7})
    ocs.apply({2: 3, 0: 1})
    floor.asked.clear()
    with pytest.raises(TopologyError, match=message):
        ocs.apply(joined)
    assert floor.asked == []
    assert ocs.target == {0: 1, 1: 0, 2: 3, 3: 2}
    assert floor.pass_to(100) == [(100, "join", 0, 1)]
