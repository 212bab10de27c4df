# SPDX-License-Identifier: Apache-2.0
"""Write and read recording files: a line with format and version, then records.

A record is its kind (u8), the length of the compressed payload (u32, little-endian), and the payload,
compressed by zlib. A file that ends within a record, or without the record CLOSE, was cut short; its complete
records are valid.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self, final

from harness.errors import OutputError, RecordingError
from harness.recording.records import FORMAT, VERSION, Kind, Record

__all__ = ["RECORDING", "SUFFIX", "Recording", "RecordingWriter", "is_recording", "read_recording"]

SUFFIX = ".recording"

RECORDING = f"run{SUFFIX}"
"""Name of the recording in a folder of results."""

_LINE = f"{FORMAT} {VERSION}\n".encode()
# Version 1 differs only in that it has no FRAMES records.
_READABLE = (_LINE, f"{FORMAT} 1\n".encode())
_HEAD = struct.Struct("<BI")
# Limit on the length of a record, against damaged files; the largest known record, a SuperPod's, has 20 MB.
_LONGEST = 1 << 28


@final
class RecordingWriter:
    """Sink that writes records to a file. Use it in a `with` statement; call it with each record.

    At any time the file can be read up to its last complete record.

    Raises:
        OutputError: The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: BinaryIO = path.open("wb")
            self._file.write(_LINE)
        except OSError as ex:
            raise self._unwritable(ex) from None

    def __call__(self, record: Record) -> None:
        content = zlib.compress(record.payload, 1)
        try:
            self._file.write(_HEAD.pack(record.kind, len(content)) + content)
            if record.kind is not Kind.TICK:
                self._file.flush()
        except OSError as ex:
            raise self._unwritable(ex) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._file.close()
        except OSError as ex:
            raise self._unwritable(ex) from None

    def _unwritable(self, ex: OSError) -> OutputError:
        return OutputError(
            f"{self.path}: the recording cannot be written: {ex.strerror}",
            remedy="make room, or leave out --record",
        )


@final
@dataclass(frozen=True, slots=True)
class Recording:
    """Records of a recording file; `whole` is False if the file was cut short."""

    records: tuple[Record, ...]
    whole: bool


def is_recording(path: Path) -> bool:
    """Return whether a file begins with the format line of a recording, of any version."""
    try:
        with path.open("rb") as file:
            return file.read(len(FORMAT) + 1) == f"{FORMAT} ".encode()
    except OSError:
        return False


def read_recording(path: Path) -> Recording:
    """Read a recording file; an incomplete last record is ignored.

    Raises:
        RecordingError: The file is no recording, has an unknown version, is damaged, or has no complete
            record.
    """
    try:
        with path.open("rb") as file:
            _check_line(path, file.readline(80))
            records = tuple(_records(path, file))
    except OSError as ex:
        raise RecordingError(
            f"{path} cannot be read: {ex.strerror}", remedy="give a file that --record wrote"
        ) from None
    if not records or records[0].kind is not Kind.HEADER:
        raise RecordingError(f"{path} does not begin with a whole record", remedy="record the run again")
    return Recording(records, records[-1].kind is Kind.CLOSE)


def _check_line(path: Path, line: bytes) -> None:
    if line in _READABLE:
        return
    name, _, version = line.strip().partition(b" ")
    if name != FORMAT.encode():
        raise RecordingError(f"{path} is not a recording", remedy="give a file that --record wrote")
    raise RecordingError(
        f"{path} is a recording of version {version.decode(errors='replace')}, "
        f"but this Railyard reads versions 1 and {VERSION}",
        remedy="record the run again, or open it with the Railyard that wrote it",
    )


def _records(path: Path, file: BinaryIO) -> Iterator[Record]:
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        kind, length = _HEAD.unpack(head)
        if length > _LONGEST or kind not in [*Kind]:
            raise RecordingError(f"{path} is damaged at byte {file.tell()}", remedy="record the run again")
        content = file.read(length)
        if len(content) < length:
            return
        try:
            payload = zlib.decompress(content)
        except zlib.error:
            raise RecordingError(
                f"{path} is damaged at byte {file.tell()}", remedy="record the run again"
            ) from None
        yield Record(Kind(kind), payload)
