# SPDX-License-Identifier: Apache-2.0
"""Management frames byte for byte as Scapy builds them; LACPDUs as IEEE 802.1AX has them, and in programs."""

import random

import pytest
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from controller import Notice, Subscription
from controller.forwarding.pipeline import DropReason
from controller.paths.source_route import pack
from controller.recovery.hello import Hello
from controller.recovery.lacp import SYSTEM, UNKNOWN_PARTNER, Lacpdu, Participant, State
from controller.recovery.messages import Acknowledgement
from emulation.control.frames import (
    hello_frame,
    is_slow,
    lacpdu_frame,
    message_frame,
    read_lacpdu,
    read_management,
    sender_of,
)
from emulation.errors import FrameError
from emulation.traffic.frames.layers import LPH, NTH, NTH24, SRH, SRH24, LinkNotice
from emulation.traffic.frames.values import mac
from tests.emulation.programs.standing import Standing, installed, router
from tests.emulation.programs.ub_reference import CPU_PORT, GPU, HRS, LRS, NPU, RAIL, packet_out

__all__ = ["installed", "router"]  # fixtures

UP = State.ACTIVITY | State.SHORT_TIMEOUT | State.AGGREGATION | State.SYNCHRONIZATION
PDU = Lacpdu(Participant(SYSTEM, 3, 303, UP), Participant("02:00:00:00:00:05", 1, 2, State.ACTIVITY))
FRAME = lacpdu_frame(PDU, SYSTEM)


def built(scna: int, dcna: int, ports: list[int], **fields: int) -> bytes:
    """Return a management frame of Scapy's layers."""
    frame: Packet = Ether(src=mac(scna), dst=mac(dcna)) / LPH()
    if ports:
        bitmap, instructions = pack(ports)
        frame /= SRH(bitmap=bitmap, instr=list(instructions.to_bytes(6)))
    return bytes(frame / NTH(scna=scna, dcna=dcna, mgmt=1) / LinkNotice(**fields))


@pytest.mark.parametrize("seed", range(20))
def test_management_frames_are_those_of_the_layers(seed: int) -> None:
    draw = random.Random(seed)
    scna, dcna, origin, cna_a, cna_b, sequence = (draw.randrange(1 << 16) for _ in range(6))
    port_a, port_b = draw.randrange(256), draw.randrange(256)
    ports = [draw.randrange(256) for _ in range(seed % 7)]
    link = {"cna_a": cna_a, "port_a": port_a, "cna_b": cna_b, "port_b": port_b, "origin": origin}
    up = bool(seed % 2)
    notice, watch = Notice(**link, up=up, sequence=sequence), Subscription(**link)
    hello = Hello(cna=cna_a, port=port_a, neighbour_cna=cna_b, neighbour_port=port_b, hears=up)
    answer = Acknowledgement(**link, subscription=not up, sequence=sequence)
    frames = {
        notice: message_frame(notice, scna, dcna, ports),
        watch: message_frame(watch, scna, dcna, ports),
        hello: hello_frame(hello),
        answer: message_frame(answer, scna, dcna, ports),
    }
    assert frames[notice] == built(scna, dcna, ports, state=int(up), sequence=sequence, **link)
    assert frames[watch] == built(scna, dcna, ports, state=4, **link)
    assert frames[hello] == built(cna_a, cna_b, [], state=2 + up, **{**link, "origin": cna_a})
    assert frames[answer] == built(scna, dcna, ports, state=5 + (not up), sequence=sequence, **link)
    assert {sender_of(frames[notice]), sender_of(frames[answer])} == {scna}
    for said, frame in frames.items():
        assert read_management(frame) == said


@pytest.mark.parametrize("seed", range(10))
def test_frames_with_wrong_bytes_are_read_as_scapy_reads_them(seed: int) -> None:
    draw = random.Random(seed)
    notice = Notice(cna_a=1, port_a=2, cna_b=3, port_b=4, origin=5, up=True, sequence=6)
    for _ in range(60):
        frame = bytearray(message_frame(notice, 7, 8, [1] * draw.randrange(2)))
        for _ in range(draw.randrange(3)):
            frame[draw.randrange(len(frame))] = draw.randrange(256)
        frame += bytes(draw.choice((0, 0, 22)))
        layers = Ether(bytes(frame))
        layer = layers.getlayer(LinkNotice)
        read = read_management(bytes(frame))
        assert (read is None) == (layer is None or layer.version != 1 or layer.state > 6)
        if isinstance(read, Notice) and layer is not None:
            assert (read.cna_a, read.port_b, read.origin) == (layer.cna_a, layer.port_b, layer.origin)
            assert (read.up, read.sequence) == (layer.state == 1, layer.sequence)
        if read is not None and NTH in layers:
            assert sender_of(bytes(frame)) == layers[NTH].scna


@pytest.mark.parametrize("seed", range(10))
def test_frames_of_every_form_are_read_as_scapy_reads_them(seed: int) -> None:
    """CNA16 and CNA24, steered or not, padded, cut short, with a bit flipped in a header."""
    draw = random.Random(seed)
    notice = Notice(cna_a=1, port_a=2, cna_b=3, port_b=4, origin=5, up=True, sequence=6)
    said = LinkNotice(state=1, sequence=6, cna_a=1, port_a=2, cna_b=3, port_b=4, origin=5)
    read = 0
    for _ in range(300):
        wide, steered = draw.random() < 0.5, draw.random() < 0.5
        packet: Packet = Ether(src=mac(7), dst=mac(8)) / LPH()
        if steered:
            packet /= (SRH24 if wide else SRH)(bitmap=0x800, instr=[1])
        packet /= NTH24(scna=7, dcna=8, mgmt=1, nlp=0) if wide else NTH(scna=7, dcna=8, mgmt=1)
        frame = bytearray(bytes(packet / said)) + bytes(draw.choice((0, 0, 22)))
        for _ in range(draw.randrange(2)):
            frame[draw.randrange(12, len(frame))] ^= 1 << draw.randrange(8)
        frame = frame[: draw.choice((len(frame), len(frame), draw.randrange(15, len(frame))))]
        layers = Ether(bytes(frame))
        layer = layers.getlayer(LinkNotice)
        message = read_management(bytes(frame))
        assert (message is None) == (layer is None or layer.version != 1 or layer.state > 6)
        if message is not None:
            read += message == notice
            assert sender_of(bytes(frame)) == layers[NTH24 if NTH24 in layers else NTH].scna
    assert read > 100


def test_other_frames_have_no_sender() -> None:
    with pytest.raises(FrameError, match="not a management frame"):
        sender_of(bytes(64))


def test_bytes() -> None:
    assert (
        bytes.fromhex(
            "0180c2000002 00005e000101 8809 01 01"
            "01 14 0000 00005e000101 0003 0000 012f 0f 000000"
            "02 14 0000 020000000005 0001 0000 0002 01 000000"
            "03 10 0000" + "00" * 12 + "00 00" + "00" * 50
        )
        == FRAME
    )
    assert len(FRAME) == 124


@pytest.mark.parametrize("pdu", [PDU, Lacpdu(PDU.actor, UNKNOWN_PARTNER)])
def test_what_is_said_is_read(pdu: Lacpdu) -> None:
    assert read_lacpdu(lacpdu_frame(pdu, SYSTEM)) == pdu


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        FRAME[:12] + b"\x88\xb5" + FRAME[14:],
        FRAME[:14] + b"\x02" + FRAME[15:],
        FRAME[:15] + b"\x09" + FRAME[16:],
    ],
    ids=["nothing", "another type", "another slow protocol", "another version"],
)
def test_what_is_none_is_not_read(frame: bytes) -> None:
    assert read_lacpdu(frame) is None


def test_what_is_slow() -> None:
    assert is_slow(FRAME)
    assert not is_slow(b"")


@pytest.mark.parametrize("router", [GPU, RAIL], indirect=True, ids=["GPU", "rail switch"])
class TestPrograms:
    @pytest.mark.parametrize("port", [1, 9, 17])
    def test_to_the_controller_with_its_port(self, router: Standing, port: int) -> None:
        assert router(port, FRAME) == [(CPU_PORT, (port << 7).to_bytes(2) + FRAME)]

    def test_from_the_controller_out_of_a_port(self, router: Standing) -> None:
        assert router(CPU_PORT, packet_out(FRAME, egress_port=17, routed=0)) == [(17, FRAME)]

    def test_it_is_no_refusal(self, router: Standing) -> None:
        router(1, FRAME)
        assert router.dropped() == {}


@pytest.mark.parametrize("router", [NPU, LRS, HRS], indirect=True, ids=["NPU", "LRS", "HRS"])
def test_others_refuse_it(router: Standing) -> None:
    assert router(1, FRAME) == []
    assert router.dropped() == {DropReason.ETHERTYPE: 1}
