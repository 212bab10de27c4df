# SPDX-License-Identifier: Apache-2.0
"""Files beside the packages: compiled programs, experiments and labs, in a source tree or a wheel."""

from pathlib import Path

__all__ = ["EXPERIMENTS", "LABS", "P4RUNTIME_SHELL", "P4_SOURCES", "PROGRAMS"]

# pyproject.toml puts copies of the folders there in a wheel; a source tree has the folders themselves.
_WHEEL = Path(__file__).with_name("data")
_FOLDER = _WHEEL if _WHEEL.is_dir() else Path(__file__).resolve().parents[1]

# Compiler output that `make p4` writes.
PROGRAMS = _FOLDER / "p4" / "build"
P4_SOURCES = _FOLDER / "p4"
EXPERIMENTS = _FOLDER / "experiments"
LABS = _FOLDER / "labs"

# Environment of p4runtime-shell, which scripts/shell.sh makes in a source tree.
P4RUNTIME_SHELL = _FOLDER / "build" / "p4runtime-shell"
