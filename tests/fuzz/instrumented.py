# SPDX-License-Identifier: Apache-2.0
"""Targets in Python under libFuzzer, with coverage of the modules that they drive."""

import importlib
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

__all__ = ["instrumented", "prefer_sources"]


def prefer_sources() -> None:
    """Import from the current folder first; atheris instruments nothing that an editable install loads."""
    sys.meta_path.sort(key=lambda finder: "ScikitBuild" in type(finder).__name__)


def instrumented(atheris: Any, target: str, packages: Sequence[str]) -> ModuleType:
    """Import a target; code of the packages tells libFuzzer which branches an input takes.

    RuntimeError if a package has been imported before: its code would tell nothing.
    """
    early = sorted(name for name in sys.modules if name in packages)
    if early:
        raise RuntimeError(f"{', '.join(early)} was imported too early to be instrumented")
    prefer_sources()
    with atheris.instrument_imports(include=[*packages]):
        return importlib.import_module(target)
