# SPDX-License-Identifier: Apache-2.0
"""Paths of files outside the packages, in a source tree or a wheel: P4 programs, experiments and labs."""

from pathlib import Path

__all__ = ["EXPERIMENTS", "LABS", "P4RUNTIME_SHELL", "P4_SOURCES", "PROGRAMS"]

# A wheel has copies of the folders in harness/data (see pyproject.toml); a source tree has them at its root.
_WHEEL = Path(__file__).with_name("data")
_FOLDER = _WHEEL if _WHEEL.is_dir() else Path(__file__).resolve().parents[1]

# `make p4` writes the compiled P4 programs to this folder.
PROGRAMS = _FOLDER / "p4" / "build"
P4_SOURCES = _FOLDER / "p4"
EXPERIMENTS = _FOLDER / "experiments"
LABS = _FOLDER / "labs"

# Python environment of p4runtime-shell; scripts/shell.sh creates it in a source tree.
P4RUNTIME_SHELL = _FOLDER / "build" / "p4runtime-shell"
