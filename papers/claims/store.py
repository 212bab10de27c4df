# SPDX-License-Identifier: Apache-2.0
"""Store of the figures of finished tasks, to resume a repeated command.

The result file of a task is figures/KEY.json in the folder of results. The key is the hash of all inputs of
the figures. Changed claims keep the key, so they are judged by the stored figures.
"""

from __future__ import annotations

import json
from typing import Any, final

from harness.errors import OutputError
from harness.output import OutputFolder
from harness.sweeps.store import read_object

__all__ = ["FigureStore"]

_FORMATS = ("railyard-figures", "railyard-run")


@final
class FigureStore:
    """Result files of tasks by key.

    Args:
        output: folder of results; if None, result files are kept in memory only.
        resume: keep the result files of earlier calls; else delete them.

    Raises:
        OutputError: The folder of figures cannot be made or emptied.
    """

    def __init__(self, output: OutputFolder | None = None, *, resume: bool = True) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        self._folder = None if output is None else OutputFolder(output.path / "figures")
        if self._folder is None:
            return
        try:
            self._folder.path.mkdir(exist_ok=True)
            for left in () if resume else self._folder.path.glob("*.json"):
                left.unlink(missing_ok=True)
        except OSError as ex:
            raise OutputError(
                f"the folder {self._folder.path} cannot be made or emptied: {ex.strerror}",
                remedy="give another folder with --out",
            ) from None

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the content of a task's result file; None if the task has not finished."""
        if key not in self._known and self._folder is not None:
            content = read_object(self._folder.path / f"{key}.json")
            if content is None or content.get("format") not in _FORMATS:
                return None
            self._known[key] = content
        return self._known.get(key)

    def put(self, key: str, text: str) -> dict[str, Any]:
        """Store and return a task's result; the folder keeps no failed task, so the next call repeats it."""
        content = self._known[key] = json.loads(text)
        if self._folder is not None and not content["trouble"]:
            self._folder.write(f"{key}.json", text)
        return content
