# SPDX-License-Identifier: Apache-2.0
"""The engine as a v1model switch: match kinds, actions, registers, counters, loading, malformed programs."""

import json
import random
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from emulation._engine import Network, Program, ProgramError

BUILD = Path(__file__).parents[2] / "programs" / "build"
SOURCE = (BUILD / "every_match.json").read_bytes()
OK, EXISTS, MISSING, FULL, INVALID, CONSTANT = range(6)


def probe(
    kind: int,
    *,
    small: int = 0,
    lpm: int = 0,
    number: int = 0,
    wide: int = 0,
    a: int = 0,
    b: int = 0,
    result: int = 0,
) -> bytes:
    head = (
        bytes([kind, small]) + lpm.to_bytes(4, "big") + number.to_bytes(2, "big") + wide.to_bytes(16, "big")
    )
    return head + (a << 13 | b).to_bytes(2, "big") + result.to_bytes(3, "big")


class Bench:
    """One switch with the test program."""

    def __init__(self) -> None:
        self.program = Program(SOURCE)
        self.net = Network()
        self.net.add_switch("s")
        self.net.set_program(0, self.program)

    def handle(self, things: list[dict[str, Any]], name: str) -> int:
        return next(thing["handle"] for thing in things if thing["name"].split(".")[-1] == name)

    def table(self, name: str) -> int:
        return self.handle(self.program.tables, name)

    def action(self, table: str, name: str) -> int:
        """p4c makes every table a copy of its actions, all of one name."""
        own = self.program.tables[self.table(table)]["actions"]
        return self.handle([action for action in self.program.actions if action["handle"] in own], name)

    def insert(
        self,
        table: str,
        keys: list[tuple[int, int, int]],
        value: int,
        priority: int = 0,
        action: str = "answer",
    ) -> int:
        handle = self.action(table, action)
        return self.net.table_insert(0, self.table(table), packed(keys), priority, handle, [octets(value)])

    def delete(self, table: str, keys: list[tuple[int, int, int]], priority: int = 0) -> int:
        return self.net.table_delete(0, self.table(table), packed(keys), priority)

    def answer(self, frame: bytes) -> int | None:
        """The result field of what comes out; None when dropped."""
        out = self.net.process(0, 7, frame)
        return int.from_bytes(out[0][1][26:29], "big") if out else None


def octets(value: int) -> bytes:
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def packed(keys: list[tuple[int, int, int]]) -> list[tuple[bytes, bytes, int]]:
    return [(octets(value), octets(extra), prefix) for value, extra, prefix in keys]


def test_exact_entries_and_their_life() -> None:
    bench = Bench()
    key = [(5, 0, 0)]
    assert bench.answer(probe(0, small=5)) is None
    assert bench.insert("exact_small", key, 77, action="answer_counted") == OK
    assert bench.insert("exact_small", key, 78, action="answer_counted") == EXISTS
    assert bench.answer(probe(0, small=5)) == 77
    assert bench.answer(probe(0, small=6)) is None
    handle = bench.action("exact_small", "answer_counted")
    assert bench.net.table_modify(0, bench.table("exact_small"), packed(key), 0, handle, [octets(79)]) == OK
    assert bench.answer(probe(0, small=5)) == 79
    assert bench.delete("exact_small", key) == OK
    assert bench.delete("exact_small", key) == MISSING
    assert bench.answer(probe(0, small=5)) is None


def test_a_table_holds_what_its_size_says() -> None:
    bench = Bench()
    assert [bench.insert("exact_small", [(i, 0, 0)], i, action="answer_counted") for i in range(5)] == [
        OK
    ] * 4 + [FULL]
    assert bench.delete("exact_small", [(2, 0, 0)]) == OK
    assert bench.insert("exact_small", [(9, 0, 0)], 9, action="answer_counted") == OK
    assert bench.answer(probe(0, small=9)) == 9


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    bench = Bench()
    table, action = bench.table("exact_small"), bench.action("exact_small", "answer_counted")
    foreign = bench.action("exact_wide", "set_wide")
    insert = bench.net.table_insert
    assert insert(0, table, [(b"\x01\x00", b"", 0)], 0, action, [b"\x01"]) == INVALID
    assert insert(0, table, [(b"\x01", b"", 0)], 0, action, [b"\x01\x00\x00\x00"]) == INVALID
    assert insert(0, table, [(b"\x01", b"", 0)], 0, foreign, [b"\x01"]) == INVALID
    assert insert(0, table, [(b"\x01", b"", 0)] * 2, 0, action, [b"\x01"]) == INVALID
    assert insert(0, table, [(b"\x01", b"", 0)], 0, action, []) == INVALID
    assert insert(0, table, [(b"\x01", b"", 0)], 0, 10_000, [b"\x01"]) == INVALID
    assert bench.net.table_len(0, table) == 0
    assert (
        insert(0, table, [(b"\x00\x00\x01", b"", 0)], 0, action, [b"\x00\x00\x00\x01"]) == OK
    )  # leading zeros


def test_keys_and_parameters_wider_than_a_word() -> None:
    bench = Bench()
    key = (1 << 127) | 0x1234
    assert bench.insert("exact_wide", [(key, 0, 0), (5, 0, 0)], 42) == OK
    assert bench.answer(probe(1, wide=key, a=5)) == 42
    assert bench.answer(probe(1, wide=key ^ (1 << 100), a=5)) is None
    assert bench.answer(probe(1, wide=key, a=4)) is None
    value = (0xABCD << 112) | 0xEF
    assert bench.insert("exact_wide", [(7, 0, 0), (0, 0, 0)], value, action="set_wide") == OK
    out = bench.net.process(0, 7, probe(1, wide=7))[0][1]
    assert int.from_bytes(out[8:24], "big") == value


def test_longest_prefix_wins() -> None:
    bench = Bench()
    for prefix, value in ((0, 1), (8, 2), (31, 3), (32, 4)):
        assert bench.insert("lpm", [(0x0A0B0C0D, 0, prefix), (1, 0, 0)], value) == OK
    assert bench.insert("lpm", [(0x0AFFFFFF, 0, 8), (1, 0, 0)], 9) == EXISTS  # the same prefix
    assert bench.answer(probe(2, small=1, lpm=0x0A0B0C0D)) == 4
    assert bench.answer(probe(2, small=1, lpm=0x0A0B0C0C)) == 3
    assert bench.answer(probe(2, small=1, lpm=0x0A000000)) == 2
    assert bench.answer(probe(2, small=1, lpm=0xFF000000)) == 1
    assert bench.answer(probe(2, small=2, lpm=0x0A0B0C0D)) is None
    assert bench.delete("lpm", [(0x0A0B0C0D, 0, 32), (1, 0, 0)]) == OK
    assert bench.answer(probe(2, small=1, lpm=0x0A0B0C0D)) == 3


def test_highest_priority_wins() -> None:
    bench = Bench()
    assert bench.insert("ternary", [(0x0100, 0xFF00, 0), (0, 0, 0)], 1, priority=10) == OK
    assert bench.insert("ternary", [(0x0001, 0x00FF, 0), (0, 0, 0)], 2, priority=20) == OK
    assert bench.insert("ternary", [(0, 0, 0), (0x80000000, 0, 1)], 3, priority=5) == OK
    assert bench.answer(probe(3, number=0x0101)) == 2
    assert bench.answer(probe(3, number=0x0102)) == 1
    assert bench.answer(probe(3, number=0x0202, lpm=0x90000000)) == 3
    assert bench.answer(probe(3, number=0x0202)) is None


def test_ranges_include_both_ends_and_an_optional_field_may_be_anything() -> None:
    bench = Bench()
    assert bench.insert("range", [(10, 20, 0), (0, 0, 0)], 1, priority=1) == OK
    assert (
        bench.insert("range", [(20, 30, 0), (7, 0xFF, 0)], 2, priority=2) == OK
    )  # p4c writes optional as ternary
    cases = ((9, 0, None), (10, 0, 1), (20, 0, 1), (20, 7, 2), (30, 7, 2), (30, 6, None), (31, 7, None))
    for number, small, expected in cases:
        assert bench.answer(probe(4, number=number, small=small)) == expected


def test_const_entries_match_in_order_and_cannot_be_written() -> None:
    bench = Bench()
    assert bench.answer(probe(5, b=0x1F01)) == 1
    assert bench.answer(probe(5, b=0x0F01)) == 2
    assert bench.answer(probe(5, b=0x0F00)) == 3
    assert bench.answer(probe(5, b=0x1000)) is None
    assert bench.insert("constant", [(1, 1, 0)], 1, priority=1) == CONSTANT
    assert [entry[1] for entry in bench.net.table_read(0, bench.table("constant"))] == [3, 2, 1]


def test_registers_and_arithmetic_wrap_at_their_width() -> None:
    bench = Bench()
    assert bench.answer(probe(6, small=3, number=500)) == 0
    assert bench.answer(probe(6, small=3, number=9)) == 500
    assert bench.net.register_read(0, 0, 3) == 9
    assert bench.answer(probe(6, small=200, number=9)) == 0  # beyond its size: reads 0, writes nothing
    port, out = bench.net.process(0, 7, probe(7, a=0, b=0, number=0x8001, small=1))[0]
    assert port == 3
    assert int.from_bytes(out[24:26], "big") == 7 << 13 | 0x1FFF
    assert int.from_bytes(out[6:8], "big") == (0x0002 | 0x1000)


def test_counters_count_packets_and_bytes() -> None:
    bench = Bench()
    bench.insert("exact_small", [(5, 0, 0)], 1, action="answer_counted")
    for _ in range(3):
        bench.answer(probe(0, small=5) + bytes(71))
    by_kind = bench.handle(bench.program.counters, "by_kind")
    assert bench.net.counter_read(0, by_kind, 0) == (3, 300)
    assert bench.net.table_read(0, bench.table("exact_small"))[0][4:] == (3, 300)


def test_header_removed_and_payload_kept_and_short_frames_dropped() -> None:
    bench = Bench()
    assert bench.net.process(0, 7, probe(9) + b"payload") == [(4, b"payload")]
    for length in range(29):
        assert bench.net.process(0, 7, probe(9)[:length]) == []


def test_tables_against_a_plain_model_under_random_operations() -> None:
    bench, chance = Bench(), random.Random(7)
    held: dict[tuple[int, int], int] = {}
    for _ in range(4000):
        prefix, small = chance.randrange(33), chance.randrange(3)
        network = chance.getrandbits(6) << 26 >> (32 - prefix) << (32 - prefix) if prefix else 0
        keys = [(network, 0, prefix), (small, 0, 0)]
        slot = (network << 6 | prefix, small)
        if chance.random() < 0.5:
            value = chance.randrange(1, 1 << 24)
            expected = EXISTS if slot in held else FULL if len(held) >= 64 else OK
            assert bench.insert("lpm", keys, value) == expected
            if expected == OK:
                held[slot] = value
        else:
            assert bench.delete("lpm", keys) == (OK if slot in held else MISSING)
            held.pop(slot, None)
        seen, wanted = chance.getrandbits(6) << 26 | chance.getrandbits(4), chance.randrange(3)
        matching = [
            (key & 63, value)
            for (key, own), value in held.items()
            if own == wanted and (key & 63 == 0 or (seen ^ key >> 6) >> (32 - (key & 63)) == 0)
        ]
        assert bench.answer(probe(2, small=wanted, lpm=seen)) == (max(matching)[1] if matching else None)
    assert bench.net.table_len(0, bench.table("lpm")) == len(held)


@pytest.mark.parametrize("cut", [0, 1, 100, len(SOURCE) // 2, len(SOURCE) - 2])
def test_a_truncated_program_is_refused(cut: int) -> None:
    with pytest.raises(ProgramError, match="not the JSON of a BMv2 program"):
        Program(SOURCE[:cut])


def test_every_missing_or_mistyped_part_of_a_program_is_named_or_harmless() -> None:
    """Members of all objects replaced by wrong types: a ProgramError, or a program that runs."""
    whole = json.loads(SOURCE)
    refused = 0
    for path in list(members(whole))[::7]:
        parent = reduce(getitem, path[:-1], whole)
        right = parent[path[-1]]
        for wrong in (None, 7, "nonsense", []):
            parent[path[-1]] = wrong
            damaged = json.dumps(whole).encode()
            parent[path[-1]] = right
            try:
                program = Program(damaged)
            except ProgramError:
                refused += 1
                continue
            net = Network()
            net.add_switch("s")
            net.set_program(0, program)
            net.process(0, 1, probe(0))
    assert whole == json.loads(SOURCE)
    assert refused > 100


def members(node: Any, path: tuple[Any, ...] = ()) -> Any:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        if key == "source_info":
            continue
        yield (*path, key)
        yield from members(value, (*path, key))


def test_a_pipeline_that_loops_is_refused() -> None:
    program = json.loads(SOURCE)
    node = program["pipelines"][0]["conditionals"][0]
    node["true_next"] = node["name"]
    with pytest.raises(ProgramError, match="loop"):
        Program(json.dumps(program).encode())


def test_unknown_primitives_are_named() -> None:
    program = json.loads(SOURCE)
    action = next(a for a in program["actions"] if a["primitives"])
    action["primitives"][0]["op"] = "teleport"
    with pytest.raises(ProgramError, match="'teleport' is not supported"):
        Program(json.dumps(program).encode())
