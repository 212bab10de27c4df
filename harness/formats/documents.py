# SPDX-License-Identifier: Apache-2.0
"""JSON files of other tools: values with the steps that lead to them, errors with file and line."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, final

from harness.formats.files import read_unpacked
from harness.formats.text import FileLocation

__all__ = ["Item", "read_json"]

Steps = tuple[str | int, ...]

_MAX_NUMBER = (1 << 63) - 1
_decoder = json.JSONDecoder()
_blanks = re.compile(r"[ \t\n\r]*")


@final
class _Document:
    """Text of a JSON file; kept for the lines of errors."""

    __slots__ = ("path", "text")

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text

    def location(self, steps: Steps) -> FileLocation:
        """Return the line of the value to which keys and numbers of elements lead."""
        at = 0
        for step in steps:
            at = self._child(self._past_blanks(at) + 1, step)
        return FileLocation(self.path, self.text.count("\n", 0, self._past_blanks(at)) + 1)

    def _child(self, at: int, step: str | int) -> int:
        """Return where the value of a key or element begins in a block or list that begins before `at`."""
        number = 0
        while True:
            at = self._past_blanks(at)
            key: str | int = number
            if isinstance(step, str):
                key, at = _decoder.raw_decode(self.text, at)
                at = self._past_blanks(self._past_blanks(at) + 1)
            if key == step:
                return at
            _, at = _decoder.raw_decode(self.text, at)
            at = self._past_blanks(at) + 1
            number += 1

    def _past_blanks(self, at: int) -> int:
        match = _blanks.match(self.text, at)
        return match.end() if match else at


@final
class Item:
    """A value of a JSON file with the steps that lead to it; wrong values are refused with their line."""

    __slots__ = ("_document", "_steps", "value")

    def __init__(self, document: _Document, steps: Steps, value: Any) -> None:
        self._document = document
        self._steps = steps
        self.value = value

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self._document.path

    @property
    def location(self) -> FileLocation:
        """File and line of the value."""
        return self._document.location(self._steps)

    def refuse(self, message: str, remedy: str = "") -> NoReturn:
        """Raise FormatError with file and line."""
        self.location.refuse(message, remedy)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def child(self, key: str | int) -> "Item":
        """Return the value of a key, or an element of a list."""
        if isinstance(key, str) and key not in self:
            self.refuse(f"no key {key!r}")
        return Item(self._document, (*self._steps, key), self.value[key])

    def items(self, key: str) -> list["Item"]:
        """Return the elements of the list of a key; none if the key is absent."""
        return self.child(key).elements() if key in self else []

    def elements(self) -> list["Item"]:
        """Return the elements of a list."""
        if not isinstance(self.value, list):
            self.refuse(f"{_shown(self.value)} is no list")
        return [self.child(number) for number in range(len(self.value))]

    def blocks(self, key: str) -> Iterator[tuple[str, "Item"]]:
        """Yield name and value of each key in the block of a key; none if the key is absent."""
        if key in self:
            block = self.child(key)
            if not isinstance(block.value, dict):
                block.refuse(f"{key} is {_shown(block.value)}", "give a block of keys")
            yield from ((name, block.child(name)) for name in block.value)

    def number(self, *, low: int = 0, high: int = _MAX_NUMBER) -> int:
        """Return the value as a whole number in an interval."""
        name = self._steps[-1] if self._steps else "value"
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.refuse(f"{name} {_shown(self.value)} is no whole number")
        if not low <= self.value <= high:
            self.refuse(f"{name} {_shown(self.value)}", f"give {low} to {high}")
        return self.value

    def integer(self, key: str, *, low: int = 0, high: int = _MAX_NUMBER, default: int | None = None) -> int:
        """Return the whole number of a key."""
        if default is not None and key not in self:
            return default
        return self.child(key).number(low=low, high=high)

    def text(self, key: str, default: str | None = None, choices: Sequence[str] = ()) -> str:
        """Return the text of a key."""
        if default is not None and key not in self:
            return default
        item = self.child(key)
        if not isinstance(item.value, str):
            item.refuse(f"{key} {_shown(item.value)} is no text")
        if choices and item.value not in choices:
            item.refuse(f"{key} {_shown(item.value)}", f"give {', '.join(choices)}")
        return item.value

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return the true or false of a key."""
        if key not in self:
            return default
        item = self.child(key)
        if not isinstance(item.value, bool):
            item.refuse(f"{key} {_shown(item.value)}", "give true or false")
        return item.value


def read_json(path: Path) -> Item:
    """Return the value of a JSON file, which may be compressed by gzip.

    FormatError names the line that is no JSON; a block with a key twice and values such as NaN are none.
    """
    location = FileLocation(path)
    try:
        text = read_unpacked(path).decode("utf-8-sig")
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except UnicodeDecodeError:
        location.refuse("no UTF-8 text")
    except json.JSONDecodeError as ex:
        FileLocation(path, ex.lineno).refuse(
            f"no JSON: {ex.msg}", "correct the line; the file may be cut short"
        )
    except RecursionError:
        location.refuse("blocks inside of blocks, too deep to read")
    except ValueError as ex:
        location.refuse(f"no JSON: {ex}")
    return Item(_Document(path, text), (), value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise ValueError(f"key {twice[:40]!r} twice in a block")
    return values


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) > _MAX_NUMBER:
        return "beyond 64 bits"
    text = repr(value) if not isinstance(value, dict | list) else f"a {type(value).__name__}"
    return text if len(text) <= 44 else text[:40] + "..."
