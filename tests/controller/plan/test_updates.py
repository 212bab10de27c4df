# SPDX-License-Identifier: Apache-2.0
"""Differences of entries in columns are those of the same entries as objects."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller import Entry, Exact, PlanError, Ternary, Update, diff
from controller.plan.diff import apply_in_turn, apply_updates, diff_nodes
from controller.plan.rows import Column, MatchColumn, NodeEntries, Rows
from controller.plan.updates import Updates

OTHERS = tuple(Entry("arrival", (("port", Exact(port)),), "admit") for port in range(3))

# Keys that no 62-bit number can tell apart are among them.
KEYS = st.tuples(
    st.one_of(st.integers(0, 3), st.integers(2**64 - 3, 2**64 - 1)),
    st.one_of(st.integers(0, 2), st.integers(2**63 - 2, 2**63)),
    st.integers(0, 1),
)
TABLE = st.dictionaries(KEYS, st.integers(0, 2), max_size=12)


def rows(table: dict[tuple[int, int, int], int], *, action: str = "push", shuffle: int = 0) -> Rows:
    items = sorted(table.items(), key=lambda item: hash((item, shuffle)))

    def column(values: Sequence[int]) -> Column:
        return np.array(values, np.uint64)

    return Rows(
        "all_path",
        action,
        [
            MatchColumn("cna", Ternary, column([key[0] for key, _ in items]), 3),
            MatchColumn("bucket", Exact, column([key[1] for key, _ in items])),
        ],
        [("route", column([value for _, value in items]))],
        np.array([key[2] for key, _ in items], np.int8),
    )


def node(table: dict[tuple[int, int, int], int], others: int, shuffle: int = 0) -> NodeEntries:
    return NodeEntries([OTHERS[:others], rows(table, shuffle=shuffle)])


@given(TABLE, TABLE, st.integers(0, 3), st.integers(0, 3), st.integers(0, 5))
def test_a_difference_in_columns_is_that_of_the_entries(
    old: dict[tuple[int, int, int], int],
    new: dict[tuple[int, int, int], int],
    before: int,
    after: int,
    shuffle: int,
) -> None:
    was, becomes = node(old, before), node(new, after, shuffle=shuffle)
    updates = diff(was, becomes)
    assert isinstance(updates, Updates)
    assert set(updates) == set(diff(tuple(was), tuple(becomes)))
    assert len(updates) == len(set(updates))
    kinds = [update.kind for update in updates]
    assert "delete" not in kinds[: len(kinds) - kinds.count("delete")]
    assert list(updates) == [updates[at] for at in range(len(updates))]
    assert list(updates[1:-1]) == list(updates)[1:-1]
    assert apply_updates(was, updates) == becomes
    assert set(apply_updates(tuple(was), updates)) == set(becomes)


@given(st.lists(st.tuples(TABLE, TABLE), max_size=4), st.integers(0, 5))
def test_nodes_compared_together_differ_as_each_alone(
    tables: list[tuple[dict[tuple[int, int, int], int], dict[tuple[int, int, int], int]]], shuffle: int
) -> None:
    old = {str(number): node(was, number) for number, (was, _) in enumerate(tables)}
    new = {str(number): node(becomes, 1, shuffle) for number, (_, becomes) in enumerate(tables)}
    # A node without columns, and a node whose entries are the same object.
    old |= {"tuple": tuple(OTHERS), "same": (same := node({(1, 1, 0): 1}, 1))}
    new |= {"tuple": tuple(OTHERS[1:]), "same": same}
    together = diff_nodes(old, new)
    assert list(together) == list(new)
    for name, entries in new.items():
        assert tuple(together[name]) == tuple(diff(old[name], entries))


def test_rows_of_another_action_are_compared_one_by_one() -> None:
    old, new = rows({(1, 1, 0): 1, (2, 1, 0): 1}), rows({(1, 1, 0): 1}, action="drop")
    (changed, removed) = diff(NodeEntries([old]), NodeEntries([new]))
    assert (changed.kind, changed.entry.action) == ("modify", "drop")
    assert (removed.kind, removed.entry.action) == ("delete", "push")


def test_two_rows_of_one_key_are_refused() -> None:
    twice = Rows("all_path", "push", [MatchColumn("cna", Exact, np.array([7, 8, 7]))])
    once = Rows("all_path", "push", [MatchColumn("cna", Exact, np.array([7, 9]))])
    for pair in ((twice, once), (once, twice)):
        with pytest.raises(PlanError, match=r"table all_path has two entries for .*cna.*value=7"):
            diff(*(NodeEntries([own]) for own in pair))


@given(TABLE, TABLE, TABLE)
def test_writes_one_after_the_other(
    first: dict[tuple[int, int, int], int],
    second: dict[tuple[int, int, int], int],
    third: dict[tuple[int, int, int], int],
) -> None:
    states = [node(table, position) for position, table in enumerate((first, second, third))]
    first_write, second_write = (diff(*pair) for pair in pairwise(states))
    assert apply_in_turn(states[0], [first_write, second_write]) == states[2]
    for written in (
        [tuple(first_write), second_write],
        [first_write, tuple(second_write)],
        [tuple(first_write), tuple(second_write)],
    ):
        assert set(apply_in_turn(states[0], written)) == set(states[2])


def test_updates_without_some_tables() -> None:
    updates = diff(node({(1, 1, 0): 1}, 1), node({(1, 1, 0): 2}, 3))
    assert isinstance(updates, Updates)
    routes = updates.without({"arrival", "departure"})
    assert [(update.kind, update.entry.table) for update in routes] == [("modify", "all_path")]
    assert isinstance(routes, Updates)
    left = apply_updates(node({(1, 1, 0): 1}, 1), routes)
    assert [entry.table for entry in left] == ["arrival", "all_path"]
    mixed = diff(NodeEntries([(*OTHERS[:1], Entry("linear", (), "go"))]), NodeEntries([OTHERS[:2]]))
    assert isinstance(mixed, Updates)
    assert mixed.without({"linear"}) == (Update("insert", OTHERS[1]),)
