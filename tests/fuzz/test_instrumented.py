# SPDX-License-Identifier: Apache-2.0
"""Targets in Python: sources come from the project's folder, and are instrumented before they are used."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.fuzz import instrumented as module


class Atheris:
    """The part of atheris that instruments imports; it notes the packages and the finders at that time."""

    def __init__(self) -> None:
        self.included: list[str] = []
        self.finders: list[str] = []

    @contextmanager
    def instrument_imports(self, include: Sequence[str]) -> Iterator[None]:
        self.included += include
        self.finders = [type(finder).__name__ for finder in sys.meta_path]
        yield


def test_editable_installs_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    class ScikitBuildFinder:
        pass

    monkeypatch.setattr(sys, "meta_path", [ScikitBuildFinder(), *sys.meta_path])
    atheris = Atheris()
    target = module.instrumented(atheris, "tests.fuzz.formats_target", ["package.of.nobody"])
    assert target.__name__ == "tests.fuzz.formats_target"
    assert atheris.included == ["package.of.nobody"]
    assert "ScikitBuild" in atheris.finders[-1]


def test_a_package_that_was_imported_before_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"tests\.fuzz was imported too early"):
        module.instrumented(Atheris(), "tests.fuzz.formats_target", ["tests.fuzz"])
