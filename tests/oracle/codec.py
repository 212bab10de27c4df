# SPDX-License-Identifier: Apache-2.0
"""A fast codec of the layers' bytes: frames written and read with struct, without Scapy.

A frame joins its connection's addresses and length, the fields that change, and the payload. The layers
define the layout: tests compare the bytes of both.
"""

import struct
from typing import Final, NamedTuple

from emulation.errors import FrameError
from emulation.traffic.frames.values import (
    CC_CONGESTION,
    CFG_CNA16,
    ETHERTYPE,
    Opcode,
    decode_length,
    encode_length,
)
from emulation.traffic.frames.wire import (
    ACK_BYTES,
    DATA_HEADER_BYTES,
    ETHERNET_BYTES,
    MAP_STEP,
    header,
    mac_bytes,
)

__all__ = [
    "AckFields",
    "AckWriter",
    "DataFields",
    "DataWriter",
    "is_marked",
    "iteration_of",
    "marked_buckets",
    "skipped_frames",
    "parse",
    "scan",
]

_ADDRESSES = struct.Struct(">6s6sHIHHH")  # Ethernet, LPH, scna dcna cc of the NTH: constant in a connection
_DATA = struct.Struct(">BBBBHQHBBHHII")  # lb sl/mgmt/nlp; opcode flags src_q dst_q/psn/ack_psn; CLH
_ACK = struct.Struct(">BBBBHQQ")  # as _DATA, with the SACK bitmap instead of the CLH
_READ_DATA = struct.Struct(">12xHIHH2xBBBBHQHBBHHII")
_READ_ACK = struct.Struct(">12xHIHH2xBBBBHQQ")
_CC_AT = 22
_FLAGS_AT = 27
_MARKS_AT = 33  # the low 16 bits of psn
_ACK_PSN_AT = 35
_JOB_AT = 38

_NO_LENGTH: Final = 1 << 30
_LENGTHS: Final = tuple(decode_length(field) or _NO_LENGTH for field in range(1 << 14))


class DataFields(NamedTuple):
    """A data frame's fields, in the order of `scan`."""

    opcode: int
    flags: int
    scna: int
    dcna: int
    src_q: int
    dst_q: int
    psn: int
    lb: int
    job: int
    op: int
    dtype: int
    step: int
    chunk: int
    offset: int
    length: int


class AckFields(NamedTuple):
    """An acknowledgement's fields, in the order of `scan`."""

    opcode: int
    flags: int
    scna: int
    dcna: int
    src_q: int
    dst_q: int
    ack_psn: int
    lb: int
    sack: int


def is_marked(frame: bytes) -> bool:
    """Return whether a switch has marked a frame as it left a long queue."""
    return frame[_CC_AT] >> 5 == CC_CONGESTION >> 13 and frame[_CC_AT + 1] & 3 == CC_CONGESTION & 3


def skipped_frames(acknowledgement: bytes) -> int:
    """Return the number of frames between the first missing frame and the map of an acknowledgement."""
    return acknowledgement[_MARKS_AT - 1] * MAP_STEP


def marked_buckets(acknowledgement: bytes) -> int:
    """Return the buckets, a bit each, of marked frames that arrived since the last acknowledgement."""
    return int.from_bytes(acknowledgement[_MARKS_AT:_ACK_PSN_AT], "big")


def _prefix(
    opcode: Opcode,
    scna: int,
    dcna: int,
    lb_mode: int,
    payload_bytes: int,
    level: int = 0,
    *,
    marks: bool = False,
) -> bytes:
    """Return the first 24 bytes of a connection's frames with a payload of `payload_bytes`."""
    template = header(opcode, level, marks=marks)
    _, _, ethertype, lph, _, _, cc = _ADDRESSES.unpack_from(template)
    lph = lph & ~0xBFFF | lb_mode << 15 | encode_length(len(template) - ETHERNET_BYTES + payload_bytes)
    return _ADDRESSES.pack(mac_bytes(dcna), mac_bytes(scna), ethertype, lph, scna, dcna, cc)


class DataWriter:
    """Writer of the data frames of one connection, all of service level `level`; `marks`: they take marks."""

    __slots__ = (
        "_class",
        "_connection",
        "_dtype",
        "_job",
        "_level",
        "_marks",
        "_opcode",
        "_prefixes",
        "_queue",
        "_static",
    )

    def __init__(
        self,
        *,
        scna: int,
        dcna: int,
        src_q: int,
        dst_q: int,
        job: int,
        dtype: int,
        lb_mode: int,
        level: int = 0,
        marks: bool = False,
    ) -> None:
        template = header(Opcode.DATA, level)
        self._marks = marks
        self._level = level
        self._class = template[25]
        self._opcode = template[26]
        self._static = (scna, dcna, lb_mode)
        self._queue = src_q
        self._connection = dst_q << 48
        self._job = job
        self._dtype = dtype
        self._prefixes: dict[int, bytes] = {}

    def frame(
        self,
        lb: int,
        flags: int,
        psn: int,
        op: int,
        step: int,
        chunk: int,
        offset: int,
        payload: bytes | memoryview,
    ) -> bytes:
        """Return a data frame; `offset` is in bytes, `payload` is contiguous."""
        size = len(payload)
        prefix = self._prefixes.get(size)
        if prefix is None:
            prefix = self._prefixes[size] = _prefix(
                Opcode.DATA, *self._static, size, self._level, marks=self._marks
            )
        return b"".join(
            (
                prefix,
                _DATA.pack(
                    lb,
                    self._class,
                    self._opcode,
                    flags,
                    self._queue,
                    self._connection | psn << 24,
                    self._job,
                    op,
                    self._dtype,
                    step,
                    chunk,
                    offset,
                    size,
                ),
                payload,
            )
        )


class AckWriter:
    """Writer of the acknowledgements of one connection."""

    __slots__ = ("_class", "_connection", "_opcode", "_prefix", "_queue")

    def __init__(self, *, scna: int, dcna: int, src_q: int, dst_q: int, lb_mode: int) -> None:
        template = header(Opcode.ACK)
        self._class = template[25]
        self._opcode = template[26]
        self._prefix = _prefix(Opcode.ACK, scna, dcna, lb_mode, 0)
        self._queue = src_q
        self._connection = dst_q << 48

    def frame(
        self, lb: int, ack_psn: int, sack: int, flags: int = 0, marks: int = 0, skipped: int = 0
    ) -> bytes:
        """Return an acknowledgement of every PSN before `ack_psn` and of the later PSNs in the map `sack`.

        Bit i of the map stands for PSN ack_psn + 1 + skipped + i; `skipped` is a multiple of MAP_STEP.
        `marks` are the buckets, a bit each, of marked frames that arrived since the last acknowledgement.
        """
        word = self._connection | skipped // MAP_STEP << 40 | marks << 24 | ack_psn
        return self._prefix + _ACK.pack(lb, self._class, self._opcode, flags, self._queue, word, sack)


def scan(frame: bytes) -> tuple[int, ...] | str:
    """Return the fields of a frame in the order of DataFields or AckFields, or a word saying why it is junk.

    Bytes after the packet's end are the carrier's padding and are ignored.
    """
    size = len(frame)
    if size >= DATA_HEADER_BYTES:
        (
            ethertype, lph, scna, dcna, lb, service, opcode, flags, src_q, word,
            job, op, dtype, step, chunk, offset, length,
        ) = _READ_DATA.unpack_from(frame)  # fmt: skip
    elif size >= ACK_BYTES:
        ethertype, lph, scna, dcna, lb, service, opcode, flags, src_q, word, _ = _READ_ACK.unpack_from(frame)
        job = op = dtype = step = chunk = offset = length = 0
    else:
        return "short"
    if ethertype != ETHERTYPE:
        return "ethertype"
    if lph >> 16 & 0xF != CFG_CNA16:
        return "cfg"
    link_bytes = _LENGTHS[lph & 0x3FFF]
    if link_bytes > size - ETHERNET_BYTES:
        return "length"
    if service & 0x8:
        return "management"
    if opcode == 1:
        if link_bytes != length + (DATA_HEADER_BYTES - ETHERNET_BYTES):
            return "length"
        return (
            1, flags, scna, dcna, src_q, word >> 48, word >> 24 & 0xFFFFFF, lb,
            job, op, dtype, step, chunk, offset, length,
        )  # fmt: skip
    if opcode == 2:
        if link_bytes != ACK_BYTES - ETHERNET_BYTES:
            return "length"
        sack = int.from_bytes(frame[38:46], "big")
        return 2, flags, scna, dcna, src_q, word >> 48, word & 0xFFFFFF, lb, sack
    return "opcode"


def iteration_of(frame: bytes) -> tuple[bool, int] | None:
    """Return (True, job number) of a data frame, (False, first 4 bits of ack_psn) of an acknowledgement.

    None for any other frame.
    """
    if len(frame) < ACK_BYTES:
        return None
    if frame[_FLAGS_AT - 1] == Opcode.DATA:
        return True, frame[_JOB_AT] << 8 | frame[_JOB_AT + 1]
    return (False, frame[_ACK_PSN_AT] >> 4) if frame[_FLAGS_AT - 1] == Opcode.ACK else None


def parse(frame: bytes) -> DataFields | AckFields:
    """Return the fields of a frame by name; FrameError if it is no whole data frame or acknowledgement."""
    fields = scan(frame)
    if isinstance(fields, str):
        raise FrameError(f"frame of {len(frame)} bytes is junk: {fields}")
    return DataFields(*fields) if fields[0] == Opcode.DATA else AckFields(*fields)
