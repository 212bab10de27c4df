# SPDX-License-Identifier: Apache-2.0
"""Indexed meters, and registers of any width and sign."""

import pytest
from finsy.proto import p4d, p4r

from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.every_entity import (
    METERED,
    METERED_BYTES,
    NARROW,
    WIDE,
    frame,
    meter,
    rates,
    register,
)
from tests.emulation.p4runtime.messages import refusals

GREEN, YELLOW, RED = range(3)


def color(bench: Bench, kind: int, value: int) -> int:
    ((_, out),) = bench.ask(frame(kind, value))
    return out[-1]


def test_meters_color_what_passes_them(full: Controller, bench: Bench) -> None:
    """No time passes, so bursts decide. The peak is asked first; a red packet takes no token (RFC 2698)."""
    size = len(frame(METERED_BYTES, 1))
    full.write(("MODIFY", meter("packet_meter", 1, rates(1, 2, 1, 3))))
    full.write(("MODIFY", meter("byte_meter", 1, rates(1, size, 1, 2 * size))))
    assert [color(bench, METERED, 1) for _ in range(5)] == [GREEN, GREEN, YELLOW, RED, RED]
    assert [color(bench, METERED_BYTES, 1) for _ in range(3)] == [GREEN, YELLOW, RED]
    assert {color(bench, METERED, 2) for _ in range(4)} == {GREEN}
    full.write(("MODIFY", meter("packet_meter", 1)))
    assert {color(bench, METERED, 1) for _ in range(4)} == {GREEN}


def test_rates_are_read_as_they_were_written(full: Controller) -> None:
    exact = rates((1 << 53) + 1, (1 << 32) - 1, (1 << 62) + 1, (1 << 32) - 1)
    full.write(("MODIFY", meter("packet_meter", 2, exact)))
    assert full.read(meter("packet_meter")) == [
        meter("packet_meter", index, exact if index == 2 else None) for index in range(4)
    ]
    full.write(("MODIFY", meter("byte_meter", None, rates(0, 0, 0, 0))))
    assert full.read(meter("byte_meter", 3)) == [meter("byte_meter", 3, rates(0, 0, 0, 0))]
    assert len(full.read(meter(""))) == 8


def test_wide_registers(full: Controller, bench: Bench) -> None:
    value = bytes(range(1, 13))
    full.write(("MODIFY", register("wide", 1, b"\x00" + value)))
    ((_, out),) = bench.ask(frame(WIDE, 1))
    assert out[-4:] == value[:4]
    assert full.read(register("wide")) == [
        register("wide", index, value[4:] + bytes(4) if index == 1 else b"\x00") for index in range(4)
    ]


def test_signed_registers(full: Controller, bench: Bench) -> None:
    """The program takes one off: 12 bits in two's complement, the shortest bytestring."""
    full.write(("MODIFY", register("narrow", 1, b"\xff\xf8\x00")), ("MODIFY", register("narrow", 2, b"\x80")))
    assert full.read(register("narrow", 1)) == [register("narrow", 1, b"\xf8\x00")]
    for index in range(3):
        bench.ask(frame(NARROW, index))
    assert full.read(register("narrow")) == [
        register("narrow", 0, b"\xff"),
        register("narrow", 1, b"\x07\xff"),
        register("narrow", 2, b"\xff\x7f"),
        register("narrow", 3, b"\x00"),
    ]


@pytest.mark.parametrize(
    ("code", "kind", "bad"),
    [
        ("INVALID_ARGUMENT", "INSERT", meter("packet_meter", 0, rates(1, 1, 1, 1))),
        ("INVALID_ARGUMENT", "DELETE", meter("packet_meter", 0)),
        ("INVALID_ARGUMENT", "MODIFY", meter("", 0, rates(1, 1, 1, 1))),
        ("INVALID_ARGUMENT", "MODIFY", meter("packet_meter", -1, rates(1, 1, 1, 1))),
        ("OUT_OF_RANGE", "MODIFY", meter("packet_meter", 4, rates(1, 1, 1, 1))),
        ("INVALID_ARGUMENT", "MODIFY", meter("packet_meter", 0, rates(1, -1, 1, 1))),
        ("INVALID_ARGUMENT", "MODIFY", meter("packet_meter", 0, rates(2, 1, 1, 1))),
        ("INVALID_ARGUMENT", "MODIFY", meter("packet_meter", 0, p4r.MeterConfig(eburst=1))),
        (
            "UNIMPLEMENTED",
            "MODIFY",
            p4r.Entity(
                meter_entry=p4r.MeterEntry(
                    meter_id=meter("packet_meter").meter_entry.meter_id,
                    counter_data=p4r.MeterCounterData(),
                )
            ),
        ),
        ("OUT_OF_RANGE", "MODIFY", register("wide", 0, b"\x01" + bytes(12))),
        ("OUT_OF_RANGE", "MODIFY", register("wide", 0, b"")),
        ("OUT_OF_RANGE", "MODIFY", register("narrow", 0, b"\x08\x00")),
        ("OUT_OF_RANGE", "MODIFY", register("narrow", 0, b"\xf7\xff")),
        ("OUT_OF_RANGE", "MODIFY", register("narrow", 0, b"")),
        ("INVALID_ARGUMENT", "MODIFY", register("wide", 0)),
        (
            "INVALID_ARGUMENT",
            "MODIFY",
            p4r.Entity(
                register_entry=p4r.RegisterEntry(
                    register_id=register("wide").register_entry.register_id, data=p4d.P4Data(bool=True)
                )
            ),
        ),
    ],
    ids=lambda value: " ".join(str(value).split()) if isinstance(value, p4r.Entity) else value,
)
def test_bad_update_is_refused_and_changes_nothing(
    full: Controller, code: str, kind: str, bad: p4r.Entity
) -> None:
    full.write(
        ("MODIFY", meter("packet_meter", 0, rates(1, 2, 3, 4))), ("MODIFY", register("wide", 0, b"\x07"))
    )
    before = full.read(meter(""), register(""))
    assert refusals(lambda: full.write((kind, bad))) == [code]
    assert full.read(meter(""), register("")) == before


def test_an_index_needs_an_id(full: Controller) -> None:
    assert refusals(lambda: full.read(meter("", 1), register("", 1))) == ["INVALID_ARGUMENT"] * 2
