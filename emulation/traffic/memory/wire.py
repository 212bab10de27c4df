# SPDX-License-Identifier: Apache-2.0
"""Frames of memory operations: requests, and responses with the PSN of their request.

A frame is Ethernet, LPH, NTH, TPH and MOH (emulation.traffic.frames.layers), then data. The PSN numbers the
requests of a connection. `ack_psn` of a request is the PSN of the oldest request without a response.
"""

import struct
from typing import Final, NamedTuple

from emulation.traffic.frames.values import (
    CFG_CNA16,
    ETHERTYPE,
    VL_DATA,
    VL_RESPONSE,
    Flags,
    Opcode,
    Operation,
    decode_length,
    encode_length,
)
from emulation.traffic.frames.wire import ETHERNET_BYTES, MAX_PAYLOAD_BYTES, PSN_MASK, mac_bytes

__all__ = [
    "HEADER_BYTES",
    "MAX_BYTES",
    "MemoryFields",
    "read_frame",
    "write_frame",
]

_HEADER = struct.Struct(">6s6sHIHHHBBBBHQBBHQ")  # Ethernet, LPH, NTH, TPH with dst_q/psn/ack_psn as one, MOH
HEADER_BYTES: Final = _HEADER.size
MAX_BYTES: Final = MAX_PAYLOAD_BYTES - 16
"""Largest data of an operation: the largest payload, less room for the operands of an atomic."""

_VL_SHIFT = 21
_CFG_SHIFT = 16
_PER_PACKET = 1 << 15  # lb_mode: each frame has a load-balance value of its own


_OPERATIONS = frozenset(Operation)


class MemoryFields(NamedTuple):
    """Fields of a request or response of a memory operation.

    `oldest`, the TPH field ack_psn, is the PSN of the oldest request without a response; 0 in responses.
    `address` is in bytes.
    """

    response: bool
    scna: int
    dcna: int
    lb: int
    psn: int
    oldest: int
    operation: int
    status: int
    length: int
    address: int
    data: bytes


def write_frame(fields: MemoryFields, *, retransmission: bool = False) -> bytes:
    """Return the frame of a request or response."""
    opcode = Opcode.RESPONSE if fields.response else Opcode.REQUEST
    vl, level = (VL_RESPONSE, 1) if fields.response else (VL_DATA, 0)
    length = encode_length(HEADER_BYTES - ETHERNET_BYTES + len(fields.data))
    header = _HEADER.pack(
        mac_bytes(fields.dcna),
        mac_bytes(fields.scna),
        ETHERTYPE,
        vl << _VL_SHIFT | CFG_CNA16 << _CFG_SHIFT | _PER_PACKET | length,
        fields.scna,
        fields.dcna,
        0,
        fields.lb & 0xFF,
        level << 4,
        opcode,
        Flags.RETRANSMISSION if retransmission else 0,
        0,
        fields.psn << 24 | fields.oldest,
        fields.operation,
        fields.status,
        fields.length,
        fields.address,
    )
    return header + fields.data


def read_frame(frame: bytes) -> MemoryFields | str:
    """Return the fields of a frame, or the name of the counter for a bad frame; ignore trailing bytes."""
    if len(frame) < HEADER_BYTES:
        return "short"
    (
        _, _, ethertype, lph, scna, dcna, _, lb, service, opcode, _, _, word,
        operation, status, length, address,
    ) = _HEADER.unpack_from(frame)  # fmt: skip
    if ethertype != ETHERTYPE:
        return "ethertype"
    if lph >> _CFG_SHIFT & 0xF != CFG_CNA16:
        return "cfg"
    size = decode_length(lph & 0x3FFF)
    if size is None or not HEADER_BYTES - ETHERNET_BYTES <= size <= len(frame) - ETHERNET_BYTES:
        return "length"
    if service & 0x8:
        return "management"
    if opcode not in (Opcode.REQUEST, Opcode.RESPONSE) or operation not in _OPERATIONS:
        return "opcode"
    return MemoryFields(
        opcode == Opcode.RESPONSE,
        scna,
        dcna,
        lb,
        word >> 24 & PSN_MASK,
        word & PSN_MASK,
        operation,
        status,
        length,
        address,
        frame[HEADER_BYTES : size + ETHERNET_BYTES],
    )
