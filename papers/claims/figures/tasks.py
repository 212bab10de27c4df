# SPDX-License-Identifier: Apache-2.0
"""Tasks of a file of claims, which any process can run: a call of a model, or a run of a scenario."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias, final

from harness.sweeps.plan import Run
from harness.sweeps.worker import execute
from papers.claims.claim import Measured
from papers.claims.figures.functions import called, function_of
from topologies.errors import RailyardError

__all__ = ["ModelTask", "Note", "Progress", "RunTask", "Task", "carry_out"]

Progress: TypeAlias = Callable[[str, float], None]
"""Function called with the current activity and the share of it that is done, 0 to 1."""

Note: TypeAlias = Callable[[str, str, float], None]
"""Function called with the name of a task, its current activity, and the share done, 0 to 1."""


@final
@dataclass(frozen=True, slots=True)
class ModelTask:
    """A call of a model's function; `key` is the hash of all inputs on which the figures depend."""

    key: str
    name: str
    function: str
    arguments: Mapping[str, Any]
    picture: str


@final
@dataclass(frozen=True, kw_only=True)
class RunTask(Run):
    """A run of a variant of the scenario file `path`, for the check `check`."""

    path: Path
    check: str

    @property
    def name(self) -> str:
        """Description of the run for users, after the name of the check."""
        return f"{self.check}, {super().name}"


Task: TypeAlias = ModelTask | RunTask


def carry_out(task: Task, note: Note | None = None) -> str:
    """Run a task and return the text of its result file, where key `trouble` holds an error of the input."""
    if isinstance(task, RunTask):
        if note is not None:
            note(task.name, f"running{task.name.partition(',')[2]}", 0.0)
        return execute(task, task.path)

    def told(what: str, share: float) -> None:
        if note is not None:
            note(task.name, what, share)

    content: dict[str, Any] = {
        "format": "railyard-figures",
        "key": task.key,
        "function": task.function,
        "arguments": dict(task.arguments),
        "figures": {},
        "picture": "",
        "trouble": "",
    }
    try:
        function = function_of(task.function)
        takes_note = "note" in inspect.signature(function).parameters
        given = {"note": told, **task.arguments} if takes_note else task.arguments
        returned = called(task.function, **given)
        figures = returned if isinstance(returned, Mapping) else {"figure": returned}
        content["figures"] = {name: asdict(_measured(value)) for name, value in figures.items()}
        content["picture"] = called(task.picture) if task.picture else ""
    except RailyardError as ex:
        content["trouble"] = str(ex)
    return json.dumps(content, indent=2) + "\n"


def _measured(value: Measured | float) -> Measured:
    return value if isinstance(value, Measured) else Measured(float(value))
