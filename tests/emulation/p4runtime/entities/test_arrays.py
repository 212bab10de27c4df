# SPDX-License-Identifier: Apache-2.0
"""Counters, direct counters and registers."""

import pytest
from finsy.proto import p4r

from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.messages import COUNTER, REGISTER, all_of, frame, mixed, optional, refusals


def counter(index: int | None = None, packets: int | None = None, octets: int = 0) -> p4r.Entity:
    message = p4r.CounterEntry(counter_id=COUNTER)
    if index is not None:
        message.index.CopyFrom(p4r.Index(index=index))
    if packets is not None:
        message.data.CopyFrom(p4r.CounterData(packet_count=packets, byte_count=octets))
    return p4r.Entity(counter_entry=message)


def register(index: int | None = None, value: bytes | None = None) -> p4r.Entity:
    message = p4r.RegisterEntry(register_id=REGISTER)
    if index is not None:
        message.index.CopyFrom(p4r.Index(index=index))
    if value is not None:
        message.data.bitstring = value
    return p4r.Entity(register_entry=message)


def test_frames_are_counted_and_counts_can_be_set(ready: Controller, bench: Bench) -> None:
    bench.network.process(0, 0, frame())
    assert ready.read(counter(1)) == [counter(1, 1, 10)]
    ready.write(("MODIFY", counter(1, 100, 2000)))
    bench.network.process(0, 0, frame())
    assert ready.read(counter(1)) == [counter(1, 101, 2010)]


def test_all_at_once(ready: Controller) -> None:
    ready.write(("MODIFY", counter(None, 7, 8)))
    expected = [counter(index, 7, 8) for index in range(8)]
    assert ready.read(counter()) == expected
    assert ready.read(p4r.Entity(counter_entry=p4r.CounterEntry())) == expected


def test_cells_that_nobody_has_written_are_zero(ready: Controller, bench: Bench) -> None:
    counts: dict[int, tuple[int, int]] = dict.fromkeys(range(8), (0, 0))
    assert ready.read(counter(7)) == [counter(7, 0, 0)]
    for index in (2, 6, 0):
        counts[index] = index + 1, 10 * index
        ready.write(("MODIFY", counter(index, *counts[index])))
        assert ready.read(counter()) == [counter(at, *count) for at, count in counts.items()]
    bench.network.process(0, 0, frame())
    assert ready.read(counter(1), counter(2)) == [counter(1, 1, 10), counter(2, 3, 20)]


def test_a_whole_counter_is_sent_as_protocol_buffers_send_it(ready: Controller, bench: Bench) -> None:
    counts = [(0, 0), (0, 1), (127, 0), (128, 1 << 14), (1, (1 << 63) - 1), ((1 << 63) - 1, 300), (5, 5)]
    for index, (packets, octets) in enumerate(counts):
        ready.write(("MODIFY", counter(index, packets, octets)))
    cells = [counter(index, *count) for index, count in enumerate([*counts, (0, 0)])]
    assert ready.read(counter()) == cells
    for first, most in ((0, 8), (0, 3), (3, 3), (6, 3), (8, 3)):
        wanted = p4r.ReadResponse(entities=cells[first : first + most])
        sent = bench.network.counter_response(0, 0, COUNTER, first, most)
        assert sent == wanted.SerializeToString()
    with pytest.raises(IndexError):
        bench.network.counter_response(0, 0, COUNTER, 9, 1)


def test_no_data_changes_nothing(ready: Controller) -> None:
    ready.write(("MODIFY", counter(2, 7, 8)))
    ready.write(("MODIFY", counter(2)))
    assert ready.read(counter(2)) == [counter(2, 7, 8)]


def test_registers(ready: Controller) -> None:
    ready.write(("MODIFY", register(2, b"\x12\x34")))
    zero = b"\x00"
    assert ready.read(register()) == [
        register(index, b"\x12\x34" if index == 2 else zero) for index in range(4)
    ]
    ready.write(("MODIFY", register(None, b"\x05")))
    assert ready.read(register(3)) == [register(3, b"\x05")]


@pytest.mark.parametrize(
    ("code", "kind", "bad"),
    [
        ("INVALID_ARGUMENT", "INSERT", counter(0, 1)),
        ("INVALID_ARGUMENT", "DELETE", counter(0, 1)),
        ("INVALID_ARGUMENT", "MODIFY", counter(-1, 1)),
        ("OUT_OF_RANGE", "MODIFY", counter(8, 1)),
        ("INVALID_ARGUMENT", "MODIFY", counter(0, -1)),
        ("INVALID_ARGUMENT", "INSERT", register(0, b"\x01")),
        ("INVALID_ARGUMENT", "MODIFY", register(-1, b"\x01")),
        ("OUT_OF_RANGE", "MODIFY", register(4, b"\x01")),
        ("OUT_OF_RANGE", "MODIFY", register(0, b"\x01\x00\x00")),
        ("INVALID_ARGUMENT", "MODIFY", register(0, None)),
    ],
)
def test_bad_updates(ready: Controller, code: str, kind: str, bad: p4r.Entity) -> None:
    assert refusals(lambda: ready.write((kind, bad))) == [code]


def test_unknown_ids(ready: Controller) -> None:
    unknown_counter = p4r.Entity(counter_entry=p4r.CounterEntry(counter_id=5))
    unknown_register = p4r.Entity(register_entry=p4r.RegisterEntry(register_id=5))
    assert refusals(lambda: ready.read(unknown_counter, unknown_register, counter(9), register(9))) == [
        "INVALID_ARGUMENT",
        "INVALID_ARGUMENT",
        "OUT_OF_RANGE",
        "OUT_OF_RANGE",
    ]


def test_direct_counters(ready: Controller, bench: Bench) -> None:
    written = mixed(1, optional(b"\x05"))
    ready.write(("INSERT", written))
    for _ in range(3):
        bench.network.process(0, 0, frame(d=5))
    counts = p4r.CounterData(packet_count=3, byte_count=30)
    (read,) = ready.read(all_of("mixed_table", counter_data=p4r.CounterData()))
    assert read.table_entry.counter_data == counts
    (read,) = ready.read(all_of("mixed_table"))
    assert not read.table_entry.HasField("counter_data")
    wanted = p4r.DirectCounterEntry(table_entry=written.table_entry)
    (read,) = ready.read(p4r.Entity(direct_counter_entry=wanted))
    assert read.direct_counter_entry.data == counts
    missing = p4r.DirectCounterEntry(table_entry=mixed(2, optional(b"\x06")).table_entry)
    assert refusals(lambda: ready.read(p4r.Entity(direct_counter_entry=missing))) == ["NOT_FOUND"]
