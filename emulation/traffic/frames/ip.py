# SPDX-License-Identifier: Apache-2.0
"""IPv4 over UB, sans-IO: IPv4 packets of a host's programs travel as the payload of UB frames.

    program ── Ethernet, IPv4 ──▶ IpPort ── Ethernet, LPH, NTH, TPH (opcode IPV4), IPv4 packet ──▶ switch

The source's switch adds the source-route header, as to every other frame. A host's IPv4 address follows from
its CNA. The port itself answers ARP requests for hosts of the fabric and sends no frame into the fabric.
Packets of a flow share a path bucket, so they keep their order unless a route changes.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Final, final
from zlib import crc32

from emulation.errors import FrameError
from emulation.traffic.frames.values import (
    CFG_CNA16,
    ETHERTYPE,
    MAX_LINK_BYTES,
    SERVICE_LEVELS,
    Opcode,
    decode_length,
    encode_length,
)
from emulation.traffic.frames.wire import PSN_MASK, SRH_BYTES, mac_bytes

__all__ = ["HEADER_BYTES", "MIN_MTU", "PREFIX_LENGTH", "IpCounters", "IpPort", "address_of", "ip_mtu"]

PREFIX_LENGTH: Final = 8
"""All hosts share the network 10.0.0.0/8, so every host reaches every other without a route."""

HEADER_BYTES: Final = 4 + 8 + 12
"""Bytes of LPH, NTH and TPH before the IPv4 packet."""

MIN_MTU: Final = 68
"""Smallest MTU of IPv4 (RFC 791)."""

_NETWORK: Final = b"\x0a\x01"
_ETHERNET: Final = 14
_FRAME = struct.Struct(
    ">6s6sHIHHxxBBBBHHIxx"
)  # Ethernet, LPH, NTH, TPH; the PSN of the TPH is in the upper 24 of 32 bits
_ARP = struct.Struct(">HHBBH6s4s6s4s")
_TYPE_IPV4, _TYPE_ARP = 0x0800, 0x0806
_ARP_REQUEST, _ARP_REPLY = 1, 2
_PACKET_AT: Final = _ETHERNET + HEADER_BYTES
_WITH_PORTS = frozenset({6, 17, 132})  # TCP, UDP, SCTP: ports are the first four bytes
_VL_SHIFT, _CFG_SHIFT = 21, 16


def address_of(cna: int) -> IPv4Address:
    """Return the IPv4 address of the host with a CNA of 16 bits: 10.1, then the two bytes of the CNA."""
    return IPv4Address(_NETWORK + cna.to_bytes(2, "big"))


def ip_mtu(link_mtu: int) -> int:
    """Return the largest size in bytes of an IPv4 packet on links that carry UB packets of `link_mtu` bytes.

    LPH, NTH, TPH and the source-route header that a switch adds take the difference.

    Raises:
        FrameError: The remaining size is below the smallest MTU of IPv4.
    """
    mtu = min(link_mtu, MAX_LINK_BYTES) - HEADER_BYTES - SRH_BYTES
    if mtu < MIN_MTU:
        raise FrameError(
            f"links that carry {link_mtu} bytes leave {mtu} bytes for an IPv4 packet",
            remedy=f"IPv4 needs {MIN_MTU}: take links of {MIN_MTU + HEADER_BYTES + SRH_BYTES} bytes or more",
        )
    return mtu


@final
@dataclass(slots=True)
class IpCounters:
    """Packet counts of an IPv4 port.

    `sent` and `received` count IPv4 packets, `answered` ARP requests. `refused` counts frames of the programs
    that the fabric does not carry: another protocol than IPv4, a broadcast or multicast destination, a
    destination outside of the fabric, a packet longer than the MTU or unequal to its length field.
    `malformed` counts frames of the fabric for this port whose headers do not fit their length.
    """

    sent: int = 0
    received: int = 0
    answered: int = 0
    refused: int = 0
    malformed: int = 0


@final
@dataclass(slots=True)
class IpPort:
    """The IPv4 port of the host with CNA `cna`; `hosts` are the CNAs of all hosts with such a port."""

    cna: int
    hosts: Iterable[int]
    mtu: int
    counters: IpCounters = field(default_factory=IpCounters)
    _others: dict[bytes, int] = field(init=False)
    _psn: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._others = {mac_bytes(cna): cna for cna in self.hosts if cna != self.cna}

    def from_program(self, frame: bytes) -> tuple[bytes | None, bytes | None]:
        """Return (UB frame for the fabric, None), (None, ARP reply for the host's programs) or (None, None).

        `frame` is an Ethernet frame that the host's programs send, without frame check sequence. Dropped
        frames are counted as refused.
        """
        kind = int.from_bytes(frame[12:14], "big")
        if kind == _TYPE_IPV4:
            return self._carried(frame), None
        if kind == _TYPE_ARP and (answer := self._arp(frame)) is not None:
            self.counters.answered += 1
            return None, answer
        self.counters.refused += 1
        return None, None

    def _carried(self, frame: bytes) -> bytes | None:
        destination = self._others.get(frame[:6])
        size = int.from_bytes(frame[16:18], "big")  # total length, without the padding of a short frame
        packet = frame[_ETHERNET : _ETHERNET + size]
        if destination is None or not 20 <= size == len(packet) <= self.mtu or packet[0] >> 4 != 4:
            self.counters.refused += 1
            return None
        self.counters.sent += 1
        self._psn = self._psn + 1 & PSN_MASK
        # The class selector of RFC 2474: CS2 to CS7 are the service levels 2 to 7.
        level = packet[1] >> 5
        level = level if level in SERVICE_LEVELS else 0
        lph = 2 * level << _VL_SHIFT | CFG_CNA16 << _CFG_SHIFT | encode_length(HEADER_BYTES + size)
        headers = _FRAME.pack(
            frame[:6],
            mac_bytes(self.cna),
            ETHERTYPE,
            lph,
            self.cna,
            destination,
            _bucket(packet),
            level << 4,
            Opcode.IPV4,
            0,
            0,
            0,
            self._psn << 8,
        )
        return headers + packet

    def _arp(self, frame: bytes) -> bytes | None:
        """Return the ARP reply to a request for another host of the fabric; None for any other frame."""
        if len(frame) < _ETHERNET + _ARP.size:
            return None
        *kind, operation, sender_mac, sender_ip, _, target_ip = _ARP.unpack_from(frame, _ETHERNET)
        if kind != [1, _TYPE_IPV4, 6, 4] or operation != _ARP_REQUEST or target_ip[:2] != _NETWORK:
            return None
        target_mac = mac_bytes(int.from_bytes(target_ip[2:], "big"))
        if target_mac not in self._others:
            return None
        reply = _ARP.pack(1, _TYPE_IPV4, 6, 4, _ARP_REPLY, target_mac, target_ip, sender_mac, sender_ip)
        return sender_mac + target_mac + _TYPE_ARP.to_bytes(2, "big") + reply

    def from_fabric(self, frame: bytes) -> bytes | None:
        """Return the Ethernet frame for the host's programs; None unless `frame` has IPv4 for this host."""
        if len(frame) < _PACKET_AT:
            return None
        _, _, kind, lph, source, destination, _, mgmt, opcode, *_ = _FRAME.unpack_from(frame)
        is_ours = (kind, lph >> _CFG_SHIFT & 0xF, opcode) == (ETHERTYPE, CFG_CNA16, Opcode.IPV4)
        if not is_ours or mgmt & 8 or destination != self.cna:
            return None
        size = decode_length(lph & 0x3FFF)
        packet = frame[_PACKET_AT : _ETHERNET + (size or 0)]
        if size is None or size > len(frame) - _ETHERNET or len(packet) < 20:
            self.counters.malformed += 1
            return None
        self.counters.received += 1
        return mac_bytes(self.cna) + mac_bytes(source) + _TYPE_IPV4.to_bytes(2, "big") + packet


def _bucket(packet: bytes) -> int:
    """Return NTH.lb for a packet: a hash of addresses, protocol and, in unfragmented packets, ports."""
    start = 4 * (packet[0] & 0xF)
    fragment = int.from_bytes(packet[6:8], "big") & 0x3FFF  # MF flag and fragment offset
    ports = packet[start : start + 4] if packet[9] in _WITH_PORTS and not fragment else b""
    return crc32(packet[12:20] + packet[9:10] + ports) & 0xFF
