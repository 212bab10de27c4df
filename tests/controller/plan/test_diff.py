# SPDX-License-Identifier: Apache-2.0
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller import Entry, Exact, PlanError, Update, diff
from controller.plan.diff import apply_updates


def entry(index: int, port: int) -> Entry:
    return Entry("linear", (("index", Exact(index)),), "set_port", (("port", port),))


def test_changes_and_additions_come_before_removals() -> None:
    old = [entry(0, 1), entry(1, 1), entry(2, 1)]
    new = [entry(3, 4), entry(1, 2), entry(2, 1)]
    assert diff(old, new) == (
        Update("insert", entry(3, 4)),
        Update("modify", entry(1, 2)),
        Update("delete", entry(0, 1)),
    )


def test_equal_sets_need_nothing() -> None:
    assert diff([entry(0, 1), entry(1, 1)], [entry(1, 1), entry(0, 1)]) == ()


def test_priority_belongs_to_the_key() -> None:
    low = Entry("t", (), "a", (), 1)
    high = Entry("t", (), "a", (), 2)
    assert diff([low], [high]) == (Update("insert", high), Update("delete", low))


def test_two_entries_of_one_key_are_refused() -> None:
    with pytest.raises(PlanError, match=r"table linear has two entries for .*index.*value=7"):
        diff([], [entry(7, 1), entry(7, 2)])


shared = cache(entry)

TABLE = st.dictionaries(st.integers(0, 20), st.integers(0, 3))


@given(TABLE, TABLE, st.booleans())
def test_entries_that_are_the_same_objects_change_nothing(
    old: dict[int, int], new: dict[int, int], reverse: bool
) -> None:
    """Plans share the objects of equal entries, and then compare by identity."""
    before = [shared(*item) for item in old.items()]
    after = [shared(*item) for item in sorted(new.items(), reverse=reverse)]
    updates = diff(before, after)
    assert set(updates) == set(diff([entry(*item) for item in old.items()], after))
    added = [update.entry for update in updates if update.kind != "delete"]
    assert added == [item for item in after if item in added]
    assert set(apply_updates(before, updates)) == set(after)


@given(TABLE, TABLE)
def test_applying_the_updates_gives_the_new_set(old: dict[int, int], new: dict[int, int]) -> None:
    table = dict(old)
    for update in diff([entry(*item) for item in old.items()], [entry(*item) for item in new.items()]):
        (_, match), (_, port) = update.entry.match[0], update.entry.params[0]
        assert isinstance(match, Exact)
        assert (match.value in table) == (update.kind != "insert")
        if update.kind == "delete":
            del table[match.value]
        else:
            table[match.value] = port
    assert table == new
