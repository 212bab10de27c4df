# SPDX-License-Identifier: Apache-2.0
"""Write and read capture files: pcap, or pcapng, which also stores the interface of a frame and a comment."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from emulation.errors import FrameError
from harness.output import writing

__all__ = ["Record", "read_frame", "write_capture"]

_ETHERNET = 1
_SNAP_BYTES = 1 << 18
_NANOSECONDS = 9


@final
@dataclass(frozen=True, slots=True)
class Record:
    """A frame of a capture file.

    Attributes:
        time_ns: Time stamp in nanoseconds.
        interface: Name of the interface that sent the frame.
        about: Description of the interface.
        frame: Bytes of the frame.
        comment: Comment on the frame, for pcapng only.
    """

    time_ns: int
    interface: str
    about: str
    frame: bytes
    comment: str = ""


def write_capture(path: Path, records: Sequence[Record]) -> None:
    """Write a capture file with time stamps in nanoseconds: pcapng if its name ends in .pcapng, else pcap.

    Raises:
        OutputError: The file cannot be written.
    """
    data = _pcapng(records) if path.suffix == ".pcapng" else _pcap(records)
    with writing(path, "name a file in an existing folder"):
        path.write_bytes(data)


def read_frame(path: Path, number: int) -> bytes:
    """Return frame `number` of a pcap or pcapng file; frames count from 1.

    Raises:
        FrameError: The file is unreadable or no capture file, or has fewer frames.
    """
    from scapy.error import Scapy_Exception
    from scapy.utils import RawPcapReader

    count = 0
    try:
        with RawPcapReader(str(path)) as reader:
            for frame, _ in reader:
                count += 1
                if count == number:
                    return bytes(frame)
    except (OSError, EOFError, Scapy_Exception) as ex:
        raise FrameError(
            f"{path} cannot be read as a capture file: {ex}", remedy="name a pcap or pcapng file"
        ) from None
    raise FrameError(
        f"frame {number} does not exist: {path} has {count} frames",
        remedy=f"give a number from 1 to {count}" if count else "name a capture file with frames",
    )


def _pcap(records: Sequence[Record]) -> bytes:
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, _SNAP_BYTES, _ETHERNET)]
    for record in records:
        seconds, rest = divmod(record.time_ns, 10**9)
        size = len(record.frame)
        parts += struct.pack("<IIII", seconds, rest, size, size), record.frame
    return b"".join(parts)


def _pcapng(records: Sequence[Record]) -> bytes:
    interfaces = dict.fromkeys((record.interface, record.about) for record in records)
    number = {interface: index for index, interface in enumerate(interfaces)}
    parts = [_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for interface, about in interfaces:
        options = _option(2, interface.encode()) + _option(3, about.encode())
        options += _option(9, bytes([_NANOSECONDS]))
        parts.append(_block(1, struct.pack("<HHI", _ETHERNET, 0, _SNAP_BYTES) + options + _option(0, b"")))
    for record in records:
        time, size = record.time_ns, len(record.frame)
        head = struct.pack(
            "<IIIII", number[record.interface, record.about], time >> 32, time & 0xFFFFFFFF, size, size
        )
        comment = _option(1, record.comment.encode()) + _option(0, b"") if record.comment else b""
        parts.append(_block(6, head + _padded(record.frame) + comment))
    return b"".join(parts)


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
