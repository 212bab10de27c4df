# SPDX-License-Identifier: Apache-2.0
"""docs/use/follow.md is what its own commands print: run in order, in a folder of their own."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.cli import main

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "use" / "follow.md"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps() -> list[tuple[str, str]]:
    """Return the commands, one a line, each with the lines that the guide shows of what it prints."""
    result: list[tuple[str, str]] = []
    for kind, body in BLOCK.findall(GUIDE.read_text()):
        if kind == "sh":
            result += [(line, "") for line in body.splitlines()]
        else:
            command, before = result[-1]
            result[-1] = command, before + body
    return result


def test_it_shows_what_its_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: `make setup`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "220")  # tables whose rows stay whole
    for command, shown in steps():
        words = shlex.split(command)
        if words[0] == "wireshark":
            continue  # needs a display
        target = words[words.index(">") + 1] if ">" in words else ""
        if words[0] == ".venv/bin/railyard":
            monkeypatch.setattr(sys, "argv", words[: words.index(">")] if target else words)
            with pytest.raises(SystemExit):
                main()
            printed = capsys.readouterr().out
        else:
            assert words[0] == "tshark"
            printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        if target:
            Path(target).write_text(printed)
        # The guide may leave out lines between those that it shows.
        rest = iter(_lines(printed))
        missing = [line for line in _lines(shown) if line not in rest]
        assert missing == [], command
    _filters_are_good()


def _lines(text: str) -> list[str]:
    """Return the lines with a single space where columns of tables and of tshark have several."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _filters_are_good():
    rows = [line for line in GUIDE.read_text().splitlines() if line.startswith("| `ub.")]
    filters = [item for row in rows for item in re.findall(r"`(ub\.[^`]+)`", row)]
    assert len(filters) >= 8
    for entry in filters:
        read = ["tshark", "-X", "lua_script:railyard.lua", "-r", "hops.pcapng", "-Y", entry]
        assert subprocess.run(read, capture_output=True, check=False).returncode == 0, entry
