# SPDX-License-Identifier: Apache-2.0
"""Spraying: algorithms in C++ beside their specification, event by event, and what each of them is for."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from controller.schemes.strategy import STRATEGIES
from emulation import _engine
from emulation.errors import EmulationError
from emulation.traffic.host.path_choice import SPRAYS, SprayChoice
from emulation.traffic.host.transport import TransportParameters
from tests.oracle.paths.entropies import PathNews, make_entropies

GOOD, MARKED, LOST, SILENT = PathNews


def drawn(entropies: Any, count: int) -> list[int]:
    return [entropies.next() for _ in range(count)]


@pytest.mark.parametrize("name", SPRAYS)
@pytest.mark.parametrize("seed", range(12))
def test_an_algorithm_and_its_specification_answer_every_event_alike(name: str, seed: int) -> None:
    random = Random(f"{name} {seed}")
    count, start = random.choice([1, 2, 16, 64, 256]), random.randrange(2**64)
    native, own = _engine.entropies(name, count, start), make_entropies(name, count, start)
    now, weather = 0, random.choice([(9, 1, 0, 0), (8, 4, 2, 1), (1, 1, 1, 1), (40, 4, 2, 1)])
    under_way = [0]
    for _ in range(4000):
        now += random.choice([random.randrange(10**6), random.randrange(10**8)])
        if random.random() < 0.5:
            lb = native.next()
            assert lb == own.next()
            under_way = [*under_way[-63:], lb]
        else:
            news = random.choices(list(PathNews), weather)[0]
            lb = random.choice(under_way)
            native.note(lb, int(news), now)
            own.note(lb, news, now)


def test_the_strategies_that_spray_are_the_algorithms_of_the_transport() -> None:
    assert [strategy.spray for strategy in STRATEGIES.values() if strategy.spray] == list(SPRAYS)


def test_oblivious_takes_all_values_once_a_round_in_changing_orders_and_ignores_news() -> None:
    entropies = make_entropies("oblivious", 16, 5)
    rounds = []
    for _ in range(8):
        rounds.append(drawn(entropies, 16))
        entropies.note(rounds[-1][0], SILENT, 0)
    assert all(sorted(lbs) == sorted(rounds[0]) and len(set(lbs)) == 16 for lbs in rounds)
    assert len({tuple(lbs) for lbs in rounds}) > 2
    others = make_entropies("oblivious", 16, 6)
    assert [drawn(others, 16) for _ in range(8)] != rounds


def test_bitmap_skips_a_value_until_its_points_are_paid_one_a_turn() -> None:
    entropies = make_entropies("bitmap", 4, 1)
    marked, lost, silent, fine = drawn(entropies, 4)
    entropies.note(marked, MARKED, 0)
    entropies.note(lost, LOST, 0)
    entropies.note(silent, SILENT, 0)
    entropies.note(silent, SILENT, 0)  # no more than 15 points
    seen = drawn(entropies, 400)
    first = {value: seen.index(value) for value in (fine, marked, lost, silent)}
    assert first[fine] < first[lost] < first[silent]
    assert first[marked] < first[lost]
    late = Counter(seen[-40:])
    assert set(late.values()) == {10}  # all points are paid: every value as often as any other


def test_bitmap_sends_on_although_all_values_have_points() -> None:
    entropies = make_entropies("bitmap", 2, 3)
    for lb in drawn(entropies, 2):
        entropies.note(lb, SILENT, 0)
    assert set(drawn(entropies, 4)) <= set(drawn(make_entropies("oblivious", 2, 3), 2))


def test_reps_uses_a_value_again_once_for_each_unmarked_arrival_the_oldest_first() -> None:
    entropies = make_entropies("reps", 256, 9)
    for lb in (7, 11, 13):
        entropies.note(lb, GOOD, 0)
    entropies.note(17, MARKED, 0)
    entropies.note(19, LOST, 0)
    assert drawn(entropies, 3) == [7, 11, 13]
    for lb in range(100, 110):
        entropies.note(lb, GOOD, 0)
    assert drawn(entropies, 8) == list(range(102, 110))  # it keeps eight


def test_reps_holds_on_to_what_worked_after_a_timeout_and_explores_ten_milliseconds_later() -> None:
    entropies = make_entropies("reps", 256, 9)
    for lb in (7, 11, 13):
        entropies.note(lb, GOOD, 0)
    entropies.note(42, SILENT, 100)
    assert drawn(entropies, 7) == [7, 11, 13, 7, 11, 13, 7]
    entropies.note(21, GOOD, 10**10)
    assert set(drawn(entropies, 8)) == {7, 11, 13, 21}
    entropies.note(21, GOOD, 10**10 + 101)
    explored = drawn(entropies, 16)
    assert len(set(explored)) > 12
    assert drawn(entropies, 1) == [21]


def test_mixed_recycles_first_and_then_follows_the_bitmap() -> None:
    entropies, bitmap = make_entropies("mixed", 16, 2), make_entropies("bitmap", 16, 2)
    entropies.note(3, GOOD, 0)
    entropies.note(9, MARKED, 0)
    bitmap.note(9, MARKED, 0)
    assert drawn(entropies, 33) == [3, *drawn(bitmap, 32)]


@pytest.mark.parametrize(
    ("spray", "message"),
    [
        (SprayChoice("flowlet"), "spray 'flowlet'"),
        (SprayChoice("reps", 48), "entropies is 48"),
        (SprayChoice("reps", 512), "entropies is 512"),
    ],
)
def test_an_impossible_choice_is_refused(spray: SprayChoice, message: str) -> None:
    with pytest.raises(EmulationError, match=message):
        TransportParameters(spray=spray)
    with pytest.raises(ValueError, match="spraying"):
        _engine.entropies(spray.algorithm, spray.entropies, 0)
