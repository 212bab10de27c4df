# SPDX-License-Identifier: Apache-2.0
"""The command `railyard` in a process of its own, for checks of experiments."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["railyard", "result_of"]


def railyard(*arguments: str | Path) -> int:
    """Run the command `railyard` with these arguments in a new process, and return its exit code."""
    program = "from railyard.cli import main; main()"
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=False).returncode


def result_of(scenario: Path, *options: str, folder: Path | None = None) -> tuple[int, dict[str, Any]]:
    """Run a scenario with `railyard run` in a new process.

    Args:
        scenario: File of the scenario.
        options: Further options of `railyard run`.
        folder: Folder in which the results stay; without it they are removed.

    Returns:
        The exit code, and the content of result.json, which is empty if the command wrote no result.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as name:
            return result_of(scenario, *options, folder=Path(name))
    code = railyard("run", scenario, "--out", folder, *options)
    result = folder / "result.json"
    return code, json.loads(result.read_text()) if result.exists() else {}
