# SPDX-License-Identifier: Apache-2.0
"""Pace of notifications: who is notified at once, who later, and how often in all."""

from emulation.p4runtime.advisories import SECONDS_A_CLIENT, Advisories


def test_a_change_after_a_pause_reaches_all_clients_at_once() -> None:
    advisories: Advisories[str] = Advisories()
    assert advisories.change("abc", 100.0, "c") == ["a", "b", "c"]
    assert advisories.deadline is None
    later = 100.0 + 3 * SECONDS_A_CLIENT
    assert advisories.change("abc", later, "a") == ["a", "b", "c"]


def test_a_change_soon_after_reaches_its_parties_at_once_and_the_others_later() -> None:
    advisories: Advisories[str] = Advisories()
    advisories.change("abc", 100.0, "c")
    assert advisories.change("abcd", 100.0, "cd") == ["c", "d"]
    assert advisories.change("abcde", 100.0, "de") == ["d", "e"]
    due = advisories.deadline
    assert due is not None
    assert due == 100.0 + 3 * SECONDS_A_CLIENT
    assert advisories.due(due) == ["a", "b", "c"]
    assert advisories.deadline is None


def test_who_has_been_told_of_the_latest_change_does_not_wait() -> None:
    advisories: Advisories[str] = Advisories()
    advisories.change("ab", 100.0, "b")
    advisories.change("abc", 100.0, "bc")
    assert advisories.change("a", 100.0, "a") == ["a"]
    assert advisories.deadline is None


def test_who_has_left_is_not_notified() -> None:
    advisories: Advisories[str] = Advisories()
    advisories.change("ab", 100.0, "b")
    advisories.change("abc", 100.0, "c")
    advisories.leave("a")
    assert advisories.due(101.0) == ["b"]


def test_a_thousand_clients_that_take_over_in_turn_cause_few_notifications() -> None:
    """A client a millisecond, each the new primary: half a million notifications if all were told of all."""
    advisories: Advisories[int] = Advisories()
    told = 0
    for newest in range(1000):
        now = newest / 1000
        if advisories.deadline is not None and advisories.deadline <= now:
            told += len(advisories.due(now))
        told += len(advisories.change(range(newest + 1), now, (newest - 1, newest)))
    told += len(advisories.due(2.0))
    assert advisories.deadline is None
    assert 2000 < told < 6000
