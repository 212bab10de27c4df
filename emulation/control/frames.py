# SPDX-License-Identifier: Apache-2.0
"""Frames of the control plane: management frames, and LACPDUs.

Management frames carry notices, subscriptions, their acknowledgements, and hellos
(docs/reference/wire-format.md). `struct` packs and parses them for speed: a failure in a Pod sends thousands.
Scapy's layers define them (emulation.traffic.frames.layers), and tests compare both. An LACPDU has Ethernet
type 0x8809 (IEEE 802.1AX).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from controller import Notice, Subscription
from controller.paths.source_route import MAX_INSTRUCTIONS, pack
from controller.recovery.hello import Hello
from controller.recovery.lacp import Lacpdu, Participant, State
from controller.recovery.messages import Acknowledgement
from emulation.errors import FrameError
from emulation.traffic.frames.values import (
    CFG_CNA16,
    CFG_CNA24,
    CFG_SOURCE_ROUTE,
    CFG_SOURCE_ROUTE_CNA24,
    ETHERTYPE,
    decode_length,
    encode_length,
)
from emulation.traffic.frames.wire import ETHERNET_BYTES, SRH_BYTES, mac_bytes

# Scapy is imported by the functions that use it: importing it takes longer than a small run.
if TYPE_CHECKING:
    from scapy.packet import Packet

__all__ = [
    "SLOW_ETHERTYPE",
    "hello_frame",
    "is_slow",
    "lacpdu_frame",
    "message_frame",
    "read_lacpdu",
    "read_management",
    "sender_of",
]

# LinkNotice.state
_DOWN, _UP, _HELLO, _HELLO_HEARD, _WATCH, _ACKNOWLEDGED, _WATCH_ACKNOWLEDGED = range(7)

SLOW_ETHERTYPE = 0x8809

# Destination of slow protocols: bridges do not forward it, so frames reach the link's other end only.
_GROUP = "01:80:c2:00:00:02"

_MACS = struct.Struct(">6s6s")
_SOURCE_ROUTE = struct.Struct(f">H{MAX_INSTRUCTIONS}s")
_CNAS = struct.Struct(">HH")
# Fields of a LinkNotice: version, state, sequence, CNA and port of both ends, origin.
_MESSAGE = struct.Struct(">BBHHBHBH")
_MESSAGE_VERSION = 1
_LPH_BYTES, _NTH_BYTES, _NTH24_BYTES = 4, 8, 12
# NTH: flag of management frames, mask of nlp. LPH: mask and shift of cfg, mask of length.
_MGMT, _NLP, _CFG, _CFG_SHIFT, _LENGTH = 8, 7, 0xF, 16, 0x3FFF
_FORM = _CFG << _CFG_SHIFT | _LENGTH
_CARRIER = struct.Struct(">12xHI")  # Ethernet type, LPH
# A frame without source route, in front of its message: Ethernet type, LPH, source CNA, octet with _MGMT.
_PLAIN = struct.Struct(">12xHIH5xB")
_PLAIN_AT = _PLAIN.size
_PLAIN_FORM = CFG_CNA16 << _CFG_SHIFT | encode_length(_LPH_BYTES + _NTH_BYTES + _MESSAGE.size)
_LACP = 1
_VERSION = 1


def message_frame(
    message: Notice | Subscription | Acknowledgement,
    source_cna: int,
    destination_cna: int,
    ports: Sequence[int] = (),
) -> bytes:
    """Return the management frame that carries a message; with `ports`, source-routed through these ports."""
    if isinstance(message, Subscription):
        content = _message(_WATCH, message)
    elif isinstance(message, Notice):
        content = _message(_UP if message.up else _DOWN, message, message.sequence)
    else:
        state = _WATCH_ACKNOWLEDGED if message.subscription else _ACKNOWLEDGED
        content = _message(state, message, message.sequence)
    return _frame(source_cna, destination_cna, content, ports)


@lru_cache(maxsize=1 << 14)
def hello_frame(hello: Hello) -> bytes:
    """Return the management frame of a hello for its link; frames are cached."""
    return _frame(
        hello.cna,
        hello.neighbour_cna,
        _MESSAGE.pack(
            _MESSAGE_VERSION,
            _HELLO_HEARD if hello.hears else _HELLO,
            0,
            hello.cna,
            hello.port,
            hello.neighbour_cna,
            hello.neighbour_port,
            hello.cna,
        ),
    )


@lru_cache(maxsize=1 << 14)
def read_management(frame: bytes) -> Notice | Subscription | Acknowledgement | Hello | None:
    """Return the message of a management frame; None for a frame without a known message."""
    plain = _plain_source(frame) is not None
    content = frame[_PLAIN_AT:] if plain else _parts(frame)[1]
    if len(content) < _MESSAGE.size:
        return None
    version, state, sequence, cna_a, port_a, cna_b, port_b, origin = _MESSAGE.unpack_from(content)
    if version != _MESSAGE_VERSION or state > _WATCH_ACKNOWLEDGED:
        return None
    if state in (_HELLO, _HELLO_HEARD):
        return Hello(
            cna=cna_a, port=port_a, neighbour_cna=cna_b, neighbour_port=port_b, hears=state == _HELLO_HEARD
        )
    link = {"cna_a": cna_a, "port_a": port_a, "cna_b": cna_b, "port_b": port_b, "origin": origin}
    if state == _WATCH:
        return Subscription(**link)
    if state in (_ACKNOWLEDGED, _WATCH_ACKNOWLEDGED):
        return Acknowledgement(**link, subscription=state == _WATCH_ACKNOWLEDGED, sequence=sequence)
    return Notice(**link, up=state == _UP, sequence=sequence)


@lru_cache(maxsize=1 << 14)
def sender_of(frame: bytes) -> int:
    """Return the CNA of the sender of a management frame; FrameError for any other frame."""
    source = _plain_source(frame)
    if source is None:
        source = _parts(frame)[0]
    if source is None:
        raise FrameError(f"a frame of {len(frame)} bytes is not a management frame")
    return source


def _plain_source(frame: bytes) -> int | None:
    """Return the source CNA of a management frame in CNA16 form without source route and padding.

    Nearly all received frames have this form. None for other frames, which `_parts` reads.
    """
    if len(frame) != _PLAIN_AT + _MESSAGE.size:
        return None
    ethertype, lph, source, flags = _PLAIN.unpack_from(frame)
    if ethertype == ETHERTYPE and lph & _FORM == _PLAIN_FORM and flags & _MGMT:
        return int(source)
    return None


def _parts(frame: bytes) -> tuple[int | None, bytes]:
    """Return the source CNA and payload of a management frame in any form; None and b"" for other frames.

    Forms are CNA16 and CNA24, with or without source route, with or without the carrier's padding.
    """
    if len(frame) < _CARRIER.size:
        return None, b""
    ethertype, lph = _CARRIER.unpack_from(frame)
    packet, size = frame[ETHERNET_BYTES:], decode_length(lph & _LENGTH)
    if size is not None and _LPH_BYTES <= size <= len(packet):
        packet = packet[:size]
    cfg = lph >> _CFG_SHIFT & _CFG
    steered = cfg in (CFG_SOURCE_ROUTE, CFG_SOURCE_ROUTE_CNA24)
    header = packet[_LPH_BYTES + SRH_BYTES * steered :]
    if ethertype != ETHERTYPE:
        return None, b""
    if cfg in (CFG_CNA16, CFG_SOURCE_ROUTE) and len(header) >= _NTH_BYTES and header[7] & _MGMT:
        return int.from_bytes(header[:2]), header[_NTH_BYTES:]
    wide = cfg in (CFG_CNA24, CFG_SOURCE_ROUTE_CNA24) and len(header) >= _NTH24_BYTES
    if wide and header[10] & (_MGMT | _NLP) == _MGMT:
        return int.from_bytes(header[1:4]), header[_NTH24_BYTES:]
    return None, b""


def _message(state: int, link: Notice | Subscription | Acknowledgement, sequence: int = 0) -> bytes:
    return _MESSAGE.pack(
        _MESSAGE_VERSION, state, sequence, link.cna_a, link.port_a, link.cna_b, link.port_b, link.origin
    )


def _frame(source_cna: int, destination_cna: int, message: bytes, ports: Sequence[int] = ()) -> bytes:
    frame = bytearray(_template(steered=bool(ports)))
    _MACS.pack_into(frame, 0, mac_bytes(destination_cna), mac_bytes(source_cna))
    at = ETHERNET_BYTES + _LPH_BYTES
    if ports:
        bitmap, instructions = pack(ports)
        _SOURCE_ROUTE.pack_into(frame, at, bitmap, instructions.to_bytes(MAX_INSTRUCTIONS))
        at += SRH_BYTES
    _CNAS.pack_into(frame, at, source_cna, destination_cna)
    frame[-len(message) :] = message
    return bytes(frame)


@cache
def _template(*, steered: bool) -> bytes:
    """Return a management frame whose addresses and message are zero; `steered`: with a zero source route."""
    route, cfg = (bytes(SRH_BYTES), CFG_SOURCE_ROUTE) if steered else (b"", CFG_CNA16)
    size = _LPH_BYTES + len(route) + _NTH_BYTES + _MESSAGE.size
    lph = cfg << _CFG_SHIFT | encode_length(size)
    nth = bytes(_NTH_BYTES - 1) + bytes([_MGMT])
    return bytes(12) + ETHERTYPE.to_bytes(2) + lph.to_bytes(4) + route + nth + bytes(_MESSAGE.size)


def is_slow(frame: bytes) -> bool:
    """Return whether a frame belongs to a slow protocol."""
    return frame[12:14] == SLOW_ETHERTYPE.to_bytes(2)


@lru_cache(maxsize=1 << 14)
def lacpdu_frame(pdu: Lacpdu, source: str) -> bytes:
    """Return the frame that carries an LACPDU from the MAC address `source`."""
    from scapy.contrib.lacp import LACP
    from scapy.contrib.slowprot import SlowProtocol
    from scapy.layers.l2 import Ether

    actor, partner = pdu.actor, pdu.partner
    lacp: Packet = LACP(
        version=_VERSION,
        actor_system=actor.system,
        actor_key=actor.key,
        actor_port_number=actor.port,
        actor_state=int(actor.state),
        partner_system=partner.system,
        partner_key=partner.key,
        partner_port_number=partner.port,
        partner_state=int(partner.state),
    )
    return bytes(Ether(src=source, dst=_GROUP, type=SLOW_ETHERTYPE) / SlowProtocol(subtype=_LACP) / lacp)


@lru_cache(maxsize=1 << 14)
def read_lacpdu(frame: bytes) -> Lacpdu | None:
    """Return the LACPDU in a frame; None if the frame carries no LACPDU."""
    from scapy.contrib.lacp import LACP
    from scapy.layers.l2 import Ether

    layer: Packet | None = Ether(frame).getlayer(LACP)
    if layer is None or layer.version != _VERSION:
        return None
    actor = Participant(
        layer.actor_system, layer.actor_key, layer.actor_port_number, State(layer.actor_state)
    )
    partner = Participant(
        layer.partner_system, layer.partner_key, layer.partner_port_number, State(layer.partner_state)
    )
    return Lacpdu(actor, partner)
