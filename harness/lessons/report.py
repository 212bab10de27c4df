# SPDX-License-Identifier: Apache-2.0
"""report.json of a check: verdicts, and the seed, versions and hashes that are needed to repeat the check.

A report proves nothing by itself: a student can compute its digest. `railyard lab verify` repeats the check.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import MissingProgramError
from harness.lessons.attempt import Verdict
from harness.lessons.catalogue import Lab
from harness.lessons.checker import check_folder
from harness.lessons.folder import changed_files, hashes
from harness.output import OutputFolder
from harness.program import program_digest
from harness.version import railyard_version

__all__ = ["REPORT", "disagreement", "make_report", "read_report", "write_report"]

REPORT = "report.json"

_FORMAT = "railyard lab report 1"
_LARGEST = 1 << 20


def make_report(folder: Path, lab: Lab, seed: int, verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """Return the report of a check as JSON values.

    Its key `program` has the hash of Railyard, `checks` the hash of the lab's checks, `files` the hashes of
    the student's files, `digest` the hash of all other keys.
    """
    content: dict[str, Any] = {
        "format": _FORMAT,
        "lab": lab.name,
        "railyard": railyard_version(),
        "program": program_digest(),
        "checks": lab.digest,
        "seed": seed,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": hashes(folder, lab),
        "changed": changed_files(folder, lab),
        "passed": all(verdict.passed for verdict in verdicts.values()),
        "stages": [{"id": name, **asdict(verdict)} for name, verdict in verdicts.items()],
    }
    return {**content, "digest": _digest(content)}


def write_report(report: Mapping[str, Any], folder: Path) -> None:
    """Write report.json into the student's folder; OutputError if the file cannot be written."""
    # By a new name: a link or a pipe of that name is replaced, and never written to.
    OutputFolder(folder).write(REPORT, json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def read_report(folder: Path) -> dict[str, Any] | None:
    """Return the content of a folder's report.json; None if it is missing, too large or no report."""
    path = folder / REPORT
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and content.get("format") == _FORMAT else None


def disagreement(report: Mapping[str, Any], folder: Path, lab: Lab, *, repeat: bool) -> str:
    """Return the first reason why a report does not fit a student's folder; '' if it fits.

    With `repeat`, the check is repeated with the report's seed, besides comparing hashes.

    Raises:
        MissingProgramError: A stage passes according to the report, but this machine cannot check it.
    """
    content = {name: value for name, value in report.items() if name != "digest"}
    if report.get("digest") != _digest(content):
        return "the report was changed after it was written"
    if report.get("lab") != lab.name:
        return f"the report belongs to lab {report.get('lab')}"
    own = hashes(folder, lab)
    files = report.get("files")
    for name, value in own.items():
        if not isinstance(files, dict) or files.get(name) != value:
            return f"{name} has changed since the check"
    if report.get("checks") != lab.digest:
        return "the report comes from another version of the lab's checks"
    if not repeat:
        return ""
    seed = report.get("seed")
    if type(seed) is not int:
        return "the report has no seed"
    verdicts = check_folder(folder, lab, seed)
    outcome = [[name, verdict.passed] for name, verdict in verdicts.items()]
    try:
        reported = [[stage["id"], stage["passed"]] for stage in report["stages"]]
    except (KeyError, TypeError):
        reported = []
    for name, verdict in verdicts.items():
        if not verdict.checked and [name, True] in reported:
            raise MissingProgramError(
                f"stage {name} of {folder} cannot be verified: {verdict.observed}", remedy=verdict.look
            )
    if outcome != reported:
        passing = ", ".join(name for name, verdict in verdicts.items() if verdict.passed) or "no stage"
        return f"the check with seed {seed} gives another outcome: {passing} passes"
    return ""


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
