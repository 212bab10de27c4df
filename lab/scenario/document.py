"""A YAML document that remembers on which line each of its keys and values stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any, final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from lab.errors import ScenarioError

__all__ = ["Document", "Location"]

# Keys and indices from the root down.
Location = tuple[str | int, ...]


@final
class Document:
    """`values` is the document as plain dicts, tuples and scalars."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._root = _parse(path)
        self.values: dict[str, Any] = _plain(self._root)

    def line(self, location: Location) -> int:
        """The line of what stands at `location`, or of its nearest ancestor that is in the file."""
        return self._walk(location)[1]

    def depth(self, location: Location) -> int:
        """How many steps of `location` the file has."""
        return self._walk(location)[0]

    def at(self, location: Location, message: str) -> str:
        return f"{self.path}:{self.line(location)}: {message}"

    def _walk(self, location: Location) -> tuple[int, int]:
        node: Any = self._root
        line = 1
        for depth, step in enumerate(location):
            if isinstance(node, CommentedMap) and step in node:
                line = node.lc.key(step)[0] + 1
            elif isinstance(node, CommentedSeq) and isinstance(step, int) and step < len(node):
                line = node.lc.item(step)[0] + 1
            else:
                return depth, line
            node = node[step]
        return len(location), line


def _parse(path: Path) -> CommentedMap:
    try:
        root = YAML(typ="rt", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ScenarioError(
            f"{path}: no such file", remedy="`railyard list` names the scenarios it knows"
        ) from None
    except (OSError, UnicodeDecodeError) as ex:
        reason = getattr(ex, "strerror", None) or "not UTF-8 text"
        raise ScenarioError(f"{path}: {reason}", remedy="give a scenario file (YAML)") from None
    except MarkedYAMLError as ex:
        line = ex.problem_mark.line + 1 if ex.problem_mark else 1
        raise ScenarioError(f"{path}:{line}: not YAML: {ex.problem or ex.context}") from None
    except YAMLError as ex:
        raise ScenarioError(f"{path}:1: not YAML: {str(ex).splitlines()[0]}") from None
    if not isinstance(root, CommentedMap):
        raise ScenarioError(
            f"{path}:1: not a scenario", remedy="start with `name:` and `topology:`, see docs/scenarios.md"
        )
    return root


def _plain(node: Any) -> Any:
    if isinstance(node, CommentedMap):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, CommentedSeq):
        return tuple(_plain(value) for value in node)
    for kind in (bool, int, float, str):  # the parser's own scalar types remember their spelling; drop that
        if isinstance(node, kind):
            return kind(node)
    return node
