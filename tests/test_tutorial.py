# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.md is what its own commands print: run in order, on 80 columns, in a folder like a clone."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from railyard.cli import main

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(sh|text|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DEMO = "make demo"


def steps() -> list[tuple[str, str, str]]:
    """Each command with the scenario file as it is then, and the output shown."""
    result: list[tuple[str, str, str]] = []
    scenario = ""
    for kind, body in BLOCK.findall(GUIDE.read_text()):
        if kind == "yaml":
            assert body.startswith("# mine.yaml\n")
            scenario = body
        elif kind == "sh":
            result += [(line, scenario, "") for line in body.splitlines()]
        else:
            result[-1] = (*result[-1][:2], body)
    return result


def takes_long(command: str) -> bool:
    return command == DEMO or "railyard sweep" in command


def printed(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    words = shlex.split(command)
    assert words[0].endswith("railyard")
    monkeypatch.setattr(sys, "argv", ["railyard", *words[1:]])
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main()
    return capsys.readouterr().out


def lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_its_commands_print_what_it_shows(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert steps()[0][0] == DEMO
    for command, scenario, shown in steps():
        if not takes_long(command):
            (clone / "mine.yaml").write_text(scenario)
            assert lines(shown) in lines(printed(command, monkeypatch, capsys)), command
    assert (clone / "results" / "mine" / "report.html").exists()


@pytest.mark.long
def test_its_demo_and_its_sweep_print_what_it_shows(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(r"^demo: .*\n\t@\$\(BIN\)/(railyard .*)$", makefile, flags=re.MULTILINE)
    first = re.search(r"^FIRST := (.*)$", makefile, flags=re.MULTILINE)
    assert recipe is not None
    assert first is not None
    demo = recipe[1].replace("$(FIRST)", first[1])
    for command, scenario, shown in steps():
        if takes_long(command):
            (clone / "mine.yaml").write_text(scenario)
            said = printed(demo if command == DEMO else command, monkeypatch, capsys)
            assert lines(shown) in lines(said), command
