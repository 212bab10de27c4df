# SPDX-License-Identifier: Apache-2.0
import pytest

from emulation.errors import FrameError
from emulation.traffic.frames.layers import CLH, LPH, NTH, SACK, SRH, TPH, Ether, LinkNotice
from emulation.traffic.frames.values import MAX_LINK_BYTES, Opcode, decode_length, encode_length, mac


def test_header_sizes_are_those_of_the_wire_format() -> None:
    sizes = {layer: len(bytes(layer())) for layer in (LPH, SRH, NTH, TPH, CLH, SACK, LinkNotice)}
    assert sizes == {LPH: 4, SRH: 8, NTH: 8, TPH: 12, CLH: 16, SACK: 8, LinkNotice: 12}


def test_fields_lie_where_the_wire_format_puts_them() -> None:
    lph = bytes(LPH(credit=1, ack=0, credit_vl=0b1001, vl=0b1010, cfg=0xC, lb_mode=1, rt=0, length=0x2345))
    assert int.from_bytes(lph, "big") == 1 << 31 | 9 << 26 | 10 << 21 | 0xC << 16 | 1 << 15 | 0x2345
    assert bytes(SRH(ptr=3, bitmap=0b1101_0000_0000, instr=[7, 8, 9])) == bytes.fromhex("3d00 070809 000000")
    nth = bytes(NTH(scna=0x0102, dcna=0x0304, cc=0x0506, lb=0x17, sl=1, mgmt=1, nlp=5))
    assert nth == bytes.fromhex("0102 0304 0506 17 1d")
    tph = bytes(TPH(opcode=2, flags=1, src_q=3, dst_q=4, psn=0xABCDEF, ack_psn=0x123456))
    assert tph == bytes.fromhex("02 01 0003 0004 abcdef 123456")
    clh = bytes(CLH(job=1, op=2, dtype=2, step=3, chunk=4, offset=5, length=6))
    assert clh == bytes.fromhex("0001 02 02 0003 0004 00000005 00000006")
    notice = bytes(LinkNotice(state=1, sequence=2, cna_a=3, port_a=4, cna_b=5, port_b=6, origin=7))
    assert notice == bytes.fromhex("01 01 0002 0003 04 0005 06 0007")


def test_data_frame_dissects_back() -> None:
    payload = bytes(range(64))
    frame = (
        Ether(dst=mac(9), src=mac(8)) / LPH() / NTH(scna=8, dcna=9) / TPH(psn=5) / CLH(length=64) / payload
    )
    again = Ether(bytes(frame))
    assert [layer.__name__ for layer in again.layers()] == ["Ether", "LPH", "NTH", "TPH", "CLH", "Raw"]
    assert again.type == 0x88B5
    assert again[LPH].cfg == 6
    assert again[TPH].psn == 5
    assert bytes(again[CLH].payload) == payload
    assert bytes(again) == bytes(frame)


def test_source_routed_acknowledgement_dissects_back() -> None:
    frame = Ether(dst=mac(9), src=mac(8)) / LPH(vl=2) / SRH(ptr=1, bitmap=0x800, instr=[4]) / NTH(sl=1)
    frame = frame / TPH(opcode=Opcode.ACK, ack_psn=77) / SACK(bitmap=1 << 63)
    again = Ether(bytes(frame))
    assert again[LPH].cfg == 0xC
    assert again[SRH].instr == [4, 0, 0, 0, 0, 0]
    assert again[TPH].ack_psn == 77
    assert again[SACK].bitmap == 1 << 63
    assert bytes(again) == bytes(frame)


def test_management_frame_dissects_to_its_notice() -> None:
    frame = Ether(dst=mac(9), src=mac(8)) / LPH() / NTH(mgmt=1) / LinkNotice(cna_a=1, port_a=2, origin=1)
    again = Ether(bytes(frame))
    assert again[LinkNotice].port_a == 2
    assert TPH not in again


def test_padding_of_the_carrier_is_no_payload() -> None:
    frame = bytes(Ether(dst=mac(9), src=mac(8)) / LPH() / NTH() / TPH(opcode=Opcode.ACK) / SACK())
    assert len(frame) == 46
    again = Ether(frame + bytes(14))
    assert [layer.__name__ for layer in again.layers()] == ["Ether", "LPH", "NTH", "TPH", "SACK", "Padding"]


@pytest.mark.parametrize("cna", [0, 1, 0x1234, 0xFFFF])
def test_mac_holds_the_address(cna: int) -> None:
    assert mac(cna) == f"02:00:00:00:{cna >> 8:02x}:{cna & 255:02x}"


def test_length_survives_the_field() -> None:
    fields = [encode_length(size) for size in range(1, MAX_LINK_BYTES + 1)]
    assert len(set(fields)) == MAX_LINK_BYTES
    assert max(fields) < 1 << 14
    assert [decode_length(field) for field in fields] == list(range(1, MAX_LINK_BYTES + 1))


def test_length_counts_blocks_flits_and_bytes() -> None:
    assert encode_length(1) == 0
    assert encode_length(20) == 19
    assert encode_length(21) == 1 << 5
    assert encode_length(640) == 31 << 5 | 19
    assert encode_length(641) == 1 << 10
    assert decode_length(20) is None


@pytest.mark.parametrize("size", [0, MAX_LINK_BYTES + 1])
def test_length_that_no_header_can_say(size: int) -> None:
    with pytest.raises(FrameError, match=str(size)):
        encode_length(size)


def test_seventh_instruction_is_refused() -> None:
    with pytest.raises(FrameError, match="7 instructions"):
        bytes(SRH(instr=[1] * 7))
