# SPDX-License-Identifier: Apache-2.0
"""Hash of a scenario: of its values, and of the content of the files that it names."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ScenarioError
from harness.scenario.schema import Scenario
from topologies.plugins.python_file import is_reference
from topologies.sources.fabrics import is_outside

__all__ = ["canonical", "digest", "files_of", "sha256"]

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def digest(scenario: Scenario, seed: int) -> str:
    """Return the hash of a scenario with the given seed, as `sha256:HEX`.

    The content of a file counts and its path does not, so the hash is equal on any machine.

    Raises:
        ScenarioError: A file cannot be read.
    """
    values = scenario.model_copy(update={"seed": seed}).model_dump(mode="json", by_alias=True)
    paths = {str(path): f"sha256:{_content(path)}" for path in files_of(scenario)}
    return f"sha256:{sha256(canonical({'scenario': _by_content(values, paths), 'files': [*paths.values()]}))}"


def files_of(scenario: Scenario) -> tuple[Path, ...]:
    """Return the files named in a scenario, in the order of their first appearance.

    A P4 source is followed by the files that it includes by a path in quotes, and by their includes.
    """
    return tuple(dict.fromkeys(_files(scenario)))


def _files(scenario: Scenario) -> Iterator[Path]:
    if is_outside(scenario.topology.name):
        yield _path(scenario.topology.name)
    for variant in scenario.variants:
        yield from (_path(text) for text in _texts(variant.model_dump(mode="json")) if is_reference(text))
        for job in variant.every_job:
            if job.graph is not None and job.graph.file is not None:
                yield Path(job.graph.file)
        for program in variant.program.values():
            source = Path(program.file)
            yield source
            yield from _included(source)
            p4info = Path(program.p4info) if program.p4info else source.with_suffix(".p4info.txtpb")
            if program.p4info or source.suffix != ".p4":
                yield p4info
            if program.entries is not None:
                yield Path(program.entries)


def _included(source: Path) -> Iterator[Path]:
    """Yield the files that a P4 source includes by a path in quotes, directly or by way of another file.

    p4c finds such a file beside the file that includes it. Files in angle brackets belong to p4c. Files that
    do not exist are left out: p4c reports them if no condition of the preprocessor excludes them.
    """
    seen = {source}
    waiting = [source] if source.suffix == ".p4" and source.is_file() else []
    while waiting:
        file = waiting.pop()
        for name in _INCLUDE.findall(file.read_bytes()):
            path = Path(os.path.normpath(file.parent / os.fsdecode(name)))
            if path not in seen and path.is_file():
                seen.add(path)
                waiting.append(path)
                yield path


def _texts(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value except values of the key `title`."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key != "title":
                yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def canonical(value: Any) -> bytes:
    """Return a JSON value as bytes with sorted keys; equal values have equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def sha256(content: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _path(text: str) -> Path:
    """Return the path of the file in a text FILE or FILE.py:NAME."""
    return Path(text.rpartition(":")[0] if is_reference(text) else text)


def _content(path: Path) -> str:
    try:
        return sha256(path.read_bytes())
    except OSError as ex:
        raise ScenarioError(
            f"{path}: the file cannot be read: {ex.strerror}", remedy="give the path of a readable file"
        ) from None


def _by_content(value: Any, paths: dict[str, str]) -> Any:
    """Return a JSON value with each path of a file replaced by the hash of the file's content."""
    if isinstance(value, dict):
        return {key: _by_content(item, paths) for key, item in value.items()}
    if isinstance(value, list):
        return [_by_content(item, paths) for item in value]
    if not isinstance(value, str):
        return value
    if value in paths:
        return paths[value]
    file = str(_path(value))
    return f"{paths[file]}:{value.rpartition(':')[2]}" if is_reference(value) and file in paths else value
