# SPDX-License-Identifier: Apache-2.0
"""The command `railyard` for the checks of experiments: in a process of its own, which prints as always."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["cost_of", "railyard", "result_of", "say"]

T = TypeVar("T")


def railyard(*arguments: str | Path) -> int:
    """Carry out the command with these arguments and return its exit code."""
    program = "from railyard.cli import main; main()"
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=False).returncode


def result_of(scenario: Path, *options: str, folder: Path | None = None) -> tuple[int, dict[str, Any]]:
    """Run a scenario.

    Args:
        scenario: file of the scenario.
        options: further options of `railyard run`.
        folder: where the results stay; without it they are removed.

    Returns:
        The exit code and the content of result.json, empty if the command wrote none.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as name:
            return result_of(scenario, *options, folder=Path(name))
    code = railyard("run", scenario, "--out", folder, *options)
    result = folder / "result.json"
    return code, json.loads(result.read_text()) if result.exists() else {}


def cost_of(call: Callable[[], T]) -> tuple[T, float, float]:
    """Return what a call returns, its processor time in seconds, and the peak of memory in GB; print both."""
    began = time.process_time()
    value = call()
    seconds = time.process_time() - began
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 10**9
    print(f"{seconds:.0f} s of processor time, {peak_gb:.1f} GB of memory at most")
    return value, seconds, peak_gb


def say(checks: Mapping[str, bool]) -> int:
    """Print what is true and what is not; return the exit code, 1 when something is not true."""
    for text, holds in checks.items():
        print(f"{text}: {'yes' if holds else 'NO'}")
    return 0 if all(checks.values()) else 1
