# SPDX-License-Identifier: Apache-2.0
"""Files of other tools: inside of their folder only, gzip within bounds."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, final

from harness.formats.text import FileLocation, open_file

__all__ = ["MAX_RATIO", "read_unpacked", "unpacked", "within"]

MAX_RATIO = 64
"""Bytes for each byte of a gzip file, above the first mebibyte; traces compress ten to twenty times."""

_FREE = 1 << 20
_GZIP = b"\x1f\x8b"
_PIECE = 1 << 16


def within(folder: Path, path: Path) -> Path:
    """Return the path of a file in a folder; FormatError if it or a symbolic link leads out of the folder."""
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError) as ex:
        FileLocation(path).refuse(f"no path of a file: {ex}")
    if not inside:
        FileLocation(path).refuse(f"a path that leads out of {folder}", "put the file into the folder")
    return path


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file, perhaps compressed by gzip; FormatError if it is cut short or grows beyond MAX_RATIO."""
    with open_file(path) as raw:
        magic = raw.read(2)
        raw.seek(0)
        if magic != _GZIP:
            yield raw
            return
        limit = _FREE + MAX_RATIO * path.stat().st_size
        try:
            with (
                gzip.open(raw) as packed,
                io.BufferedReader(_Bounded(packed, FileLocation(path), limit)) as file,
            ):
                yield file
        except (OSError, EOFError, zlib.error) as ex:
            FileLocation(path).refuse(f"the gzip file is damaged or cut short: {ex}")


def read_unpacked(path: Path) -> bytes:
    """Return the content of a file that may be compressed by gzip."""
    with unpacked(path) as file:
        try:
            return file.read()
        except OSError as ex:
            FileLocation(path).refuse(ex.strerror or str(ex))


@final
class _Bounded(io.RawIOBase):
    """Content of a gzip file, up to a number of bytes."""

    def __init__(self, file: gzip.GzipFile, location: FileLocation, limit: int) -> None:
        self._file = file
        self._location = location
        self._limit = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._file.read(min(len(buffer), _PIECE))
        self._limit -= len(data)
        if self._limit < 0:
            self._location.refuse(
                f"more than {MAX_RATIO} bytes for each compressed byte", "unpack the file if you trust it"
            )
        buffer[: len(data)] = data
        return len(data)
