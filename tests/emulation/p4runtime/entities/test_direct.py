# SPDX-License-Identifier: Apache-2.0
"""Attachments of table entries: direct counters and meters, idle timeouts; constant and initial entries."""

import pytest
from finsy.proto import p4r, rpc_code

from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.every_entity import (
    AGEING,
    FIXED,
    INITIAL,
    act,
    entry,
    frame,
    key,
    rates,
    to,
    whole,
)
from tests.emulation.p4runtime.messages import refusals

METERED = act("metered", 1)
NOTHING = rates(0, 0, 0, 0)
"""No packet is green."""


def counts(packets: int, octets: int) -> p4r.CounterData:
    return p4r.CounterData(packet_count=packets, byte_count=octets)


def direct_counter(entry: p4r.TableEntry, data: p4r.CounterData | None = None) -> p4r.Entity:
    return p4r.Entity(direct_counter_entry=p4r.DirectCounterEntry(table_entry=entry, data=data))


def direct_meter(entry: p4r.TableEntry, config: p4r.MeterConfig | None = None) -> p4r.Entity:
    return p4r.Entity(direct_meter_entry=p4r.DirectMeterEntry(table_entry=entry, config=config))


def green(bench: Bench) -> bool:
    ((_, out),) = bench.ask(frame(AGEING, 1))
    return out[-1] == 0


def test_counts_are_set_with_the_entry_or_apart(full: Controller, bench: Bench) -> None:
    full.write(("INSERT", entry("ageing", 1, METERED, counter_data=counts(10, 100))))
    bench.ask(frame(AGEING, 1))
    assert full.read(whole("ageing")) == [entry("ageing", 1, METERED, counter_data=counts(11, 108))]
    full.write(("MODIFY", entry("ageing", 1, METERED)))
    assert full.read(direct_counter(key("ageing"))) == [direct_counter(key("ageing", 1), counts(11, 108))]
    full.write(("MODIFY", entry("ageing", 1, METERED, counter_data=counts(5, 6))))
    assert full.read(direct_counter(key("ageing", 1))) == [direct_counter(key("ageing", 1), counts(5, 6))]
    full.write(("MODIFY", direct_counter(key("ageing", 1), counts(7, 8))))
    full.write(("MODIFY", direct_counter(key("ageing", 1))))
    bench.ask(frame(AGEING, 1))
    assert full.read(direct_counter(p4r.TableEntry()))[0] == direct_counter(key("ageing", 1), counts(8, 16))


def test_a_new_entry_counts_from_nothing(full: Controller, bench: Bench) -> None:
    full.write(("INSERT", entry("ageing", 1, METERED)))
    bench.ask(frame(AGEING, 1))
    full.write(("DELETE", p4r.Entity(table_entry=key("ageing", 1))))
    full.write(("INSERT", entry("ageing", 1, METERED)))
    assert full.read(whole("ageing")) == [entry("ageing", 1, METERED, counter_data=counts(0, 0))]


def test_rates_are_set_with_the_entry_or_apart(full: Controller, bench: Bench) -> None:
    some = rates(1, 2, 1 << 40, 1 << 41)
    full.write(("INSERT", entry("ageing", 1, METERED)))
    assert green(bench)
    assert full.read(direct_meter(key("ageing", 1))) == [direct_meter(key("ageing", 1))]
    full.write(("MODIFY", entry("ageing", 1, METERED, meter_config=NOTHING)))
    assert not green(bench)
    full.write(("MODIFY", direct_meter(key("ageing", 1), some)))
    (read,) = full.read(whole("ageing"))
    assert read.table_entry.meter_config == some
    full.write(("MODIFY", direct_meter(key("ageing", 1))))
    assert green(bench)
    full.write(("MODIFY", direct_meter(key("ageing", 1), NOTHING)))
    assert not green(bench)
    full.write(("MODIFY", entry("ageing", 1, METERED)))  # resets the meter
    assert green(bench)
    (read,) = full.read(whole("ageing"))
    assert not read.table_entry.HasField("meter_config")


def test_direct_resources_are_returned_only_when_asked_for(full: Controller) -> None:
    full.write(("INSERT", entry("ageing", 1, METERED, meter_config=NOTHING, counter_data=counts(1, 2))))
    (read,) = full.read(p4r.Entity(table_entry=key("ageing")))
    assert read == entry("ageing", 1, METERED)


def test_constant_entries_have_direct_resources_that_can_be_set(full: Controller, bench: Bench) -> None:
    first = p4r.TableEntry(counter_data=counts(7, 8))
    first.MergeFrom(key("fixed", 0x10, priority=2))
    full.write(("MODIFY", p4r.Entity(table_entry=first)))
    bench.ask(frame(FIXED, 0x1F))
    read = {item.table_entry.priority: item.table_entry for item in full.read(whole("fixed"))}
    assert [read[2].is_const, read[2].counter_data, read[1].counter_data] == [
        True,
        counts(8, 16),
        counts(0, 0),
    ]
    full.write(("MODIFY", direct_counter(key("fixed", 0x10, priority=2), counts(1, 1))))
    with_action = entry("fixed", 0x10, act("counted", 1), priority=2)
    assert refusals(lambda: full.write(("MODIFY", with_action))) == ["PERMISSION_DENIED"]


def test_initial_entries_are_like_any_other(full: Controller, bench: Bench) -> None:
    assert [bench.ask(frame(INITIAL, value))[0][0] for value in (1, 2)] == [1, 2]
    full.write(("MODIFY", entry("initial", 2, to(5), metadata=b"note")))
    full.write(("DELETE", p4r.Entity(table_entry=key("initial", 1))))
    full.write(("INSERT", entry("initial", 3, to(6))))
    assert [bench.ask(frame(INITIAL, value)) for value in (1, 2, 3)] == [
        [],
        [(5, frame(INITIAL, 2))],
        [(6, frame(INITIAL, 3))],
    ]
    read = sorted(full.read(whole("initial")), key=str)
    assert read == [entry("initial", 2, to(5), metadata=b"note"), entry("initial", 3, to(6))]


def test_idle_timeouts_are_returned_as_written(full: Controller) -> None:
    long = entry("ageing", 1, METERED, idle_timeout_ns=(1 << 63) - 1)
    full.write(("INSERT", long), ("INSERT", entry("ageing", 2, METERED)))
    request = p4r.Entity(table_entry=key("ageing"))
    assert full.read(request) == [long, entry("ageing", 2, METERED)]
    full.write(("MODIFY", entry("ageing", 1, METERED, idle_timeout_ns=5)))
    request.table_entry.time_since_last_hit.SetInParent()
    read = full.read(request)
    assert [item.table_entry.idle_timeout_ns for item in read] == [5, 0]
    assert all(item.table_entry.HasField("time_since_last_hit") for item in read)


def test_idle_entries_are_told_of_again_and_again_until_they_are_hit(full: Controller, bench: Bench) -> None:
    told = entry("ageing", 1, METERED, idle_timeout_ns=1000, metadata=b"note", controller_metadata=9)
    full.write(("INSERT", told), ("INSERT", entry("ageing", 2, METERED)))
    bench.run(999_999)
    full.write(("MODIFY", told))  # no hit, and no other timeout
    bench.run(2_000_000)
    told.table_entry.ClearField("action")
    for _ in range(2):
        assert list(full.receive().idle_timeout_notification.table_entry) == [told.table_entry]
    bench.run(2_000_001)
    bench.send(frame(AGEING, 1), port=7)
    bench.run(3_000_000)
    assert full.enter().status.code == rpc_code.OK  # and nothing before it


@pytest.mark.parametrize(
    ("code", "kind", "bad"),
    [
        ("INVALID_ARGUMENT", "INSERT", direct_counter(key("ageing", 1), counts(1, 1))),
        ("INVALID_ARGUMENT", "DELETE", direct_counter(key("ageing", 1), counts(1, 1))),
        ("NOT_FOUND", "MODIFY", direct_counter(key("ageing", 9), counts(1, 1))),
        ("NOT_FOUND", "MODIFY", direct_counter(key("ageing", 9))),
        ("INVALID_ARGUMENT", "MODIFY", direct_counter(key("ageing", 1), counts(-1, 1))),
        ("INVALID_ARGUMENT", "MODIFY", direct_counter(key("initial", 1), counts(1, 1))),
        ("INVALID_ARGUMENT", "MODIFY", direct_counter(p4r.TableEntry(), counts(1, 1))),
        ("UNIMPLEMENTED", "MODIFY", direct_counter(key("ageing", is_default_action=True), counts(1, 1))),
        ("INVALID_ARGUMENT", "INSERT", direct_meter(key("ageing", 1), NOTHING)),
        ("INVALID_ARGUMENT", "DELETE", direct_meter(key("ageing", 1))),
        ("NOT_FOUND", "MODIFY", direct_meter(key("ageing", 9), NOTHING)),
        ("NOT_FOUND", "MODIFY", direct_meter(key("ageing", 9))),
        ("INVALID_ARGUMENT", "MODIFY", direct_meter(key("initial", 1), NOTHING)),
        ("INVALID_ARGUMENT", "MODIFY", direct_meter(key("ageing", 1), rates(-1, 0, 0, 0))),
        ("INVALID_ARGUMENT", "MODIFY", direct_meter(key("ageing", 1), rates(2, 0, 1, 0))),
        ("INVALID_ARGUMENT", "MODIFY", direct_meter(key("ageing", 1), p4r.MeterConfig(eburst=1))),
        ("INVALID_ARGUMENT", "INSERT", entry("initial", 3, to(1), counter_data=counts(1, 1))),
        ("INVALID_ARGUMENT", "INSERT", entry("initial", 3, to(1), meter_config=NOTHING)),
        ("INVALID_ARGUMENT", "INSERT", entry("initial", 3, to(1), idle_timeout_ns=1)),
        ("INVALID_ARGUMENT", "INSERT", entry("ageing", 3, METERED, idle_timeout_ns=-1)),
        ("INVALID_ARGUMENT", "INSERT", entry("ageing", 3, METERED, counter_data=counts(0, -1))),
        ("INVALID_ARGUMENT", "INSERT", entry("ageing", 3, METERED, meter_config=rates(0, 0, 0, -1))),
        (
            "INVALID_ARGUMENT",
            "INSERT",
            entry("ageing", 3, METERED, time_since_last_hit=p4r.TableEntry.IdleTimeout()),
        ),
        (
            "UNIMPLEMENTED",
            "INSERT",
            entry("ageing", 3, METERED, meter_counter_data=p4r.MeterCounterData()),
        ),
        (
            "INVALID_ARGUMENT",
            "MODIFY",
            p4r.Entity(table_entry=key("ageing", is_default_action=True, idle_timeout_ns=1)),
        ),
        (
            "UNIMPLEMENTED",
            "MODIFY",
            p4r.Entity(table_entry=key("ageing", is_default_action=True, counter_data=counts(1, 1))),
        ),
        ("PERMISSION_DENIED", "DELETE", p4r.Entity(table_entry=key("fixed", 0x10, priority=2))),
        ("PERMISSION_DENIED", "MODIFY", p4r.Entity(table_entry=key("fixed", 0x10, metadata=b"x"))),
        ("NOT_FOUND", "MODIFY", p4r.Entity(table_entry=key("fixed", 0x30))),
    ],
    ids=lambda value: " ".join(str(value).split()) if isinstance(value, p4r.Entity) else value,
)
def test_bad_update_is_refused_and_changes_nothing(
    full: Controller, code: str, kind: str, bad: p4r.Entity
) -> None:
    full.write(("INSERT", entry("ageing", 1, METERED, counter_data=counts(1, 2), idle_timeout_ns=10**15)))
    before = full.read(whole(), whole(is_default_action=True))
    assert refusals(lambda: full.write((kind, bad))) == [code]
    assert full.read(whole(), whole(is_default_action=True)) == before


def test_bad_reads(full: Controller) -> None:
    colors = p4r.MeterCounterData()
    assert refusals(
        lambda: full.read(
            direct_counter(key("initial")),
            direct_counter(key("ageing", 1)),
            direct_meter(key("initial")),
            direct_meter(key("ageing", 1)),
            p4r.Entity(direct_meter_entry=p4r.DirectMeterEntry(counter_data=colors)),
            whole(meter_counter_data=colors),
            p4r.Entity(table_entry=key("initial", time_since_last_hit=p4r.TableEntry.IdleTimeout())),
        )
    ) == [
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "UNIMPLEMENTED",
        "UNIMPLEMENTED",
        "INVALID_ARGUMENT",
    ]
