# SPDX-License-Identifier: Apache-2.0
"""Properties that every study must have, for the check.py of experiments that are studies."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from papers.checking.statements import say

__all__ = ["percent", "verify"]

Result = Mapping[str, Any]
"""Content of `result.json` of a study."""


def percent(result: Result, reading: str, variant: str, lengths: tuple[str, ...] = ()) -> float:
    """Mean over all models, and over some lengths or all, of the percent of the baseline."""
    models = result["percent_of_baseline"][reading][variant].values()
    return mean(
        value for model in models for length, value in model.items() if not lengths or length in lengths
    )


def verify(command: Callable[..., int], study: Path, checks: Callable[[Result], Mapping[str, bool]]) -> int:
    """Run a study twice by its verb; print what is true of it.

    Args:
        command: `railyard.command.railyard`, which carries out the command and returns its exit code.
        study: file of the study.
        checks: statements about the result, and whether each holds.

    Returns:
        The exit code, 1 when a statement does not hold.
    """
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        if any(command("model", study, "--out", out) for out in (first, second)):
            return 1
        same = all(
            (first / name).read_bytes() == (second / name).read_bytes()
            for name in ("result.json", "plot.svg")
        )
        result = json.loads((first / "result.json").read_text())
    return say(
        {**checks(result), "the same file gives the same result.json and plot.svg, byte for byte": same}
    )
