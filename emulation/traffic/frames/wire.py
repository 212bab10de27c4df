# SPDX-License-Identifier: Apache-2.0
"""Headers of agents' frames as bytes: templates for the agents in C++, packed by struct without Scapy.

layers.py defines the layout; tests compare the bytes of both modules.
"""

import struct
from functools import cache
from typing import Final

from emulation.traffic.frames.values import (
    CC_CAPABLE,
    CFG_CNA16,
    ETHERTYPE,
    VL_RESPONSE,
    Combine,
    ElementType,
    Opcode,
    encode_length,
)

__all__ = [
    "DATA_HEADER_BYTES",
    "MAX_PAYLOAD_BYTES",
    "MAP_FRAMES",
    "MAP_STEP",
    "PSN_MASK",
    "header",
    "readdress",
    "mac_bytes",
]

PSN_MASK: Final = 0xFFFFFF
MAP_FRAMES: Final = 64
"""Frames in the map of an acknowledgement."""
MAP_STEP: Final = 4
"""The map of an acknowledgement begins at a multiple of this number of frames after the first missing one."""
DATA_HEADER_BYTES: Final = 54
ACK_BYTES: Final = 46
ETHERNET_BYTES: Final = 14
SRH_BYTES: Final = 8
# The source's switch inserts a source route; the packet must still fit the LPH's length.
MAX_PAYLOAD_BYTES: Final = 16 * 32 * 20 - SRH_BYTES - (DATA_HEADER_BYTES - ETHERNET_BYTES)

_ADDRESSES = struct.Struct(">6s6sHIHHH")  # Ethernet, LPH, scna dcna cc of the NTH: constant in a connection
_DATA = struct.Struct(">BBBBHQHBBHHII")  # lb sl/mgmt/nlp; opcode flags src_q dst_q/psn/ack_psn; CLH
_ACK = struct.Struct(">BBBBHQQ")  # as _DATA, with the SACK bitmap instead of the CLH
_FLAGS_AT = 27
_LB_AT = 24

# Bit positions of vl and cfg in the LPH's 32 bits.
_VL_SHIFT = 21
_CFG_SHIFT = 16


def mac_bytes(cna: int) -> bytes:
    """Return the MAC address of a CNA as 6 bytes; `values.mac` returns it as text."""
    return b"\x02\0\0\0" + cna.to_bytes(2, "big")


@cache
def _template(opcode: Opcode, level: int = 0, cc: int = 0) -> bytes:
    """Return the headers of a frame without payload; addresses, queues and sequence numbers are 0."""
    is_data = opcode is Opcode.DATA
    vl, service_level = (2 * level, level) if is_data else (VL_RESPONSE, 1)
    size = DATA_HEADER_BYTES if is_data else ACK_BYTES
    lph = vl << _VL_SHIFT | CFG_CNA16 << _CFG_SHIFT | encode_length(size - ETHERNET_BYTES)
    addresses = _ADDRESSES.pack(mac_bytes(0), mac_bytes(0), ETHERTYPE, lph, 0, 0, cc)
    transport = (0, service_level << 4, opcode, 0, 0, 0)
    if is_data:
        return addresses + _DATA.pack(*transport, 0, Combine.REDUCE, ElementType.INT32, 0, 0, 0, 0)
    return addresses + _ACK.pack(*transport, 0)


def header(opcode: Opcode, level: int = 0, *, marks: bool = False) -> bytes:
    """Return the headers of a data frame or an acknowledgement; addresses, queues and numbers are 0.

    `level` is the service level of data. With `marks`, switches may mark the frame for congestion.
    """
    return _template(opcode, level, CC_CAPABLE if marks else 0)


def readdress(frame: bytes, lb: int, flags: int) -> bytes:
    """Return a copy of a frame with load-balance value `lb` and TPH flags `flags`."""
    return b"".join((frame[:_LB_AT], bytes((lb, *frame[25:27], flags)), frame[_FLAGS_AT + 1 :]))
