# SPDX-License-Identifier: Apache-2.0
"""Bytes of rows are those of their entries, one by one; so are the errors."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest
from finsy.proto import p4i
from hypothesis import given
from hypothesis import strategies as st

from controller.errors import InstallError
from controller.p4runtime.p4info import P4Info
from controller.plan.entry import Entry, Exact, Lpm, Optional, Range, Ternary
from controller.plan.rows import Column, MatchColumn, NodeEntries, Rows
from controller.plan.updates import Kind, Part
from tests.controller.p4runtime.match_types import MATCH_TYPES

_WIDTHS = (1, 4, 8, 9, 12, 16, 31, 32, 48, 63, 64, 128)
_DTYPES = (np.uint8, np.int16, np.uint32, np.int64, np.uint64)
_FIELDS = [(f"{kind.__name__}{bits}", kind, bits) for kind in MATCH_TYPES for bits in _WIDTHS]


def _message() -> p4i.P4Info:
    """Return a p4info with a field of every kind and width, and an action for every count of parameters."""
    table = p4i.Table(preamble=p4i.Preamble(id=0x2000001, name="full.table", alias="table"))
    for number, (name, kind, bits) in enumerate([*_FIELDS, ("dcna", Lpm, 24)], 1):
        table.match_fields.add(id=number, name=name, bitwidth=bits, match_type=MATCH_TYPES[kind])
    actions = []
    for count in range(len(_WIDTHS) + 1):
        action = p4i.Action(preamble=p4i.Preamble(id=0x100 + count, name=f"a{count}", alias=f"a{count}"))
        for bits in _WIDTHS[:count]:
            action.params.add(id=bits, name=f"p{bits}", bitwidth=bits)
        table.action_refs.add(id=action.preamble.id)
        actions.append(action)
    return p4i.P4Info(tables=[table], actions=actions)


_MESSAGE = _message()
_INFO, _OTHER = P4Info(_MESSAGE), P4Info(_MESSAGE)
"""Two encoders: each keeps results, so one of them encodes rows and the other one single entries."""


def _one_by_one(entries: Any) -> bytes:
    return b"".join(_INFO.encode_update("modify" if entry.default else "insert", entry) for entry in entries)


def _outcome(encode: Any, entries: Any) -> bytes | tuple[str, str]:
    try:
        return encode(entries)
    except InstallError as error:
        return error.message, error.remedy


@cache  # Hypothesis examines each strategy that it meets for the first time.
def _numbers(limit: int, lowest: int) -> st.SearchStrategy[int]:
    return st.integers(0, limit).flatmap(lambda size: _below(lowest, size))


@cache
def _below(lowest: int, bits: int) -> st.SearchStrategy[int]:
    return st.integers(lowest, (1 << bits) - 1)


@st.composite
def _columns(draw: st.DrawFn, count: int, bits: int) -> Column:
    """Draw numbers of every size, most of which fit in `bits`."""
    limit = min(bits + draw(st.sampled_from((0, 0, 0, 0, 0, 0, 0, 1))), 63)
    lowest = draw(st.sampled_from((0, 0, 0, 0, 0, 0, 0, -1)))
    number = _numbers(limit, lowest)
    if draw(st.integers(0, 5)) == 0:
        return draw(number)
    values = draw(st.lists(number, min_size=count, max_size=count))
    dtypes = [dtype for dtype in _DTYPES if _holds(dtype, values)]
    return np.array(values, draw(st.sampled_from(dtypes)))


def _holds(dtype: type[np.integer[Any]], values: list[int]) -> bool:
    limits = np.iinfo(dtype)
    return all(limits.min <= value <= limits.max for value in values)


@st.composite
def _rows(draw: st.DrawFn) -> Rows:
    count = draw(st.sampled_from((0, 1, 2, 30)))
    fields = []
    for name, kind, bits in draw(st.lists(st.sampled_from([*_FIELDS, ("dcna", Lpm, 24)]), max_size=6)):
        extra = None
        if kind is Lpm:
            extra = draw(_columns(count, 5))
        elif kind in (Ternary, Range):
            extra = draw(_columns(count, bits))
        wrong = draw(st.integers(0, 60)) == 0
        kind = (Optional if kind is Exact else Exact) if wrong and extra is None else kind
        fields.append(MatchColumn(name, kind, draw(_columns(count, bits)), extra))
    called = draw(st.integers(0, len(_WIDTHS)))
    given_count = called if draw(st.integers(0, 30)) else draw(st.integers(0, len(_WIDTHS)))
    params = [(f"p{bits}", draw(_columns(count, bits))) for bits in _WIDTHS[:given_count]]
    priority = draw(st.one_of(st.just(0), _columns(count, 31)))
    names = [*fields, *params, priority]
    if not any(isinstance(column, np.ndarray) for column in _arrays(names)):
        fields.append(MatchColumn("Exact16", Exact, np.arange(count)))
    table = draw(st.sampled_from(("table",) * 30 + ("full.table", "tablex")))
    action = f"a{called}" if draw(st.integers(0, 30)) else "b1"
    return Rows(table, action, fields, params, priority)


def _arrays(parts: list[Any]) -> list[Any]:
    columns: list[Any] = []
    for part in parts:
        single = part[1:] if isinstance(part, tuple) else (part,)
        columns += part.columns if isinstance(part, MatchColumn) else single
    return columns


@given(_rows())
def test_rows_are_encoded_as_their_entries(rows: Rows) -> None:
    entries = list(rows)
    assert _outcome(_INFO.encode_installing, rows) == _outcome(_one_by_one, entries)
    assert _outcome(P4Info(_MESSAGE).encode_installing, NodeEntries([rows, rows[:1]])) == _outcome(
        _one_by_one, [*entries, *entries[:1]]
    )


@given(st.lists(_rows(), max_size=4), st.data())
def test_nodes_with_parts_of_any_kind_and_layout(blocks: list[Rows], data: st.DataObject) -> None:
    """Parts of several nodes are encoded together; each node gets its own bytes, or the first error."""
    shared = (Entry("table", (("Exact9", Exact(511)),), "a0"), Entry("table", (), "a0", default=True))
    choice = [shared, *blocks, *(block[: len(block) // 2] for block in blocks), *map(tuple, blocks)]
    part = st.tuples(st.sampled_from(("insert", "modify", "delete")), st.sampled_from(choice))
    nodes: list[list[Part]] = data.draw(st.lists(st.lists(part, max_size=4), max_size=4))

    def encode(own: list[list[Part]]) -> bytes:
        return b"".join(part.data for updates in _INFO.encode_nodes(own) for part in updates)

    def one_by_one(kind: Kind, entries: Iterable[Entry]) -> list[bytes]:
        installs = kind == "insert"
        return [
            _OTHER.encode_update("modify" if installs and entry.default else kind, entry) for entry in entries
        ]

    def whole(own: list[list[Part]]) -> bytes:
        return b"".join(update for node in own for part in node for update in one_by_one(*part))

    wanted = _outcome(whole, nodes)
    assert _outcome(encode, nodes) == wanted
    if isinstance(wanted, bytes):
        for node, encoded in zip(nodes, _INFO.encode_nodes(nodes), strict=True):
            for (kind, block), updates in zip(node, encoded, strict=True):
                alone = one_by_one(kind, block)
                assert updates.ends.tolist() == np.cumsum(list(map(len, alone)), dtype=np.int64).tolist()
                assert updates.data == b"".join(alone)


def _many(count: int, **params: Any) -> Rows:
    """Return rows of which each has numbers of other sizes than the one before."""
    dice = np.random.default_rng(7)
    values = {
        f"p{bits}": dice.integers(0, 1 << min(bits, 62), count) >> dice.integers(0, min(bits, 62), count)
        for bits in _WIDTHS[:11]
    }
    key = dice.integers(0, 1 << 62, count) >> dice.integers(0, 62, count)
    match = [MatchColumn("Ternary64", Ternary, key, 7)]
    return Rows("table", "a11", match, list({**values, **params}.items()), priority=np.arange(count) % 300)


def test_rows_of_more_combinations_of_sizes_than_are_counted() -> None:
    rows = _many(9000)
    assert _INFO.encode_installing(rows) == _one_by_one(rows)


@pytest.mark.parametrize("position", [0, 8999])
def test_the_error_is_that_of_the_first_wrong_row(position: int) -> None:
    wide = np.zeros(9000, np.int64)
    wide[position:] = 1 << 12
    rows = _many(9000, p12=wide)
    with pytest.raises(InstallError, match="p12 = 0x1000 does not fit in 12 bits"):
        _INFO.encode_installing(rows)
    if position:
        before = rows[position - 100 : position]
        assert _INFO.encode_installing(before) == _one_by_one(before)


def test_numbers_beyond_64_bits_are_encoded_too() -> None:
    params = [("p1", 0), ("p4", 0), ("p8", np.array([1, 0])), ("p9", 0), ("p12", 0), ("p16", 0)]
    params += [("p31", 0), ("p32", 0), ("p48", 0), ("p63", 0)]
    params += [("p64", np.array([(1 << 64) - 1, 1 << 63], np.uint64)), ("p128", 1 << 100)]
    rows = Rows("table", "a12", [], params)
    assert _INFO.encode_installing(rows) == _one_by_one(rows)
