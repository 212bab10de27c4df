# SPDX-License-Identifier: Apache-2.0
"""Headers of the CNA24 form: their layout, and the engine's conversion from and to the CNA16 form."""

from hypothesis import given
from hypothesis import strategies as st
from scapy.packet import Packet

from emulation._engine import from_cna24, to_cna24
from emulation.traffic.frames.layers import (
    CLH,
    LPH,
    MOH,
    NTH,
    NTH24,
    RTPH,
    SACK,
    SRH,
    SRH24,
    TPH,
    Ether,
    LinkNotice,
)
from emulation.traffic.frames.values import MAX_LINK_BYTES, NextHeader, Opcode, decode_length, mac

CNAS = st.integers(0, 0xFFFF)
BYTES = st.integers(0, 0xFF)
PSNS = st.integers(0, 0xFFFFFF)

# Opcode of the TPH: opcode, next header and last bit of the RTPH.
KINDS = {
    Opcode.DATA: (1, NextHeader.CLH, 1),
    Opcode.ACK: (5, NextHeader.SACK, 0),
    Opcode.CREDIT: (5, NextHeader.CREDIT, 0),
    Opcode.REQUEST: (1, NextHeader.REQUEST, 1),
    Opcode.RESPONSE: (1, NextHeader.RESPONSE, 1),
    Opcode.IPV4: (1, NextHeader.IPV4, 1),
}


def test_header_sizes_and_places() -> None:
    nth = bytes(NTH24(rt=1, scna=0x010203, dcna=0x040506, cc=0x0708, lb=0x19, sl=10, mgmt=1, nlp=2))
    assert nth == bytes.fromhex("40 010203 040506 0708 19 aa 00")
    rtph = RTPH(opcode=5, last=1, ver=1, pad=2, nlp=9, src_tpn=0x010203, dst_tpn=0x040506, a=1, f=1)
    rtph.psn, rtph.rspst, rtph.rspinfo, rtph.tpmsn = 0xABCDEF, 5, 3, 0x123456
    assert bytes(rtph) == bytes.fromhex("85 69 010203 040506 c0 abcdef a3 123456")


frames = st.fixed_dictionaries(
    {
        "opcode": st.sampled_from(list(KINDS)),
        "flags": st.integers(0, 0x7F),
        "src_q": CNAS,
        "dst_q": CNAS,
        "psn": PSNS,
        "ack_psn": PSNS,
    }
)


@given(
    ends=st.tuples(CNAS, CNAS),
    lph=st.fixed_dictionaries({"vl": st.integers(0, 15), "lb_mode": st.integers(0, 1)}),
    nth=st.fixed_dictionaries({"cc": CNAS, "lb": BYTES, "sl": st.integers(0, 15)}),
    route=st.none() | st.tuples(st.integers(0, 15), st.integers(0, 0xFFF), st.lists(BYTES, max_size=6)),
    transport=frames,
    payload=st.binary(max_size=900),
)
def test_conversion_builds_what_the_layers_build(
    ends: tuple[int, int],
    lph: dict[str, int],
    nth: dict[str, int],
    route: tuple[int, int, list[int]] | None,
    transport: dict[str, int],
    payload: bytes,
) -> None:
    scna, dcna = ends
    carrier = Ether(dst=mac(dcna), src=mac(scna))
    narrow: Packet = carrier / LPH(**lph, cfg=6 if route is None else 12)
    wide: Packet = carrier / LPH(**lph, cfg=13 if route is None else 14)
    if route is not None:
        ptr, bitmap, instr = route
        narrow /= SRH(ptr=ptr, bitmap=bitmap, instr=instr)
        wide /= SRH24(ptr=ptr, bitmap=bitmap, instr=instr)
    narrow = narrow / NTH(scna=scna, dcna=dcna, **nth) / TPH(**transport) / payload
    opcode, following, last = KINDS[Opcode(transport["opcode"])]
    numbers = transport["psn"], transport["ack_psn"]
    psn, tpmsn = reversed(numbers) if opcode == 5 else numbers
    rtph = RTPH(last=last, opcode=opcode, nlp=following)
    rtph.src_tpn, rtph.dst_tpn = transport["src_q"], transport["dst_q"]
    rtph.a, rtph.rsv0, rtph.psn, rtph.tpmsn = transport["flags"] & 1, transport["flags"] >> 1, psn, tpmsn
    wide = wide / NTH24(scna=scna, dcna=dcna, **nth) / rtph / payload
    assert to_cna24(bytes(narrow)) == bytes(wide)
    assert from_cna24(bytes(wide)) == bytes(narrow)


def test_layers_follow_each_other() -> None:
    carrier = Ether(dst=mac(9), src=mac(8))
    data = carrier / LPH() / SRH(bitmap=0x800, instr=[1]) / NTH(dcna=9) / TPH() / CLH(length=4) / b"\0\0\0\0"
    names = [layer.__name__ for layer in Ether(to_cna24(bytes(data))).layers()]
    assert names == ["Ether", "LPH", "SRH24", "NTH24", "RTPH", "CLH", "Raw"]
    ack = carrier / LPH() / NTH(dcna=9) / TPH(opcode=Opcode.ACK, ack_psn=5) / SACK(bitmap=3)
    read = Ether(to_cna24(bytes(ack)))
    assert (read[RTPH].psn, read[SACK].bitmap) == (5, 3)
    request = carrier / LPH() / NTH() / TPH(opcode=Opcode.REQUEST, ack_psn=5) / MOH(length=8)
    assert Ether(to_cna24(bytes(request)))[MOH].length == 8
    notice = carrier / LPH() / NTH(scna=8, mgmt=1) / LinkNotice(port_a=2, origin=1)
    read = Ether(to_cna24(bytes(notice)))
    assert (read[NTH24].scna, read[LinkNotice].port_a) == (8, 2)
    assert from_cna24(bytes(read)) == bytes(notice)


@given(st.binary(max_size=120))
def test_other_bytes_stay_as_they_are(data: bytes) -> None:
    assert to_cna24(data) == data
    assert from_cna24(data) == data


@given(cut=st.integers(0, 70))
def test_a_frame_that_is_cut_short_stays_as_it_is(cut: int) -> None:
    frame = bytes(Ether() / LPH() / SRH() / NTH(dcna=9) / TPH() / CLH() / b"1234")
    wide = to_cna24(frame)
    if cut < 14 + 4 + 8 + 8 + 12:
        assert to_cna24(frame[:cut]) == frame[:cut]
    if cut < 14 + 4 + 8 + 12 + 16:
        assert from_cna24(wide[:cut]) == wide[:cut]


def test_an_address_of_more_than_16_bits_is_not_converted_back() -> None:
    for fields in ({"scna": 0x10009}, {"dcna": 0x10009}):
        frame = bytes(Ether() / LPH(cfg=13) / NTH24(**fields) / RTPH() / CLH())
        assert from_cna24(frame) == frame


def test_a_length_that_the_link_header_cannot_hold_is_not_converted() -> None:
    room = MAX_LINK_BYTES - 4 - 8 - 12 - 16
    fits = bytes(Ether() / LPH() / NTH() / TPH() / CLH() / bytes(room - 8))
    assert decode_length(Ether(to_cna24(fits))[LPH].length) == MAX_LINK_BYTES
    longer = bytes(Ether() / LPH() / NTH() / TPH() / CLH() / bytes(room))
    assert to_cna24(longer) == longer
