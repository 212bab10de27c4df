# SPDX-License-Identifier: Apache-2.0
"""Safe access to other tools' files: no path out of their folder, no gzip file above a size limit."""

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
"""Largest accepted ratio of unpacked to packed bytes of a gzip file, beyond one free mebibyte.

Traces compress by a factor of ten to twenty.
"""

_FREE = 1 << 20
_GZIP = b"\x1f\x8b"
_PIECE = 1 << 16


def within(folder: Path, path: Path) -> Path:
    """Return `path` unchanged; FormatError if, with symbolic links resolved, it lies outside `folder`."""
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError) as ex:
        FileLocation(path).refuse(f"the path cannot be resolved: {ex}", "correct the path")
    if not inside:
        FileLocation(path).refuse(f"the path leads out of {folder}", "put the file into the folder")
    return path


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading; unpack it if it is a gzip file.

    Raises FormatError if the gzip file is damaged, or its content exceeds the limit of MAX_RATIO.
    """
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
            FileLocation(path).refuse(
                f"the gzip file is damaged or cut short: {ex}", "copy or create it again"
            )


def read_unpacked(path: Path) -> bytes:
    """Return the content of a file, unpacked if it is a gzip file; FormatError as for `unpacked`."""
    with unpacked(path) as file:
        try:
            return file.read()
        except OSError as ex:
            FileLocation(path).refuse(
                f"the file cannot be read: {ex.strerror or ex}", "name an existing file that you may read"
            )


@final
class _Bounded(io.RawIOBase):
    """Unpacked content of a gzip file; raises FormatError when more than `limit` bytes are read."""

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
                f"the file unpacks to more than {MAX_RATIO} bytes for each compressed byte",
                "unpack the file if you trust it",
            )
        buffer[: len(data)] = data
        return len(data)
