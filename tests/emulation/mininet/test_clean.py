# SPDX-License-Identifier: Apache-2.0
"""railyard clean: what it says, and its exit codes."""

import functools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulation.errors import TestbedError
from emulation.linux import netns, record
from emulation.linux.record import Cleaned, RunRecord
from railyard.cli import app
from tests.emulation.mininet.benches import no_rights

reason = no_rights()
needs_rights = pytest.mark.skipif(bool(reason), reason=reason)


def call(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["clean", *arguments])
    return result.exit_code, result.output


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The verb cleans here, not what others run on this machine."""
    root = tmp_path / "runs"
    monkeypatch.setattr(record, "clean", functools.partial(record.clean, root=root))
    monkeypatch.setattr(record, "living", functools.partial(record.living, root=root))
    yield root
    record.clean()


@needs_rights
def test_a_run_that_died(root: Path) -> None:
    assert call() == (0, "nothing to clean\n")
    run = RunRecord.create(root)
    name = run.namespace("a")
    code, said = call()
    assert code == 0
    assert f"{run.id}: still running, process {os.getpid()}; `railyard clean --all` ends it" in said
    lines = (run.folder / "record").read_text().replace(f'"pid": {os.getpid()}', '"pid": 4194304')
    (run.folder / "record").write_text(lines)
    code, said = call("--dry-run")
    assert code == 0
    assert f"{run.id}: would remove namespace {name}\n" in said
    assert netns.exists(name)
    code, said = call()
    assert code == 0
    assert f"{run.id}: removed namespace {name}\n" in said
    assert not netns.exists(name)


@needs_rights
def test_what_is_left_is_said_and_counts(root: Path) -> None:
    with RunRecord.create(root) as run:
        code, said = call("--all")
        assert code == 1
        assert f"{run.id}: left its process {os.getpid()}" in said


def test_exit_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "living", list)
    for left, expected in (((), 0), (("namespace x: someone is in it",), 1)):
        cleaned = [Cleaned("abcdef", ("folder y",), left)]
        monkeypatch.setattr(record, "clean", lambda *_, cleaned=cleaned, **__: cleaned)
        code, said = call()
        assert code == expected
        assert "abcdef: removed folder y" in said


def test_without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    result = CliRunner().invoke(app, ["clean"])
    assert isinstance(result.exception, TestbedError)  # which main() turns into exit code 2
    assert "needs root; run it with sudo" in str(result.exception)
