# SPDX-License-Identifier: Apache-2.0
"""Text files of other tools, line by line: errors with file and line, numbers, quantities with units."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NoReturn, final

from harness.errors import FormatError

__all__ = ["MAX_LINE", "FileLocation", "lines_of", "open_file", "open_text"]

MAX_LINE = 1 << 20
"""Bytes of the longest line that is read."""

_PER_GBPS = {"bps": 1e-9, "Kbps": 1e-6, "kbps": 1e-6, "Mbps": 1e-3, "Gbps": 1.0, "Tbps": 1e3}
_PS = {"ps": 1, "ns": 1_000, "us": 1_000_000, "ms": 1_000_000_000, "s": 1_000_000_000_000}
_QUANTITY = re.compile(r"\+?(\d+(?:\.\d+)?)\s*([A-Za-z]+)")


@final
class FileLocation:
    """A line of a file, by which errors are named."""

    __slots__ = ("line", "path")

    def __init__(self, path: Path, line: int = 0) -> None:
        self.path = path
        self.line = line

    def refuse(self, message: str, remedy: str = "") -> NoReturn:
        """Raise FormatError with file and line."""
        at = f"{self.path}:{self.line}" if self.line else str(self.path)
        raise FormatError(f"{at}: {message}", remedy=remedy)

    def integer(self, text: str, what: str, *, low: int = 0, high: int = (1 << 63) - 1) -> int:
        """Return a decimal number in an interval."""
        text = text.strip()
        if len(text) > 20 or not re.fullmatch(r"[+-]?\d+", text):
            self.refuse(f"{what} {text[:40]!r} is no whole number")
        value = int(text)
        if not low <= value <= high:
            self.refuse(f"{what} {value}", f"give {low} to {high}")
        return value

    def rate_gbps(self, text: str) -> float:
        """Return a rate such as 400Gbps."""
        value, unit = self._quantity(text, "rate")
        if unit not in _PER_GBPS or value <= 0:
            self.refuse(f"rate {text!r}", "give a number and bps, Kbps, Mbps, Gbps or Tbps")
        return value * _PER_GBPS[unit]

    def picoseconds(self, text: str) -> int:
        """Return a time such as 20ns."""
        value, unit = self._quantity(text, "time")
        if unit not in _PS:
            self.refuse(f"time {text!r}", "give a number and ps, ns, us, ms or s")
        return round(value * _PS[unit])

    def _quantity(self, text: str, what: str) -> tuple[float, str]:
        match = _QUANTITY.fullmatch(text.strip()) if len(text) < 64 else None
        if match is None:
            self.refuse(f"{what} {text[:40]!r}", "give a number and a unit")
        return float(match[1]), match[2]


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading; FormatError for anything else, such as a pipe or a device."""
    try:
        if path.exists() and not path.is_file():
            FileLocation(path).refuse("a folder" if path.is_dir() else "no regular file", "name a file")
        return path.open("rb")
    except OSError as ex:
        FileLocation(path).refuse(ex.strerror or str(ex))


def open_text(path: Path) -> Iterator[str]:
    """Yield the lines of a file without their ends; FormatError if it cannot be read, or is no text."""
    location = FileLocation(path)
    try:
        with open_file(path) as file:
            while raw := file.readline(MAX_LINE + 1):
                location.line += 1
                if len(raw) > MAX_LINE:
                    location.refuse(f"a line of more than {MAX_LINE} bytes")
                yield raw.decode("utf-8-sig" if location.line == 1 else "utf-8").rstrip("\r\n")
    except OSError as ex:
        FileLocation(path).refuse(ex.strerror or str(ex))
    except UnicodeDecodeError:
        location.refuse("no UTF-8 text")


def lines_of(path: Path, comment: str = "#") -> Iterator[tuple[FileLocation, str]]:
    """Yield location and text of each line that is neither empty nor a comment."""
    for number, line in enumerate(open_text(path), 1):
        text = line.strip()
        if text and not text.startswith(comment):
            yield FileLocation(path, number), text
