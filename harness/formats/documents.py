# SPDX-License-Identifier: Apache-2.0
"""JSON files of other tools: values that know their file and line, for error messages."""

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
    """Text of a JSON file; finds the line of a value for error messages."""

    __slots__ = ("path", "text")

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text

    def location(self, steps: Steps) -> FileLocation:
        """Return file and line of the value at a path of keys and list indices."""
        at = 0
        for step in steps:
            at = self._child(self._past_blanks(at) + 1, step)
        return FileLocation(self.path, self.text.count("\n", 0, self._past_blanks(at)) + 1)

    def _child(self, at: int, step: str | int) -> int:
        """Return the position in the text of the value of a key, or of a list element.

        `at` is the position behind the opening bracket of the object or list.
        """
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
    """A value of a JSON file with the path of keys and indices to it; its errors name file and line."""

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
        """Raise FormatError with the file and line of this value."""
        self.location.refuse(message, remedy)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def child(self, key: str | int) -> "Item":
        """Return the value of a key, or an element of a list; FormatError if the key is missing."""
        if isinstance(key, str) and key not in self:
            self.refuse(f"key {key!r} is missing", f"add {key!r} to this block")
        return Item(self._document, (*self._steps, key), self.value[key])

    def items(self, key: str) -> list["Item"]:
        """Return the elements of the list at a key; an empty list if the key is absent."""
        return self.child(key).elements() if key in self else []

    def elements(self) -> list["Item"]:
        """Return the elements of this list; FormatError if the value is not a list."""
        if not isinstance(self.value, list):
            self.refuse(f"expected a list, got {_shown(self.value)}", "write the value as [...]")
        return [self.child(number) for number in range(len(self.value))]

    def blocks(self, key: str) -> Iterator[tuple[str, "Item"]]:
        """Yield the keys and values of the object at a key; nothing if the key is absent."""
        if key in self:
            block = self.child(key)
            if not isinstance(block.value, dict):
                block.refuse(f"{key} is {_shown(block.value)}, which is not a block of keys", "write {...}")
            yield from ((name, block.child(name)) for name in block.value)

    def number(self, *, low: int = 0, high: int = _MAX_NUMBER) -> int:
        """Return this value as a whole number from `low` to `high`; FormatError for any other value."""
        name = self._steps[-1] if self._steps else "value"
        name = f"element {name}" if isinstance(name, int) else name
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.refuse(f"{name} is {_shown(self.value)}, which is no whole number", f"give {low} to {high}")
        if not low <= self.value <= high:
            self.refuse(f"{name} is {_shown(self.value)}, which is out of range", f"give {low} to {high}")
        return self.value

    def integer(self, key: str, *, low: int = 0, high: int = _MAX_NUMBER, default: int | None = None) -> int:
        """Return the whole number at a key; `default`, if given, for an absent key.

        Raises FormatError if the value is no whole number from `low` to `high`.
        """
        if default is not None and key not in self:
            return default
        return self.child(key).number(low=low, high=high)

    def text(self, key: str, default: str | None = None, choices: Sequence[str] = ()) -> str:
        """Return the string at a key, one of `choices` if given; `default`, if given, for an absent key.

        Raises FormatError for any other value.
        """
        if default is not None and key not in self:
            return default
        item = self.child(key)
        if not isinstance(item.value, str):
            item.refuse(f"{key} is {_shown(item.value)}, which is no text", "put the value in quotes")
        if choices and item.value not in choices:
            item.refuse(f"{key} is {_shown(item.value)}, which is unknown", f"give {' or '.join(choices)}")
        return item.value

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return the boolean at a key; `default` for an absent key; FormatError for any other value."""
        if key not in self:
            return default
        item = self.child(key)
        if not isinstance(item.value, bool):
            item.refuse(f"{key} is {_shown(item.value)}, which is no boolean", "give true or false")
        return item.value


def read_json(path: Path) -> Item:
    """Return the value of a JSON file, plain or compressed by gzip.

    Raises FormatError with file and line if the file is no valid JSON. Duplicate keys in an object, NaN and
    Infinity are refused too.
    """
    location = FileLocation(path)
    try:
        text = read_unpacked(path).decode("utf-8-sig")
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except UnicodeDecodeError:
        location.refuse("the file is no UTF-8 text", "save it as UTF-8")
    except json.JSONDecodeError as ex:
        FileLocation(path, ex.lineno).refuse(
            f"the file is no JSON: {ex.msg}", "correct the line; the file may be cut short"
        )
    except RecursionError:
        location.refuse("blocks and lists are nested too deep to read", "nest them less")
    except ValueError as ex:
        location.refuse(f"the file is no valid JSON: {ex}", "correct the value")
    return Item(_Document(path, text), (), value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise ValueError(f"key {twice[:40]!r} appears twice in a block")
    return values


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) > _MAX_NUMBER:
        return "a number beyond 64 bits"
    text = repr(value) if not isinstance(value, dict | list) else f"a {type(value).__name__}"
    return text if len(text) <= 44 else text[:40] + "..."
