# SPDX-License-Identifier: Apache-2.0
"""Requests and answers of the topology scan.

The layout is that of drivers/ub/ubus/enum.h in openEuler's kernel: link header, CNA16 network header without
transport header, partition, state of the scan, path, return path, and a protocol data unit. Each 32-bit word
is big-endian; the first hop of a path is in the least significant bits of its word.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import final

from controller.errors import PlanError

__all__ = ["Answer", "Hops", "read_answer", "request"]

_ETHERNET = struct.Struct(">6s6sH")
_HEADERS = struct.Struct(">IIIII")  # LPH, two words of the NTH, partition, state of the scan
_UNIT = struct.Struct(">BBBBBBHQQ")  # version, command, opcode, status, queue, words, number, GUID
_ETHERTYPE = 0x88B5
_LINK = 2 << 21 | 6 << 16  # VL of responses, CNA16
_NETWORK = 1 << 3 | 1  # management, no transport header
_PARTITION = 0x7FFF << 16  # of the control plane
_RETURN = 1 << 20
_VERSION, _TOPOLOGY_QUERY, _RESPONSE, _REQUEST = 1, 0, 0, 1
_FLIT_BYTES, _WORD_BYTES = 20, 4

_PATH_WORDS = 4
"""32-bit words of the longest path that the program ub_scan parses."""


class Hops(IntEnum):
    """Width of a hop (the number of an egress port) in a path; the value is the code in a frame."""

    BITS_4 = 0
    BITS_8 = 1
    BITS_16 = 2

    @property
    def bits(self) -> int:
        """Width of a hop in bits."""
        return 4 << self

    @property
    def most(self) -> int:
        """Largest number of hops of a path."""
        return _PATH_WORDS * 32 // self.bits


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a node to the request `number`.

    `port` is the node's port where the request arrived, `sent_by` the neighbour's port that sent the request;
    both are 0 for a path of no hops.
    """

    number: int
    guid: int
    class_code: int
    ports: int
    port: int
    sent_by: int


def request(number: int, path: Sequence[int], back: Sequence[int], hops: Hops = Hops.BITS_8) -> bytes:
    """Return the frame of a request along the egress ports `path`.

    The answer takes the egress ports `back`. The first of them may be 0: the last node of the path answers
    through the port where the request arrived.

    Raises:
        PlanError: The path is too long, a port exceeds the width of a hop, or `back` has another length.
    """
    if len(path) > hops.most:
        raise PlanError(
            f"the path has {len(path)} hops; with {hops.bits} bits a hop, {hops.most} fit",
            remedy="scan from a node nearer to the middle, or with fewer bits a hop",
        )
    if len(back) != len(path):
        raise PlanError(
            f"the path has {len(path)} hops, but the path back has {len(back)}", remedy="give equal lengths"
        )
    for port in (*path, *back):
        if port >> hops.bits:
            raise PlanError(
                f"port {port} does not fit in a hop of {hops.bits} bits", remedy="scan with more bits a hop"
            )
    state = _RETURN * bool(path) | hops << 16 | len(path) << 8
    words = [*_words(path, hops), *_words(back, hops)]
    size = _HEADERS.size + _WORD_BYTES * len(words) + _UNIT.size
    link = _LINK | (size - 1) // _FLIT_BYTES << 5 | (size - 1) % _FLIT_BYTES
    return b"".join(
        (
            _ETHERNET.pack(b"\xff" * 6, b"\x02" + bytes(5), _ETHERTYPE),
            _HEADERS.pack(link, 0, _NETWORK, _PARTITION, state),
            *(word.to_bytes(_WORD_BYTES, "big") for word in words),
            _UNIT.pack(_VERSION, _TOPOLOGY_QUERY, _REQUEST, 0, 0, _UNIT.size // _WORD_BYTES, number, 0, 0),
        )
    )


def read_answer(frame: bytes) -> Answer | None:
    """Return the answer in a frame; None if the frame is no answer to a topology query."""
    at = _ETHERNET.size
    if len(frame) < at + _HEADERS.size or _ETHERNET.unpack_from(frame)[2] != _ETHERTYPE:
        return None
    link, _, network, _, state = _HEADERS.unpack_from(frame, at)
    code, returns = state >> 16 & 0xF, bool(state & _RETURN)
    if link >> 16 & 0xF != 6 or network & 0xF != _NETWORK or code not in iter(Hops) or returns:
        return None
    at += _HEADERS.size + _WORD_BYTES * _count(state >> 8 & 0xFF, Hops(code))
    if len(frame) < at + _UNIT.size:
        return None
    version, command, opcode, status, _, words, number, high, low = _UNIT.unpack_from(frame, at)
    end = at + _WORD_BYTES * words
    if (version, command, opcode, status) != (_VERSION, _TOPOLOGY_QUERY, _RESPONSE, 0) or end > len(frame):
        return None
    values = _values(frame[at + _UNIT.size : end])
    if values is None:
        return None
    class_code, ports, port, sent_by = values
    return Answer(number, high << 64 | low, class_code, ports, port, sent_by)


def _values(body: bytes) -> tuple[int, int, int, int] | None:
    """Return class, number of ports, `port` and `sent_by` of an answer; None if a TLV is short or missing."""
    class_code = ports = port = sent_by = -1
    while body:
        kind, size = body[0], body[1] if len(body) > 1 else 0
        if size < _WORD_BYTES or size > len(body):
            return None
        words = [int.from_bytes(body[at : at + 4], "big") for at in range(0, size, 4)]
        if kind == 1:
            ports = words[0] & 0xFFFF
        elif kind == 2 and size >= 8:
            port, sent_by = words[1] >> 16, words[1] & 0xFFFF
        elif kind == 4 and size >= 8:
            class_code = words[1] & 0xFFFF
        body = body[size:]
    values = class_code, ports, port, sent_by
    return None if -1 in values else values


def _count(hops: int, width: Hops) -> int:
    return -(-hops * width.bits // 32)


def _words(path: Sequence[int], width: Hops) -> Iterable[int]:
    each = 32 // width.bits
    for start in range(0, len(path), each):
        yield sum(port << width.bits * index for index, port in enumerate(path[start : start + each]))
