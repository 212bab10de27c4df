# SPDX-License-Identifier: Apache-2.0
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.errors import FrameError
from emulation.traffic.frames.layers import CLH, LPH, NTH, SACK, TPH, Ether
from emulation.traffic.frames.values import Opcode, mac
from emulation.traffic.frames.wire import DATA_HEADER_BYTES, MAP_STEP, MAX_PAYLOAD_BYTES, readdress
from tests.oracle.codec import (
    AckFields,
    AckWriter,
    DataFields,
    DataWriter,
    marked_buckets,
    parse,
    skipped_frames,
)

BYTE = st.integers(0, 0xFF)
SHORT = st.integers(0, 0xFFFF)
PSN = st.integers(0, 0xFFFFFF)
WORD = st.integers(0, 0xFFFFFFFF)


def data_frame(**fields: int) -> bytes:
    values = {
        "scna": 1, "dcna": 2, "src_q": 3, "dst_q": 4, "job": 5, "dtype": 1, "lb_mode": 1,
        "lb": 6, "flags": 1, "psn": 7, "op": 1, "step": 8, "chunk": 9, "offset": 4096,
    } | fields  # fmt: skip
    fixed: dict[str, Any] = {
        key: values.pop(key) for key in ("scna", "dcna", "src_q", "dst_q", "job", "dtype", "lb_mode")
    }
    return DataWriter(**fixed).frame(**values, payload=bytes(range(80)))


def ack_frame() -> bytes:
    return AckWriter(scna=1, dcna=2, src_q=3, dst_q=4, lb_mode=0).frame(9, 1000, 0x8001)


@given(
    static=st.fixed_dictionaries(
        dict.fromkeys(("scna", "dcna", "src_q", "dst_q", "job"), SHORT)
        | {"dtype": BYTE, "lb_mode": st.integers(0, 1)}
    ),
    moving=st.fixed_dictionaries(
        {"lb": BYTE, "flags": BYTE, "psn": PSN, "op": BYTE, "step": SHORT, "chunk": SHORT, "offset": WORD}
    ),
    payload=st.binary(max_size=300) | st.integers(1, MAX_PAYLOAD_BYTES).map(bytes),
)
def test_data_frame_is_the_layers_bytes(
    static: dict[str, Any], moving: dict[str, int], payload: bytes
) -> None:
    f = static | moving
    layers = (
        Ether(dst=mac(f["dcna"]), src=mac(f["scna"]))
        / LPH(lb_mode=f["lb_mode"])
        / NTH(scna=f["scna"], dcna=f["dcna"], lb=f["lb"])
        / TPH(opcode=Opcode.DATA, flags=f["flags"], src_q=f["src_q"], dst_q=f["dst_q"], psn=f["psn"])
        / CLH(**{k: f[k] for k in ("job", "op", "dtype", "step", "chunk", "offset")}, length=len(payload))
        / payload
    )
    frame = DataWriter(**static).frame(**moving, payload=payload)
    assert frame == bytes(layers)
    fields = parse(frame)
    assert isinstance(fields, DataFields)
    named = fields._asdict()
    assert {name: named[name] for name in f if name != "lb_mode"} == {k: f[k] for k in f if k != "lb_mode"}
    assert frame[DATA_HEADER_BYTES:] == payload


@given(
    scna=SHORT, dcna=SHORT, src_q=SHORT, dst_q=SHORT, lb_mode=st.integers(0, 1),
    lb=BYTE, ack_psn=PSN, sack=st.integers(0, (1 << 64) - 1), marks=SHORT, steps=BYTE,
)  # fmt: skip
def test_acknowledgement_is_the_layers_bytes(
    scna: int,
    dcna: int,
    src_q: int,
    dst_q: int,
    lb_mode: int,
    lb: int,
    ack_psn: int,
    sack: int,
    marks: int,
    steps: int,
) -> None:
    layers = (
        Ether(dst=mac(dcna), src=mac(scna))
        / LPH(vl=2, lb_mode=lb_mode)
        / NTH(scna=scna, dcna=dcna, lb=lb, sl=1)
        / TPH(opcode=Opcode.ACK, src_q=src_q, dst_q=dst_q, psn=steps << 16 | marks, ack_psn=ack_psn)
        / SACK(bitmap=sack)
    )
    writer = AckWriter(scna=scna, dcna=dcna, src_q=src_q, dst_q=dst_q, lb_mode=lb_mode)
    frame = writer.frame(lb, ack_psn, sack, marks=marks, skipped=steps * MAP_STEP)
    assert frame == bytes(layers)
    assert parse(frame) == AckFields(2, 0, scna, dcna, src_q, dst_q, ack_psn, lb, sack)
    assert (marked_buckets(frame), skipped_frames(frame)) == (marks, steps * MAP_STEP)


def test_readdress_changes_two_fields_only() -> None:
    assert readdress(data_frame(lb=6, flags=1), 11, 2) == data_frame(lb=11, flags=2)


def test_random_bytes_are_refused_and_nothing_else() -> None:
    source = random.Random(4)
    for size in range(61):
        for _ in range(50):
            with pytest.raises(FrameError):
                parse(source.randbytes(size))


def test_frames_with_one_byte_changed_parse_or_are_refused() -> None:
    source = random.Random(5)
    refused = 0
    for good in (data_frame(), ack_frame()):
        for place in range(len(good)):
            for _ in range(8):
                bad = bytearray(good)
                bad[place] = source.randrange(256)
                try:
                    parse(bytes(bad))
                except FrameError:
                    refused += 1
    assert refused


@pytest.mark.parametrize("good", [data_frame(), ack_frame()])
def test_a_truncated_frame_is_refused(good: bytes) -> None:
    for size in range(len(good)):
        with pytest.raises(FrameError, match=r"short|length"):
            parse(good[:size])


def test_padding_after_the_packet_is_ignored() -> None:
    assert parse(ack_frame() + bytes(14)) == parse(ack_frame())
    assert parse(data_frame() + bytes(3)) == parse(data_frame())


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (12, 0x08, "ethertype"),
        (15, 0x0C, "cfg"),  # the sink has not stripped the source route
        (16, 0x84, "length"),
        (25, 0x08, "management"),
        (26, 0x09, "opcode"),
        (53, 0x51, "length"),
    ],
)
def test_the_reason_is_named(place: int, value: int, reason: str) -> None:
    bad = bytearray(data_frame())
    bad[place] = value
    with pytest.raises(FrameError, match=reason):
        parse(bytes(bad))


def test_largest_payload_leaves_room_for_a_source_route() -> None:
    writer = DataWriter(scna=1, dcna=2, src_q=3, dst_q=4, job=5, dtype=1, lb_mode=1)
    frame = writer.frame(0, 0, 0, 1, 0, 0, 0, bytes(MAX_PAYLOAD_BYTES))
    assert len(frame) - 14 + 8 == 16 * 32 * 20
    with pytest.raises(FrameError, match="smaller slices"):
        writer.frame(0, 0, 0, 1, 0, 0, 0, bytes(MAX_PAYLOAD_BYTES + 9))
