# SPDX-License-Identifier: Apache-2.0
"""Updates of nodes that are encoded together are those of each node alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from finsy.proto import p4i

from controller.errors import InstallError
from controller.p4runtime import node_writes, update_cache
from controller.p4runtime.node_writes import NodeWrites
from controller.p4runtime.p4info import P4Info
from controller.p4runtime.update_cache import UpdateCache
from controller.plan.entry import Entry, Exact
from controller.plan.rows import MatchColumn, NodeEntries, Rows
from controller.plan.updates import Written


def _info() -> P4Info:
    table = p4i.Table(preamble=p4i.Preamble(id=1, name="all_path", alias="all_path"))
    table.match_fields.add(id=1, name="dcna", bitwidth=16, match_type=p4i.MatchField.EXACT)
    table.action_refs.add(id=2)
    action = p4i.Action(preamble=p4i.Preamble(id=2, name="push_route", alias="push_route"))
    action.params.add(id=1, name="instr", bitwidth=48)
    return P4Info(p4i.P4Info(tables=[table], actions=[action]))


INFO = _info()
SHARED = (Entry("all_path", (("dcna", Exact(0)),), "push_route", (("instr", 9),)),)


def _rows(first: int, count: int, instr: int = 1) -> Rows:
    dcna = np.arange(first, first + count)
    column = MatchColumn("dcna", Exact, dcna)
    return Rows("all_path", "push_route", [column], [("instr", dcna * instr << np.arange(count) % 30)])


def _nodes(**sizes: int) -> dict[str, Sequence[Entry]]:
    return {node: NodeEntries([SHARED, _rows(1, size)]) for node, size in sizes.items()}


def _alone(info: P4Info, written: Written) -> bytes:
    return info.encode_installing([item for item in written if isinstance(item, Entry)])


def _asked(entries: dict[str, Sequence[Entry]], nodes: Sequence[str], **infos: Any) -> list[list[Any]]:
    installing = NodeWrites(entries, {**dict.fromkeys(entries, INFO), **infos})
    return [installing.batches(node, INFO) for node in nodes]


@pytest.mark.parametrize("at_once", [1, 60, 1 << 16])
@pytest.mark.parametrize("batch", [7, 40, 1 << 14])
def test_each_node_gets_its_updates_in_batches(
    monkeypatch: pytest.MonkeyPatch, at_once: int, batch: int
) -> None:
    monkeypatch.setattr(node_writes, "_ENTRIES_AT_ONCE", at_once)
    monkeypatch.setattr(update_cache, "_BATCH", batch)
    entries = _nodes(a=39, b=40, c=0, d=300, e=6) | {
        "f": NodeEntries([]),
        "g": list(SHARED),
        "h": _rows(5, 9),
    }
    for order in ("abcdefgh", "hgfedcba", "dbhacgfe"):
        for node, batches in zip(order, _asked(entries, order), strict=True):
            assert [len(part) for part, _ in batches[:-1]] == [batch] * (len(batches) - 1)
            assert [entry for part, _ in batches for entry in part] == list(entries[node])
            for part, data in batches:
                assert data == _alone(INFO, part)


def test_a_wrong_entry_refuses_its_own_node_only() -> None:
    entries = _nodes(a=3, b=4, c=5)
    entries["b"] = NodeEntries([SHARED, _rows(1, 4, instr=1 << 47)])
    installing = NodeWrites(entries, dict.fromkeys(entries, INFO))
    for node in "ac":
        ((part, data),) = installing.batches(node, INFO)
        assert data == _alone(INFO, part)
    with pytest.raises(InstallError, match="instr = 0x2000000000000 does not fit in 48 bits"):
        installing.batches("b", INFO)


def test_another_program_is_encoded_on_its_own() -> None:
    other = P4Info(p4i.P4Info())
    entries = _nodes(a=3, b=4)
    installing = NodeWrites(entries, {"a": INFO, "b": other})
    assert installing.batches("a", INFO)[0][1] == _alone(INFO, entries["a"])
    with pytest.raises(InstallError, match="table all_path is not in the p4info"):
        installing.batches("b", other)
    assert installing.batches("b", INFO)[0][1] == _alone(INFO, entries["b"])


def test_updates_are_kept_for_the_same_entries_and_program() -> None:
    entries, cache = _nodes(a=3, b=4), UpdateCache()
    first = NodeWrites(entries, dict.fromkeys(entries, INFO), cache)
    wanted = {node: first.batches(node, INFO) for node in entries}
    again = NodeWrites(entries, dict.fromkeys(entries, INFO), cache)
    assert all(again.batches(node, INFO) is wanted[node] for node in entries)
    changed = {**entries, "b": _rows(1, 2)}
    assert NodeWrites(changed, dict.fromkeys(entries, INFO), cache).batches("b", INFO) != wanted["b"]
    assert cache.find("a", _info(), entries["a"]) is None
