# SPDX-License-Identifier: Apache-2.0
"""Folder of a study: study.json describes the study, and runs/KEY.json is the result of a run.

Each file is written whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, final

from harness.errors import OutputError
from harness.output import OutputFolder, output_folder
from harness.sweeps.plan import StudyPlan

__all__ = ["RunResult", "StudyFolder", "open_study", "read_object", "read_run"]

RunResult = dict[str, Any]
"""Content of the result file of a run, runs/KEY.json."""

Shard = tuple[int, int]


@final
class StudyFolder:
    """Store of the results of a study's runs by key, in a folder."""

    def __init__(self, output: OutputFolder) -> None:
        self.output = output
        self._runs = OutputFolder(output.path / "runs")
        self._known: dict[str, RunResult] = {}

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def get(self, key: str) -> RunResult | None:
        """Return the result of a run; None if there is none yet."""
        if key not in self._known:
            result = read_run(self._runs.path / f"{key}.json")
            if result is None:
                return None
            self._known[key] = result
        return self._known[key]

    def put(self, key: str, text: str) -> RunResult:
        """Write the text of the result file of a run, whole or not at all, and return its content."""
        self._runs.write(f"{key}.json", text)
        return self._known.setdefault(key, json.loads(text))

    def others(self, plan: StudyPlan) -> int:
        """Return the number of results of runs that the plan does not have, such as those of other axes."""
        planned = {run.key for run in plan.runs}
        return sum(path.stem not in planned for path in self._runs.path.glob("[!.]*.json"))


@contextmanager
def open_study(
    path: Path, plan: StudyPlan, *, resume: bool = True, shard: Shard | None = None
) -> Iterator[StudyFolder]:
    """Yield the folder of a study, locked against other processes.

    Args:
        path: Folder of the study.
        plan: Plan of the study.
        resume: Keep results of earlier studies of this scenario with this code, whatever their axes; False
            removes all results in the folder.
        shard: Number of this part of the study and number of parts; parts may have the folder open together.

    Raises:
        OutputError: The folder holds another study, cannot be written, or another process writes to it.
    """
    with output_folder(path, lock="shared" if shard else "exclusive") as output:
        if shard is None:
            yield _opened(output, plan, resume=resume, alone=True)
        else:
            own = path / f".shard-{shard[0]}-of-{shard[1]}"
            try:
                with output_folder(own):
                    yield _opened(output, plan, resume=resume, alone=False)
            finally:
                with suppress(OSError):
                    own.rmdir()


def _opened(output: OutputFolder, plan: StudyPlan, *, resume: bool, alone: bool) -> StudyFolder:
    runs = output.path / "runs"
    before = read_object(output.path / "study.json")
    if before is not None and before.get("base") != plan.base and resume:
        count = len(before.get("runs", ()))
        what = f"{before.get('scenario')} with {count} runs"
        raise OutputError(
            f"the folder {output.path} holds a study of another scenario or version of Railyard: {what}",
            remedy="give another folder with --out, or --no-resume to begin anew and remove its results",
        )
    try:
        runs.mkdir(exist_ok=True)
        # Remove partly written files of a killed process, unless other shards may be writing now.
        for left in runs.glob(".*") if alone else ():
            left.unlink(missing_ok=True)
        for left in () if resume else runs.glob("*.json"):
            left.unlink(missing_ok=True)
    except OSError as ex:
        raise OutputError(
            f"the folder {runs} cannot be written: {ex.strerror}", remedy="give another folder with --out"
        ) from None
    output.write("study.json", json.dumps(plan.document(), indent=2, sort_keys=True) + "\n")
    return StudyFolder(output)


def read_run(path: Path) -> RunResult | None:
    """Return the content of the result file of a run; None if it is missing or incomplete."""
    result = read_object(path)
    return result if result is not None and result.get("format") == "railyard-run" else None


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the content of a JSON file that holds an object; None if it is missing or incomplete."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None
