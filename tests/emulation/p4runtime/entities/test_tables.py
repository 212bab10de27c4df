# SPDX-License-Identifier: Apache-2.0
"""Table entries: what is written forwards and is read back; what is wrong is refused and changes nothing."""

import grpc
import pytest
from finsy.proto import p4r

from tests.emulation.controller_stub import Controller, details_of
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.messages import (
    CONFIG,
    TABLE,
    action,
    all_of,
    entry,
    exact,
    frame,
    lpm,
    mixed,
    optional,
    refusals,
    ternary,
    within,
)


def test_insert_modify_delete_change_forwarding(ready: Controller, bench: Bench) -> None:
    sent = frame(a=0x1234)
    assert bench.network.process(0, 0, sent) == []
    ready.write(("INSERT", entry("exact_table", exact(1, b"\x12\x34"))))
    assert bench.network.process(0, 0, sent) == [(5, sent)]
    ready.write(("MODIFY", entry("exact_table", exact(1, b"\x12\x34"), do=action("forward", b"\x01\x00"))))
    assert bench.network.process(0, 0, sent) == [(256, sent)]
    ready.write(("DELETE", entry("exact_table", exact(1, b"\x12\x34"), do=None)))
    assert bench.network.process(0, 0, sent) == []


def test_devices_are_apart(ready: Controller, bench: Bench) -> None:
    with Controller(bench.address, device_id=2) as other:
        other.enter()
        other.push(CONFIG)
        other.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
        assert ready.read(all_of("exact_table")) == []
        assert bench.network.process(1, 0, frame(a=1)) == [(5, frame(a=1))]


@pytest.mark.parametrize(
    "written",
    [
        entry("exact_table", exact(1, b"\x00"), metadata=b"note", controller_metadata=9),
        entry("lpm_table", lpm(b"\x0a\x00\x00\x00", 8)),
        entry("lpm_table"),
        mixed(3, ternary(b"\x12\x00", b"\xff\x00"), within(b"\x02", b"\x01\x00"), optional(b"\x7f")),
        mixed(3, ternary(b"\x00", b"\x01")),
        mixed(3, within(b"\x00", b"\x00")),
        mixed(3, optional(b"\x00")),
        mixed(3),
    ],
    ids=str,
)
def test_what_is_read_is_what_was_written(ready: Controller, written: p4r.Entity) -> None:
    ready.write(("INSERT", written))
    table_id = written.table_entry.table_id
    assert ready.read(p4r.Entity(table_entry=p4r.TableEntry(table_id=table_id))) == [written]
    assert ready.read(written) == [written]


@pytest.mark.parametrize(
    ("match", "hits", "misses"),
    [
        ([ternary(b"\x12\x00", b"\xff\x00")], frame(b=0x12FF), frame(b=0x1334)),
        ([within(b"\x02", b"\x01\x00")], frame(c=256), frame(c=257)),
        ([optional(b"\x05")], frame(d=5), frame(d=4)),
        ([optional(b"\x00")], frame(d=0), frame(d=4)),
    ],
    ids=["ternary", "range", "optional", "optional zero"],
)
def test_match_kinds_decide_forwarding(
    ready: Controller, bench: Bench, match: list[p4r.FieldMatch], hits: bytes, misses: bytes
) -> None:
    ready.write(("INSERT", mixed(1, *match)))
    assert bench.network.process(0, 0, hits) == [(5, hits)]
    assert bench.network.process(0, 0, misses) == []


def test_higher_priority_wins(ready: Controller, bench: Bench) -> None:
    ready.write(
        ("INSERT", mixed(10, ternary(b"\x01", b"\xff"), do=action("forward", b"\x01"))),
        ("INSERT", mixed(20, within(b"\x00", b"\x09"), do=action("forward", b"\x02"))),
    )
    assert bench.network.process(0, 0, frame(b=1)) == [(2, frame(b=1))]


def test_longer_strings_than_needed_are_taken_and_returned_short(ready: Controller) -> None:
    ready.write(
        ("INSERT", entry("exact_table", exact(1, b"\0\0\0\x07"), do=action("forward", b"\0\0\0\x05"))),
        ("INSERT", mixed(1, ternary(b"\0\0\x01", b"\0\0\xff"), optional(b"\0\x05"))),
    )
    assert ready.read(all_of("exact_table")) == [entry("exact_table", exact(1, b"\x07"))]
    assert ready.read(all_of("mixed_table")) == [mixed(1, ternary(b"\x01", b"\xff"), optional(b"\x05"))]


def test_parameters_and_fields_in_any_order(ready: Controller) -> None:
    ready.write(("INSERT", mixed(1, optional(b"\x05"), ternary(b"\x01", b"\xff"))))
    assert ready.read(all_of("mixed_table")) == [mixed(1, ternary(b"\x01", b"\xff"), optional(b"\x05"))]


def test_batch_goes_on_after_an_error_and_tells_each_in_order(ready: Controller) -> None:
    codes = refusals(
        lambda: ready.write(
            ("INSERT", entry("exact_table", exact(1, b"\x01"))),
            ("INSERT", entry("exact_table", exact(1, b"\x01"))),
            ("MODIFY", entry("exact_table", exact(1, b"\x02"))),
            ("INSERT", entry("exact_table", exact(1, b"\x02"))),
            ("DELETE", entry("exact_table", exact(1, b"\x03"), do=None)),
            ("DELETE", entry("exact_table", exact(1, b"\x01"), do=None)),
        )
    )
    assert codes == ["OK", "ALREADY_EXISTS", "NOT_FOUND", "OK", "NOT_FOUND", "OK"]
    assert ready.read(all_of("exact_table")) == [entry("exact_table", exact(1, b"\x02"))]


def test_full_table(ready: Controller) -> None:
    for value in range(4):
        ready.write(("INSERT", entry("exact_table", exact(1, bytes([value])))))
    assert refusals(lambda: ready.write(("INSERT", entry("exact_table", exact(1, b"\x09"))))) == [
        "RESOURCE_EXHAUSTED"
    ]


def test_modify_without_action_changes_nothing(ready: Controller) -> None:
    written = entry("exact_table", exact(1, b"\x01"))
    ready.write(("INSERT", written))
    ready.write(("MODIFY", entry("exact_table", exact(1, b"\x01"), do=None)))
    assert ready.read(all_of("exact_table")) == [written]
    missing = entry("exact_table", exact(1, b"\x02"), do=None)
    assert refusals(lambda: ready.write(("MODIFY", missing))) == ["NOT_FOUND"]


def test_delete_looks_only_at_the_key(ready: Controller) -> None:
    ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
    nonsense = p4r.TableAction(action=p4r.Action(action_id=12345))
    ready.write(("DELETE", entry("exact_table", exact(1, b"\x01"), do=nonsense)))
    assert ready.read(all_of("exact_table")) == []


def test_metadata_goes_with_its_entry(ready: Controller) -> None:
    ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"), metadata=b"old")))
    ready.write(("DELETE", entry("exact_table", exact(1, b"\x01"), do=None)))
    ready.write(("INSERT", entry("exact_table", exact(1, b"\x01"))))
    assert ready.read(all_of("exact_table"))[0].table_entry.metadata == b""


@pytest.mark.parametrize(
    ("code", "kind", "bad"),
    [
        ("INVALID_ARGUMENT", "UNSPECIFIED", entry("exact_table", exact(1, b"\x01"))),
        ("INVALID_ARGUMENT", "INSERT", p4r.Entity()),
        ("INVALID_ARGUMENT", "INSERT", p4r.Entity(table_entry=p4r.TableEntry())),
        ("INVALID_ARGUMENT", "INSERT", p4r.Entity(table_entry=p4r.TableEntry(table_id=12345))),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table")),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(2, b"\x01"))),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), exact(1, b"\x01"))),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table", lpm(b"\x01", 16))),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table", p4r.FieldMatch(field_id=1))),
        ("OUT_OF_RANGE", "INSERT", entry("exact_table", exact(1, b""))),
        ("OUT_OF_RANGE", "INSERT", entry("exact_table", exact(1, b"\x01\x00\x00"))),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), priority=1)),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), is_const=True)),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), do=None)),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), do=p4r.TableAction())),
        (
            "INVALID_ARGUMENT",
            "INSERT",
            entry("exact_table", exact(1, b"\x01"), do=p4r.TableAction(action_profile_member_id=1)),
        ),
        (
            "INVALID_ARGUMENT",
            "INSERT",
            entry("exact_table", exact(1, b"\x01"), do=p4r.TableAction(action=p4r.Action(action_id=4))),
        ),
        ("PERMISSION_DENIED", "INSERT", entry("exact_table", exact(1, b"\x01"), do=action("NoAction"))),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), do=action("forward"))),
        (
            "INVALID_ARGUMENT",
            "INSERT",
            entry("exact_table", exact(1, b"\x01"), do=action("refuse", b"\x01")),
        ),
        (
            "INVALID_ARGUMENT",
            "INSERT",
            entry("exact_table", exact(1, b"\x01"), do=action("forward", b"\x01", first=2)),
        ),
        (
            "INVALID_ARGUMENT",
            "INSERT",
            entry("exact_table", exact(1, b"\x01"), do=action("forward", b"\x01", b"\x01", first=0)),
        ),
        (
            "OUT_OF_RANGE",
            "INSERT",
            entry("exact_table", exact(1, b"\x01"), do=action("forward", b"\x02\x00")),
        ),
        ("OUT_OF_RANGE", "INSERT", entry("exact_table", exact(1, b"\x01"), do=action("forward", b""))),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table", exact(1, b"\x01"), idle_timeout_ns=5)),
        (
            "INVALID_ARGUMENT",
            "INSERT",
            entry("exact_table", exact(1, b"\x01"), counter_data=p4r.CounterData(packet_count=1)),
        ),
        ("INVALID_ARGUMENT", "INSERT", entry("lpm_table", lpm(b"\x00", 0))),
        ("INVALID_ARGUMENT", "INSERT", entry("lpm_table", lpm(b"\x0a\x00\x00\x00", 33))),
        ("INVALID_ARGUMENT", "INSERT", entry("lpm_table", lpm(b"\x0a\x00\x00\x00", -1))),
        ("INVALID_ARGUMENT", "INSERT", entry("lpm_table", lpm(b"\x0a\x01\x00\x00", 8))),
        ("INVALID_ARGUMENT", "INSERT", mixed(0, optional(b"\x01"))),
        ("INVALID_ARGUMENT", "INSERT", mixed(-4, optional(b"\x01"))),
        ("INVALID_ARGUMENT", "INSERT", mixed(1, ternary(b"\x01", b"\x00"))),
        ("INVALID_ARGUMENT", "INSERT", mixed(1, ternary(b"\x03", b"\x01"))),
        ("OUT_OF_RANGE", "INSERT", mixed(1, ternary(b"\x01", b"\x01\x00\x00"))),
        ("INVALID_ARGUMENT", "INSERT", mixed(1, within(b"\x05", b"\x04"))),
        ("INVALID_ARGUMENT", "INSERT", mixed(1, within(b"\x00", b"\x01\xff"))),
        ("OUT_OF_RANGE", "INSERT", mixed(1, within(b"\x00", b"\x02\x00"))),
        ("OUT_OF_RANGE", "INSERT", mixed(1, optional(b"\x80"))),
        ("PERMISSION_DENIED", "INSERT", entry("const_table", exact(1, b"\x01"))),
        ("PERMISSION_DENIED", "MODIFY", entry("const_table", exact(1, b"\xff\xff"))),
        ("PERMISSION_DENIED", "DELETE", entry("const_table", exact(1, b"\xff\xff"), do=None)),
        ("INVALID_ARGUMENT", "INSERT", entry("keyless_table")),
        ("INVALID_ARGUMENT", "INSERT", entry("exact_table", is_default_action=True)),
        ("INVALID_ARGUMENT", "DELETE", entry("exact_table", is_default_action=True)),
        ("INVALID_ARGUMENT", "MODIFY", entry("exact_table", exact(1, b"\x01"), is_default_action=True)),
        ("INVALID_ARGUMENT", "MODIFY", entry("exact_table", is_default_action=True, priority=1)),
        ("PERMISSION_DENIED", "MODIFY", entry("const_table", is_default_action=True)),
    ],
    ids=lambda value: " ".join(str(value).split()) if isinstance(value, p4r.Entity) else value,
)
def test_bad_update_is_refused_and_changes_nothing(
    ready: Controller, code: str, kind: str, bad: p4r.Entity
) -> None:
    before = ready.read(all_of(), all_of(is_default_action=True))
    assert refusals(lambda: ready.write((kind, bad))) == [code]
    assert ready.read(all_of(), all_of(is_default_action=True)) == before


def test_messages_name_the_table_and_the_field(ready: Controller) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        ready.write(("INSERT", entry("exact_table", exact(1, b"\x01\x00\x00"))))
    (error,) = details_of(caught.value)
    assert error.message == "table 'exact_table', field 'a', value: 0x010000 does not fit in 16 bits"


def test_set_read_and_reset(ready: Controller, bench: Bench) -> None:
    assert bench.network.process(0, 0, frame()) == []
    ready.write(("MODIFY", entry("lpm_table", is_default_action=True, metadata=b"note")))
    assert bench.network.process(0, 0, frame()) == [(5, frame())]
    (read,) = ready.read(all_of("lpm_table", is_default_action=True))
    assert read == entry("lpm_table", is_default_action=True, metadata=b"note")
    assert ready.read(all_of("lpm_table")) == []
    ready.write(("MODIFY", entry("lpm_table", do=None, is_default_action=True)))
    assert bench.network.process(0, 0, frame()) == []
    (read,) = ready.read(all_of("lpm_table", is_default_action=True))
    assert read == entry("lpm_table", do=action("NoAction"), is_default_action=True)


def test_of_every_table(ready: Controller) -> None:
    read = ready.read(all_of(is_default_action=True))
    assert {entity.table_entry.table_id for entity in read} == set(TABLE.values())
    assert all(entity.table_entry.is_default_action for entity in read)


def test_keyless_table_has_one(ready: Controller, bench: Bench) -> None:
    ready.write(("MODIFY", entry("keyless_table", is_default_action=True)))
    assert bench.network.process(0, 0, frame()) == [(5, frame())]
