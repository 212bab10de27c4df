# SPDX-License-Identifier: Apache-2.0
"""Progress of `railyard check` on a terminal; errors of `railyard run` that come before the planning."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from railyard.cli.display import screen

Railyard = Callable[..., tuple[int, str, str]]

TEXT = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 1024}
variants:
  - {name: healthy}
  - {name: other, collective: {elements: 2048}}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text(TEXT)
    return file


def test_a_check_shows_its_progress_on_a_terminal(
    railyard: Railyard, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(screen, "_err", Console(file=terminal, force_terminal=True, width=100))
    assert railyard("check", scenario, "--quiet")[:2] == (0, "")
    assert not terminal.getvalue()
    assert railyard("check", scenario)[0] == 0
    assert "2 of 2, other: checking the routes" in terminal.getvalue()


def test_a_check_without_a_terminal_shows_no_progress(railyard: Railyard, scenario: Path) -> None:
    code, out, err = railyard("check", scenario)
    assert (code, err) == (0, "")
    assert out.endswith("good\n")


@pytest.mark.parametrize(
    ("added", "options", "said"),
    [
        ("", ("--pcap", "npu0-npu9"), "no link named 'npu0-npu9'"),
        ("", ("--frames", "npu0-npu9"), "names npu0-npu9"),
        ("", ("--threads", "9999"), "asks for 9999 threads"),
        ("program: {ub_npu: {file: missing.json}}", (), "missing.json: the file cannot be read"),
        ("faults: [{at_us: 1, link: npu0-npu9}]", (), "no link named 'npu0-npu9'"),
    ],
)
def test_an_error_comes_before_the_planning(
    railyard: Railyard, scenario: Path, added: str, options: tuple[str, ...], said: str
) -> None:
    scenario.write_text(TEXT.replace("2048}}", f"2048}}, {added}}}") if added else TEXT)
    code, _, err = railyard("run", scenario, *options, "--out", scenario.parent / "out")
    assert code in (2, 3)
    assert said in err
    assert "planning" not in err
