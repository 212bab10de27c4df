"""A scenario's document: YAML that remembers the line of each key and value, or values without lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent, ScalarEvent

from harness.errors import ScenarioError

__all__ = ["Document", "Location", "dotted", "name_of", "title_of"]

# Keys and indices from the root down.
Location = tuple[str | int, ...]


@final
class Document:
    """A scenario as plain dicts, tuples and scalars (`values`), with the line of each key and value.

    Messages name a value of a file as FILE:LINE, and any other value by its key, such as `topology.dims`.
    """

    def __init__(self, path: Path) -> None:
        self._path: Path | None = path
        self._root: Any = _parse(path)
        self._origins: Mapping[Location, Location] = {}
        self.values: dict[str, Any] = _plain(self._root)

    @classmethod
    def of_values(cls, values: Mapping[str, Any]) -> Self:
        """Return a document of values without a file; lists become tuples."""
        document = cls.__new__(cls)
        document._path, document._origins = None, {}
        document._root = document.values = _plain(values)
        return document

    def with_values(
        self, values: Mapping[str, Any], origins: Mapping[Location, Location] | None = None
    ) -> Self:
        """Return a document with other values; its messages name the file and lines of this document.

        `origins` has the location in the file of values that the file has at another location.
        """
        document = type(self).__new__(type(self))
        document._path, document._root, document.values = self._path, self._root, dict(values)
        document._origins = origins or {}
        return document

    @property
    def folder(self) -> Path:
        """Folder of the file; the working directory for values that come from no file."""
        return Path() if self._path is None else self._path.parent

    def line(self, location: Location) -> int:
        """Return the line of the value at `location`, or of its nearest ancestor; 1 without a file."""
        return self._walk(location)[1]

    def depth(self, location: Location) -> int:
        """Return the number of leading keys and indices of `location` that the document contains."""
        return self._walk(location)[0]

    def at(self, location: Location, message: str) -> str:
        """Return `message` prefixed with FILE:LINE of `location`, or with its key if there is no file."""
        if self._path is not None:
            return f"{self._path}:{self.line(location)}: {message}"
        place = dotted(location[: self.depth(location)])
        return message if place in message else f"{place}: {message}"

    def without_place(self, message: str) -> str:
        """Return a message without the FILE:LINE prefixes added by `at` to its lines."""
        if self._path is None:
            return message
        return re.sub(rf"^{re.escape(str(self._path))}:\d+: ", "", message, flags=re.MULTILINE)

    def _walk(self, location: Location) -> tuple[int, int]:
        node: Any = self._root
        line = 1
        for moved, origin in self._origins.items():
            if location[: len(moved)] == moved:
                location = (*origin, *location[len(moved) :])
                break
        for depth, step in enumerate(location):
            if not _has(node, step):
                return depth, line
            if isinstance(node, CommentedMap):
                # A key that a merge (`<<`) brings has no line of its own.
                line = node.lc.key(step)[0] + 1 if step in (node.lc.data or ()) else line
            elif isinstance(node, CommentedSeq):
                line = node.lc.item(step)[0] + 1
            node = node[step]
        return len(location), line


def title_of(path: Path) -> str:
    """Return the title of a scenario file, or its name if it has no title.

    The file is parsed up to the title only, and not checked.

    Raises:
        ScenarioError: The file cannot be read, or its beginning is not YAML.
    """
    heading = _heading(path, "title")
    return heading.get("title") or heading.get("name", "")


def name_of(path: Path) -> str:
    """Return the value of `name:` in a scenario file, or ''; the file is parsed up to that key only."""
    return _heading(path, "name").get("name", "")


def _heading(path: Path, last: str) -> dict[str, str]:
    """Return the scalars at the root of a YAML file by their keys, up to the key `last`."""
    heading: dict[str, str] = {}
    key, depth = "", 0
    with _yaml_errors(path):
        for event in YAML(typ="safe", pure=True).parse(path.read_text(encoding="utf-8")):
            if isinstance(event, CollectionEndEvent):
                depth -= 1
            elif isinstance(event, CollectionStartEvent):
                depth, key = depth + 1, ""
            elif isinstance(event, ScalarEvent) and depth == 1:
                if key:
                    heading[key] = event.value
                key = "" if key else event.value
            if last in heading:
                break
    return heading


def dotted(location: Location) -> str:
    """Return a location as messages write it, such as `variants[0].faults`; empty for the root."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _has(node: Any, step: str | int) -> bool:
    """Return whether a mapping has a key, or a sequence an index."""
    if isinstance(node, dict):
        return step in node
    return isinstance(node, list | tuple) and isinstance(step, int) and step < len(node)


def _parse(path: Path) -> CommentedMap:
    with _yaml_errors(path):
        root = _loaded(path.read_text(encoding="utf-8"))
    if not isinstance(root, CommentedMap):
        raise ScenarioError(
            f"{path}:1: the file is not a scenario, because it is not a block of keys",
            remedy="start with `name:` and `topology:`, see docs/use/scenarios.md",
        )
    return root


# Ruamel.yaml reads some 200 KB a second, and a study, a check or a test reads the same file many times.
# Nobody changes what the cache returns: values are copied from it.
@lru_cache(maxsize=64)
def _loaded(text: str) -> Any:
    return YAML(typ="rt", pure=True).load(text)


@contextmanager
def _yaml_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system and of YAML into a ScenarioError with FILE:LINE."""
    try:
        yield
    except FileNotFoundError:
        raise ScenarioError(
            f"{path}: the file does not exist",
            remedy="give an existing file, or a name that `railyard list` prints",
        ) from None
    except (OSError, UnicodeDecodeError) as ex:
        reason = getattr(ex, "strerror", None) or "not UTF-8 text"
        raise ScenarioError(
            f"{path}: the file cannot be read: {reason}", remedy="give a scenario file (YAML)"
        ) from None
    except MarkedYAMLError as ex:
        line = ex.problem_mark.line + 1 if ex.problem_mark else 1
        bracket = "but got '['" in (ex.problem or "")
        raise ScenarioError(
            f"{path}:{line}: the file is not YAML: {ex.problem or ex.context}",
            remedy='put a value with brackets in quotes, as "run.faults[0].detected_us"'
            if bracket
            else "correct this line",
        ) from None
    except YAMLError as ex:
        raise ScenarioError(
            f"{path}:1: the file is not YAML: {str(ex).splitlines()[0]}", remedy="give a scenario file (YAML)"
        ) from None


def _plain(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return tuple(_plain(value) for value in node)
    for kind in (bool, int, float, str):  # ruamel.yaml returns subclasses, which remember their spelling
        if isinstance(node, kind):
            return kind(node)
    return node
