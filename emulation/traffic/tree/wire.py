# SPDX-License-Identifier: Apache-2.0
"""Frames of collectives in switches: a reduction header, and a block of values or none.

A frame is Ethernet, LPH, a source-route header on the way from a host to its first switch, NTH and RDH
(emulation.traffic.frames.layers), then VALUE_BYTES of values if RDH.filled is set.
"""

import struct
from typing import Final, NamedTuple

from emulation.traffic.frames.values import (
    CFG_CNA16,
    CFG_SOURCE_ROUTE,
    ETHERTYPE,
    NLP_REDUCTION,
    VALUE_BYTES,
    VL_DATA,
    Combining,
    ReductionKind,
    decode_length,
    encode_length,
)
from emulation.traffic.frames.wire import ETHERNET_BYTES, SRH_BYTES, mac_bytes

__all__ = ["EVERY_LEAF", "FRAME_BYTES", "HEADER_BYTES", "ReductionFields", "read_frame", "write_frame"]

EVERY_LEAF: Final = 0xFFFF
"""RDH.owner of a block whose result values every leaf gets."""

_LINK = struct.Struct(">6s6sHI")  # Ethernet, LPH
_ROUTE = struct.Struct(">HB5x")  # SRH with one instruction
_HEADERS = struct.Struct(">HHHBBBBHHHI")  # NTH, RDH
HEADER_BYTES: Final = _LINK.size + _HEADERS.size
"""Bytes of a frame from Ethernet to RDH, without source route and values."""
FRAME_BYTES: Final = HEADER_BYTES + VALUE_BYTES
"""Bytes of a frame with values, without source route."""

_VL_SHIFT = 21
_CFG_SHIFT = 16
_FIRST_HOP = 0x800  # ptr 0, and the bitmap of a source route with one instruction
_KINDS, _OPERATIONS = frozenset(ReductionKind), frozenset(Combining)


class ReductionFields(NamedTuple):
    """Fields of a frame in a tree of switches.

    `values` has VALUE_BYTES bytes or none. `route` is the egress port of the sender's own switch, None for a
    frame without source route.
    """

    kind: int
    tree: int
    block: int
    scna: int
    dcna: int
    operation: int = Combining.SUM
    wide: bool = False
    wrapped: bool = False
    owner: int = EVERY_LEAF
    scale: int = 0
    values: bytes = b""
    vl: int = VL_DATA
    route: int | None = None


def write_frame(fields: ReductionFields) -> bytes:
    """Return the bytes of a frame."""
    steered = fields.route is not None
    length = HEADER_BYTES - ETHERNET_BYTES + SRH_BYTES * steered + len(fields.values)
    cfg = CFG_SOURCE_ROUTE if steered else CFG_CNA16
    return b"".join(
        (
            _LINK.pack(
                mac_bytes(fields.dcna),
                mac_bytes(fields.scna),
                ETHERTYPE,
                fields.vl << _VL_SHIFT | cfg << _CFG_SHIFT | encode_length(length),
            ),
            b"" if fields.route is None else _ROUTE.pack(_FIRST_HOP, fields.route),
            _HEADERS.pack(
                fields.scna,
                fields.dcna,
                0,
                0,
                NLP_REDUCTION,
                fields.kind << 4 | fields.operation << 1 | fields.wide,
                bool(fields.values) << 7 | fields.wrapped << 6,
                fields.tree,
                fields.owner,
                fields.scale,
                fields.block,
            ),
            fields.values,
        )
    )


def read_frame(frame: bytes) -> ReductionFields | str:
    """Return the fields of a frame, or the name of the counter for a bad frame; ignore trailing bytes."""
    if len(frame) < HEADER_BYTES:
        return "short"
    _, _, ethertype, lph = _LINK.unpack_from(frame)
    if ethertype != ETHERTYPE:
        return "ethertype"
    at, route = _LINK.size, None
    cfg = lph >> _CFG_SHIFT & 0xF
    if cfg == CFG_SOURCE_ROUTE:
        _, route = _ROUTE.unpack_from(frame, at)
        at += SRH_BYTES
    elif cfg != CFG_CNA16:
        return "cfg"
    size = decode_length(lph & 0x3FFF)
    if len(frame) < at + _HEADERS.size or size is None or not size <= len(frame) - ETHERNET_BYTES:
        return "length"
    scna, dcna, _, _, service, first, second, tree, owner, scale, block = _HEADERS.unpack_from(frame, at)
    if service & 0xF != NLP_REDUCTION:
        return "management" if service & 0x8 else "nlp"
    at += _HEADERS.size
    values = frame[at : at + VALUE_BYTES] if second >> 7 else b""
    if size != at - ETHERNET_BYTES + len(values) or len(values) not in (0, VALUE_BYTES):
        return "length"
    kind, operation = first >> 4, first >> 1 & 7
    if kind not in _KINDS or operation not in _OPERATIONS:
        return "opcode"
    return ReductionFields(
        kind,
        tree,
        block,
        scna,
        dcna,
        operation,
        bool(first & 1),
        bool(second & 0x40),
        owner,
        scale,
        values,
        lph >> _VL_SHIFT & 0xF,
        route,
    )
