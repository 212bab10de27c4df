# SPDX-License-Identifier: Apache-2.0
"""Bundled scenarios and studies, by name (`first-train`) or by folder (`01_first_train`)."""

from __future__ import annotations

from pathlib import Path

from harness.errors import ScenarioError
from harness.files import EXPERIMENTS
from harness.scenario.document import name_of
from topologies.errors import suggestion

__all__ = ["file_of", "named_files", "scenario_files"]


def file_of(given: Path) -> Path:
    """Return the file for a command's argument: a path, or the name of a scenario or study.

    A path that exists always wins. A folder's name, such as 01_first_train, stands for its scenario.yaml or
    model.yaml. A path with a suffix or a folder in it is returned unchanged, even if no such file exists.

    Raises:
        ScenarioError: `given` is a single word, and no file and no scenario has this name.
    """
    if given.exists() or given.suffix or len(given.parts) != 1:
        return given
    files = named_files()
    if given.name not in files:
        raise ScenarioError(
            f"{given} is neither a file nor the name of a scenario",
            remedy=suggestion(given.name, files, "`railyard list` shows the names"),
        )
    return files[given.name]


def scenario_files() -> list[Path]:
    """Return the files of bundled scenarios and studies, without their claims.yaml files."""
    return sorted(path for path in EXPERIMENTS.glob("*/*.yaml") if path.name != "claims.yaml")


def named_files() -> dict[str, Path]:
    """Return the files of scenarios and studies by their names, and by the names of their folders."""
    files: dict[str, Path] = {}
    for path in scenario_files():
        try:
            files[name_of(path)] = path
        except ScenarioError:  # `railyard list` reports why this file cannot be read
            continue
        if path.name in ("scenario.yaml", "model.yaml"):
            files[path.parent.name] = path
    return files
