# SPDX-License-Identifier: Apache-2.0
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller import Entry, Exact, Lpm, Optional, PlanError, Range, Ternary
from controller.plan.rows import MatchColumn, NodeEntries, Rows, blocks_of

DCNA = np.array([7, 7, 9, 300], np.uint16)
BUCKET = np.array([0, 1, 0, 15], np.int8)
INSTR = np.array([0, 1 << 47, 5, (1 << 63) - 1])
KEY = (MatchColumn("dcna", Exact, DCNA), MatchColumn("bucket", Exact, BUCKET))
ROWS = Rows("all_path", "push_route", KEY, [("bitmap", 3), ("instr", INSTR)])
ENTRIES = tuple(
    Entry(
        "all_path",
        (("dcna", Exact(dcna)), ("bucket", Exact(bucket))),
        "push_route",
        (("bitmap", 3), ("instr", instr)),
    )
    for dcna, bucket, instr in zip(DCNA.tolist(), BUCKET.tolist(), INSTR.tolist(), strict=True)
)
OTHER = (Entry("arrival", (), "admit"), Entry("arrival", (), "admit", priority=2))


def test_rows_are_a_sequence_of_entries() -> None:
    assert list(ROWS) == list(ENTRIES) == [ROWS[number] for number in range(4)]
    assert ROWS[-1] == ENTRIES[-1]
    assert type(ROWS[0].params[1][1]) is int  # as a plan of entries has it
    assert ROWS.index(ENTRIES[2]) == 2
    for wrong in (4, -5):
        with pytest.raises(IndexError):
            ROWS[wrong]


def test_every_kind_of_match_and_a_column_of_priorities() -> None:
    columns = [
        MatchColumn("lpm", Lpm, np.array([8, 0]), np.array([30, 1])),
        MatchColumn("ternary", Ternary, np.array([1, 0]), 3),
        MatchColumn("range", Range, 1, np.array([2, 5])),
        MatchColumn("optional", Optional, 6),
    ]
    rows = Rows("mixed", "forward", columns, priority=np.array([9, 8]))
    assert rows[1] == Entry(
        "mixed",
        (("lpm", Lpm(0, 1)), ("ternary", Ternary(0, 3)), ("range", Range(1, 5)), ("optional", Optional(6))),
        "forward",
        priority=8,
    )
    assert list(rows) == [rows[0], rows[1]]
    assert list(Rows("flags", "set", [], [("flag", np.array([1]))])) == [
        Entry("flags", (), "set", (("flag", 1),))
    ]


@given(st.slices(4))
def test_a_slice_shares_the_arrays(part: slice) -> None:
    chosen = ROWS[part]
    assert list(chosen) == list(ENTRIES[part])
    assert len(chosen) == len(ENTRIES[part])
    assert chosen == ENTRIES[part]
    if len(chosen):
        assert np.shares_memory(chosen.match[0].values, DCNA)
        assert np.shares_memory(chosen.params[1][1], INSTR)


def test_equal_rows_are_equal_to_any_sequence_of_their_entries() -> None:
    assert ROWS == ENTRIES
    assert ENTRIES == ROWS
    assert list(ENTRIES) == ROWS
    wider = (MatchColumn("dcna", Exact, DCNA.astype(np.int64)), KEY[1])
    bitmap = np.full(4, 3)
    assert Rows("all_path", "push_route", wider, [("bitmap", bitmap), ("instr", INSTR)]) == ROWS
    assert Rows("all_path", "push_route", KEY, [("bitmap", 4), ("instr", INSTR)]) != ROWS
    assert Rows("all_path", "push_route", KEY, [("bitmap", 3), ("instr", INSTR)], priority=1) != ROWS
    assert ROWS[:3] != ROWS
    assert ROWS[:3] != ENTRIES
    assert ENTRIES[:3] + OTHER[:1] != ROWS
    assert ROWS != "four"
    assert pickle.loads(pickle.dumps(ROWS)) == ROWS


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 2), np.int64), r"column bitmap: expected integers .* got shape \(2, 2\) of int64"),
        (np.zeros(4), r"got shape \(4,\) of float64"),
        ([1, 2, 3, 4], "got list"),
        (np.zeros(3, np.int64), "rows of table all_path: expected columns of one length, got 3, 4"),
    ],
)
def test_columns_that_do_not_fit_are_refused(values: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Rows("all_path", "push_route", KEY, [("bitmap", values)])


def test_rows_need_an_array_and_pairs_need_two_columns() -> None:
    with pytest.raises(PlanError, match="got no array"):
        Rows("flags", "set", [], [("flag", 1)])
    with pytest.raises(PlanError, match="match field dcna: expected two columns of Lpm, got 1"):
        MatchColumn("dcna", Lpm, DCNA)
    with pytest.raises(PlanError, match="match field dcna: expected one column of Exact, got 2"):
        MatchColumn("dcna", Exact, DCNA, DCNA)


BLOCKS = NodeEntries([OTHER, ROWS, (), OTHER, ROWS[:1]])
ALL = (*OTHER, *ENTRIES, *OTHER, *ENTRIES[:1])


def test_blocks_are_one_sequence() -> None:
    assert len(BLOCKS) == len(ALL)
    assert list(BLOCKS) == list(ALL) == [BLOCKS[number] for number in range(len(ALL))]
    assert BLOCKS[-2] == ALL[-2]
    assert BLOCKS == ALL
    assert ALL == BLOCKS
    assert NodeEntries([ALL]) == BLOCKS
    assert NodeEntries([OTHER, ENTRIES, (), OTHER, ENTRIES[:1]]) == BLOCKS
    assert ALL[1:] != BLOCKS
    assert NodeEntries([OTHER, ROWS]) != NodeEntries([ROWS, OTHER])
    assert NodeEntries([]) == ()
    assert pickle.loads(pickle.dumps(BLOCKS)) == ALL
    with pytest.raises(IndexError):
        BLOCKS[len(ALL)]


@given(st.slices(len(ALL)))
def test_a_slice_of_blocks_is_a_slice_of_entries(part: slice) -> None:
    assert tuple(BLOCKS[part]) == ALL[part]


def test_whole_blocks_stay_the_same_objects() -> None:
    part = BLOCKS[2:8]
    assert isinstance(part, NodeEntries)
    assert part.blocks[0] is ROWS
    assert part.blocks[1] is OTHER
    joined = NodeEntries.joined(BLOCKS, list(OTHER), ROWS)
    assert joined == (*ALL, *OTHER, *ENTRIES)
    assert joined.blocks[:2] == BLOCKS.blocks[:2]
    assert joined.blocks[-1] is ROWS
    assert blocks_of(OTHER)[0] is OTHER
