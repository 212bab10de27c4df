# SPDX-License-Identifier: Apache-2.0
"""Values of header fields: service levels, VLs, opcodes, lengths.

They have a module apart from the layers, because importing Scapy takes longer than a small run.
"""

from enum import IntEnum, IntFlag
from typing import Final, Literal

from emulation.errors import FrameError

__all__ = [
    "BLOCK_FLITS",
    "CC_CAPABLE",
    "CC_CONGESTION",
    "CC_TRIMMED",
    "CFG_CNA16",
    "CFG_CNA24",
    "CFG_SOURCE_ROUTE",
    "CFG_SOURCE_ROUTE_CNA24",
    "ETHERTYPE",
    "FLIT_BYTES",
    "MAX_LINK_BYTES",
    "NLP_REDUCTION",
    "SERVED_VLS",
    "SERVICE_LEVELS",
    "VALUE_BYTES",
    "VL_DATA",
    "VL_RESPONSE",
    "Combine",
    "Combining",
    "ElementType",
    "Flags",
    "NetworkHeader",
    "NextHeader",
    "Opcode",
    "Operation",
    "ReductionKind",
    "ReliableOpcode",
    "Status",
    "decode_length",
    "encode_length",
    "mac",
]

NetworkHeader = Literal["cna16", "cna24"]
"""Network header on links: CNA16 before a TPH, or CNA24 before an RTPH."""

ETHERTYPE: Final = 0x88B5
CFG_CNA16: Final = 0x6
CFG_SOURCE_ROUTE: Final = 0xC
CFG_CNA24: Final = 0xD
CFG_SOURCE_ROUTE_CNA24: Final = 0xE
NLP_REDUCTION: Final = 4
"""NTH.nlp before a reduction header, this testbed's own."""
VALUE_BYTES: Final = 256
"""Bytes of values in a frame with a reduction header: 64 values of 32 bits, or 32 of 64 bits."""
CC_CAPABLE: Final = 0x8001
"""NTH.cc of a frame that takes congestion marks: mode FECN (UnifiedBus), no mark yet."""
CC_CONGESTION: Final = 0x8003
"""NTH.cc of a frame with CC_CAPABLE once a switch has marked it."""
CC_TRIMMED: Final = 0x8002
"""NTH.cc of a frame whose payload a switch with a full queue has removed."""
VL_DATA: Final = 0
VL_RESPONSE: Final = 2

# Service levels of data, in ascending priority; level 1 is for responses. Frames of level s start on VL 2 s.
SERVICE_LEVELS: Final = (0, 2, 3, 4, 5, 6, 7)

# VLs in ascending priority: two for each level of data, then the VLs of responses.
SERVED_VLS: Final = (*(2 * level + lane for level in SERVICE_LEVELS for lane in (0, 1)), VL_RESPONSE, 3)

FLIT_BYTES: Final = 20
BLOCK_FLITS: Final = 32
MAX_LINK_BYTES: Final = 16 * BLOCK_FLITS * FLIT_BYTES


class Opcode(IntEnum):
    """TPH opcodes.

    DATA and ACK have the numbers of the reliable transport in the simulator ns-3-UB. This testbed adds NACK,
    which answers a frame that arrived without its payload, CREDIT, by which a receiver lets a sender send,
    REQUEST and RESPONSE of memory operations, and IPV4, an IPv4 packet.
    """

    DATA = 1
    ACK = 2
    NACK = 3
    CREDIT = 4
    REQUEST = 0x40
    RESPONSE = 0x41
    IPV4 = 0x50


class ReliableOpcode(IntEnum):
    """RTPH opcodes, numbered as in OpenURMA; data and all memory operations are RELIABLE."""

    RELIABLE = 1
    SELECTIVE_ACK = 5


class NextHeader(IntEnum):
    """RTPH.nlp: the header that follows; this testbed defines the codes."""

    CLH = 0x8
    SACK = 0x9
    REQUEST = 0xA
    RESPONSE = 0xB
    IPV4 = 0xC
    CREDIT = 0xD


class Operation(IntEnum):
    """Memory operations (MOH.operation); the numbers are this testbed's own.

    UB-Mesh, section 3.2.2, names synchronous load, store and atomic, and asynchronous read, write and
    message. A read is a load, and a write a store, whose issuer does not wait.
    """

    MESSAGE = 0
    STORE = 3
    LOAD = 6
    FETCH_ADD = 7
    COMPARE_SWAP = 8


class Status(IntEnum):
    """Outcome of an operation, in its response; 0 in a request."""

    DONE = 0
    OUTSIDE = 1
    UNALIGNED = 2


class ReductionKind(IntEnum):
    """Direction of a frame in a tree of switches: to the root, or from it."""

    CONTRIBUTION = 0
    RESULT = 1


class Combining(IntEnum):
    """Operation by which the switches of a tree combine signed values."""

    SUM = 0
    MAX = 1
    MIN = 2


class Flags(IntFlag):
    """TPH flags, this testbed's own."""

    ACK_NOW = 1
    RETRANSMISSION = 2
    WITHOUT_CREDIT = 4


class Combine(IntEnum):
    """Operation that a receiver applies to arriving elements.

    COPY replaces the receiver's own elements. All other operations combine both; REDUCE adds.
    """

    REDUCE = 1
    COPY = 2
    PRODUCT = 3
    MINIMUM = 4
    MAXIMUM = 5
    AND = 6
    OR = 7
    XOR = 8


class ElementType(IntEnum):
    """CLH dtype. Elements travel as an NPU's memory holds them: little-endian.

    Scenarios use int32 and float32; the specification in Python (tests/oracle) knows only their sums.
    """

    INT32 = 1
    FLOAT32 = 2
    INT64 = 3
    FLOAT64 = 4
    INT8 = 5
    UINT8 = 6
    FLOAT16 = 7
    BFLOAT16 = 8


def encode_length(link_bytes: int) -> int:
    """Return LPH.length of a packet of `link_bytes` from the LPH to its end; FrameError if out of range."""
    if not 1 <= link_bytes <= MAX_LINK_BYTES:
        raise FrameError(
            f"the packet has {link_bytes} bytes, but a UB link packet has 1 to {MAX_LINK_BYTES}",
            remedy="use smaller slices",
        )
    flits, tail = divmod(link_bytes - 1, FLIT_BYTES)
    blocks, flits = divmod(flits, BLOCK_FLITS)
    return blocks << 10 | flits << 5 | tail


def decode_length(field: int) -> int | None:
    """Return the bytes from the LPH to the packet's end; None if the last flit would exceed 20 bytes."""
    tail = field & 0x1F
    if tail >= FLIT_BYTES:
        return None
    return ((field >> 10) * BLOCK_FLITS + (field >> 5 & 0x1F)) * FLIT_BYTES + tail + 1


def mac(cna: int) -> str:
    """Return the locally administered MAC address of a 16-bit CNA on the carrier."""
    return f"02:00:00:00:{cna >> 8 & 0xFF:02x}:{cna & 0xFF:02x}"
