# SPDX-License-Identifier: Apache-2.0
"""IPv4 over UB without interfaces: bytes of frames, ARP, what is refused, and the flows' buckets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP
from scapy.packet import Packet

from emulation.errors import FrameError
from emulation.traffic.frames.ip import HEADER_BYTES, IpPort, address_of, ip_mtu
from emulation.traffic.frames.layers import LPH, NTH, TPH, Ether
from emulation.traffic.frames.values import MAX_LINK_BYTES, Opcode, decode_length, mac

HOSTS = (0x0000, 0x0102, 0xFFFF)
MTU = 1000


def port(cna: int = HOSTS[0]) -> IpPort:
    return IpPort(cna, HOSTS, MTU)


def ip_frame(source: int, destination: int, payload: Packet, **fields: int | str) -> bytes:
    packet = IP(src=str(address_of(source)), dst=str(address_of(destination)), **fields) / payload
    return bytes(Ether(src=mac(source), dst=mac(destination)) / packet)


def carried(frame: bytes, cna: int = HOSTS[0]) -> bytes:
    ub, answer = port(cna).from_program(frame)
    assert ub is not None
    assert answer is None
    return ub


@given(st.sampled_from(HOSTS), st.sampled_from(HOSTS), st.binary(max_size=MTU - 28))
def test_a_packet_arrives_as_it_was_sent(source: int, destination: int, payload: bytes) -> None:
    frame = ip_frame(source, destination, UDP(sport=7, dport=9) / payload)
    ub, answer = port(source).from_program(frame)
    assert answer is None
    if source == destination:
        assert ub is None
        return
    assert ub is not None
    assert port(destination).from_fabric(ub) == frame
    assert port(destination).from_fabric(ub + bytes(14)) == frame, "the carrier's padding is no packet"
    assert port(source).from_fabric(ub) is None, "for another host"


def test_headers_are_those_of_the_wire_format() -> None:
    frame = ip_frame(0, 0x0102, TCP(sport=40000, dport=29500) / b"abc", tos=0xA0)
    shown = Ether(carried(frame))
    assert (shown.src, shown.dst, shown.type) == (mac(0), mac(0x0102), 0x88B5)
    assert (shown[NTH].scna, shown[NTH].dcna, shown[NTH].mgmt, shown[NTH].nlp) == (0, 0x0102, 0, 0)
    assert (shown[TPH].opcode, shown[TPH].psn, shown[TPH].ack_psn) == (Opcode.IPV4, 1, 0)
    assert (shown[NTH].sl, shown[LPH].vl) == (5, 10), "CS5 of the packet is service level 5, whose VL is 10"
    assert decode_length(shown[LPH].length) == HEADER_BYTES + 43
    assert bytes(shown[TPH].payload) == frame[14:]
    assert len(carried(frame)) == 14 + HEADER_BYTES + 43


@pytest.mark.parametrize(("tos", "level"), [(0, 0), (0x20, 0), (0x40, 2), (0xE0, 7)])
def test_the_class_selector_is_the_service_level(tos: int, level: int) -> None:
    shown = Ether(carried(ip_frame(0, 0x0102, UDP() / b"x", tos=tos)))
    assert (shown[NTH].sl, shown[LPH].vl) == (level, 2 * level)


def test_packets_of_a_flow_share_a_bucket_and_flows_spread() -> None:
    def bucket(**ports: int) -> int:
        return Ether(carried(ip_frame(0, 0x0102, TCP(**ports) / b"x")))[NTH].lb & 15

    assert bucket(sport=1, dport=2) == bucket(sport=1, dport=2)
    assert {bucket(sport=40000 + number, dport=29500) for number in range(200)} == set(range(16))
    fragments = [ip_frame(0, 0x0102, UDP(sport=sport, dport=2) / bytes(8), flags="MF") for sport in range(20)]
    assert len({Ether(carried(frame))[NTH].lb for frame in fragments}) == 1, "later fragments have no ports"


def test_arp_is_answered_for_hosts_of_the_fabric_only() -> None:
    def ask(target: str) -> bytes | None:
        question = ARP(op=1, hwsrc=mac(0), psrc="10.1.0.0", pdst=target)
        ub, answer = port().from_program(bytes(Ether(src=mac(0), dst="ff:ff:ff:ff:ff:ff") / question))
        assert ub is None
        return answer

    answer = ask("10.1.1.2")
    assert answer is not None
    told = Ether(answer)
    assert (told.dst, told.src, told[ARP].op) == (mac(0), mac(0x0102), 2)
    assert (told[ARP].hwsrc, told[ARP].psrc, told[ARP].pdst) == (mac(0x0102), "10.1.1.2", "10.1.0.0")
    assert [ask(other) for other in ("10.1.0.0", "10.1.7.7", "10.2.1.2", "192.168.1.2")] == [None] * 4


@pytest.mark.parametrize(
    "frame",
    [
        ip_frame(0, 0x0102, UDP() / bytes(MTU - 27)),
        ip_frame(0, 0x0102, ICMP())[:30],
        bytes(Ether(src=mac(0), dst="ff:ff:ff:ff:ff:ff") / IP(dst="10.255.255.255") / UDP()),
        bytes(Ether(src=mac(0), dst=mac(0x0707)) / IP(dst="10.1.7.7") / UDP()),
        bytes(Ether(src=mac(0), dst=mac(0x0102), type=0x86DD) / bytes(40)),
        b"",
    ],
    ids=["long", "cut", "broadcast", "stranger", "ipv6", "empty"],
)
def test_what_the_fabric_does_not_carry_is_refused_and_counted(frame: bytes) -> None:
    own = port()
    assert own.from_program(frame) == (None, None)
    assert (own.counters.refused, own.counters.sent) == (1, 0)


@pytest.mark.parametrize("size", [0, 26, 57, 73, 600])
def test_a_frame_whose_length_is_wrong_is_no_packet(size: int) -> None:
    ub = bytearray(carried(ip_frame(0, 0x0102, UDP() / bytes(20))))
    receiver = port(0x0102)
    if size == 0:
        ub[17] |= 31  # a last flit of 32 bytes
    else:
        ub[16:18] = bytes(Ether(src=mac(0), dst=mac(1)) / LPH() / bytes(size - 4))[16:18]
    got = receiver.from_fabric(bytes(ub))
    if size == 57:  # shorter than the IPv4 packet says, which the kernel finds out
        assert got is not None
    else:
        assert got is None
        assert receiver.counters.malformed == 1


@given(st.binary(max_size=80))
def test_no_bytes_break_a_port(frame: bytes) -> None:
    own = port()
    own.from_program(frame)
    own.from_program(frame[:12] + b"\x08\x06" + frame[14:])
    own.from_program(frame[:12] + b"\x08\x00" + frame[14:])
    own.from_fabric(frame[:12] + b"\x88\xb5" + frame[14:])


def test_the_mtu_leaves_room_for_every_header() -> None:
    assert ip_mtu(MAX_LINK_BYTES) == ip_mtu(65535) == MAX_LINK_BYTES - HEADER_BYTES - 8
    assert ip_mtu(100) == 68
    with pytest.raises(FrameError, match="links that carry 99 bytes leave 67"):
        ip_mtu(99)
