# SPDX-License-Identifier: Apache-2.0
"""Values of finished checks, kept in the folder of the results, so that the same command goes on.

checks/NAME.json has the values of a check and its picture. It counts only while the program, the experiments
and the claims are those that it was measured with.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, final

from harness.errors import OutputError
from harness.files import EXPERIMENTS
from harness.output import OutputFolder
from harness.program import program_digest
from harness.scenario.digest import canonical, sha256
from papers.claims.check import Check, Row, judged
from papers.claims.claim import Measured

__all__ = ["KeptChecks"]


@final
class KeptChecks:
    """Finished checks of a folder; without `resume` those of earlier calls are removed."""

    def __init__(self, output: OutputFolder, *, resume: bool) -> None:
        self._folder = OutputFolder(output.path / "checks")
        try:
            self._folder.path.mkdir(exist_ok=True)
            for left in () if resume else self._folder.path.glob("*.json"):
                left.unlink(missing_ok=True)
        except OSError as ex:
            raise OutputError(
                f"{self._folder.path}: {ex.strerror}", remedy="give another folder with --out"
            ) from None

    def rows(self, check: Check) -> tuple[Row, ...] | None:
        """Return the rows of a check; None if it has not finished."""
        kept = self._content(check)
        if kept is None:
            return None
        return judged(check.claims, {name: Measured(**value) for name, value in kept["values"].items()})

    def picture(self, check: Check) -> str:
        """Return the picture of a finished check as SVG; empty if it has none."""
        kept = self._content(check)
        return "" if kept is None else kept["picture"]

    def put(self, check: Check, rows: tuple[Row, ...]) -> None:
        """Keep the rows of a check that has just been measured; rows without a value are measured again."""
        measured = {row.claim.name: row.measured for row in rows}
        if None in measured.values():
            return
        document = {
            "format": "railyard-check",
            "key": _key(check),
            "values": {name: asdict(value) for name, value in measured.items() if value is not None},
            "picture": "" if check.picture is None else check.picture(),
        }
        self._folder.write(f"{check.name}.json", json.dumps(document, indent=2) + "\n")

    def _content(self, check: Check) -> dict[str, Any] | None:
        try:
            text = Path(self._folder.path, f"{check.name}.json").read_text(encoding="utf-8")
            content = json.loads(text)
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) and content.get("key") == _key(check) else None


def _key(check: Check) -> str:
    about = [check.paper, check.name, repr(check.claims), program_digest("papers"), _experiments()]
    return sha256(canonical(about))


@cache
def _experiments() -> str:
    files = sorted(path for path in EXPERIMENTS.rglob("*.yaml") if path.is_file())
    return sha256(b"".join(sha256(path.read_bytes()).encode() for path in files))
