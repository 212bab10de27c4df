# SPDX-License-Identifier: Apache-2.0
"""Read other tools' text files line by line: numbers, quantities with units, errors with file and line."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NoReturn, final

from harness.errors import FormatError

__all__ = ["MAX_LINE", "FileLocation", "lines_of", "open_file", "open_text"]

MAX_LINE = 1 << 20
"""Longest line that is read, in bytes; a longer line is refused."""

_PER_GBPS = {"bps": 1e-9, "Kbps": 1e-6, "kbps": 1e-6, "Mbps": 1e-3, "Gbps": 1.0, "Tbps": 1e3}
_PS = {"ps": 1, "ns": 1_000, "us": 1_000_000, "ms": 1_000_000_000, "s": 1_000_000_000_000}
_QUANTITY = re.compile(r"\+?(\d+(?:\.\d+)?)\s*([A-Za-z]+)")


@final
class FileLocation:
    """A line of a file; errors about the line start with FILE:LINE. Line 0 stands for the whole file."""

    __slots__ = ("line", "path")

    def __init__(self, path: Path, line: int = 0) -> None:
        self.path = path
        self.line = line

    def refuse(self, message: str, remedy: str = "") -> NoReturn:
        """Raise FormatError with this file and line in front of the message."""
        at = f"{self.path}:{self.line}" if self.line else str(self.path)
        raise FormatError(f"{at}: {message}", remedy=remedy)

    def integer(self, text: str, what: str, *, low: int = 0, high: int = (1 << 63) - 1) -> int:
        """Convert a decimal text to a whole number.

        Args:
            text: The text; blanks around the number are ignored.
            what: Name of the number in error messages.
            low: Smallest accepted number.
            high: Largest accepted number.

        Raises:
            FormatError: The text is no whole number from `low` to `high`.
        """
        text = text.strip()
        if len(text) > 20 or not re.fullmatch(r"[+-]?\d+", text):
            self.refuse(f"{what} {text[:40]!r} is no whole number", f"give {low} to {high}")
        value = int(text)
        if not low <= value <= high:
            self.refuse(f"{what} {value} is out of range", f"give {low} to {high}")
        return value

    def rate_gbps(self, text: str) -> float:
        """Return a rate such as `400Gbps` in Gbit/s; FormatError if the rate is 0 or has no known unit."""
        value, unit = self._quantity(text, "rate")
        if unit not in _PER_GBPS or value <= 0:
            self.refuse(
                f"rate {text!r} is 0 or has an unknown unit",
                "give a number above 0 and bps, Kbps, Mbps, Gbps or Tbps",
            )
        return value * _PER_GBPS[unit]

    def picoseconds(self, text: str) -> int:
        """Return a time such as `20ns` in picoseconds; FormatError if it has no known unit."""
        value, unit = self._quantity(text, "time")
        if unit not in _PS:
            self.refuse(f"time {text!r} has an unknown unit", "give a number and ps, ns, us, ms or s")
        return round(value * _PS[unit])

    def _quantity(self, text: str, what: str) -> tuple[float, str]:
        match = _QUANTITY.fullmatch(text.strip()) if len(text) < 64 else None
        if match is None:
            self.refuse(f"{what} {text[:40]!r} is no number with a unit", "give a number and a unit")
        return float(match[1]), match[2]


def open_file(path: Path) -> BinaryIO:
    """Open a regular file in binary mode; FormatError if it is missing, or a folder, a pipe or a device."""
    try:
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "no regular file"
            FileLocation(path).refuse(f"the path is {kind}", "name a file")
        return path.open("rb")
    except OSError as ex:
        FileLocation(path).refuse(
            f"the file cannot be read: {ex.strerror or ex}", "name an existing file that you may read"
        )


def open_text(path: Path) -> Iterator[str]:
    """Yield the lines of a file without line ends; FormatError if it is unreadable or no UTF-8 text."""
    location = FileLocation(path)
    try:
        with open_file(path) as file:
            while raw := file.readline(MAX_LINE + 1):
                location.line += 1
                if len(raw) > MAX_LINE:
                    location.refuse(f"the line has more than {MAX_LINE} bytes", "split the line")
                yield raw.decode("utf-8-sig" if location.line == 1 else "utf-8").rstrip("\r\n")
    except OSError as ex:
        FileLocation(path).refuse(
            f"the file cannot be read: {ex.strerror or ex}", "name an existing file that you may read"
        )
    except UnicodeDecodeError:
        location.refuse("the file is no UTF-8 text", "save it as UTF-8")


def lines_of(path: Path, comment: str = "#") -> Iterator[tuple[FileLocation, str]]:
    """Yield the location and the stripped text of each line, without empty lines and comment lines."""
    for number, line in enumerate(open_text(path), 1):
        text = line.strip()
        if text and not text.startswith(comment):
            yield FileLocation(path, number), text
