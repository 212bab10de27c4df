"""Help texts, the man page and the completion of shells, of every verb."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from harness.scenario.loader import load
from railyard.cli import app
from railyard.cli.scenarios.serve import EXAMPLES

ROOT = Path(__file__).resolve().parents[3]
COMMAND = Path(sys.executable).with_name("railyard")

Root: Any = typer.main.get_command(app)
VERBS = [*((name,) for name in Root.commands), *(("lab", name) for name in Root.commands["lab"].commands)]


def told(*arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_of_a_verb_gives_flags_no_type_and_keeps_brackets(verb: tuple[str, ...]) -> None:
    text = told(*verb, "--help")
    assert "<bool>" not in text
    assert "\\[" not in text


def test_an_extra_is_named_with_its_brackets() -> None:
    assert "format of the table; parquet needs railyard[parquet]" in told("results", "--help")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list", "--schema", "ub-rack"], "--schema takes no topology, and 'ub-rack' is given"),
        (["list", "--metrics", "ub-rack"], "--metrics takes no topology, and 'ub-rack' is given"),
        (
            ["results", "--format", "xml", "x"],
            "Invalid value for '--format': 'xml' is not one of 'csv', 'json'",
        ),
        (["sweep", "x.yaml", "--within", "5"], "this option needs a random campaign; add --faults N"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_word_is_refused_in_the_commands_own_words(words: list[str], said: str) -> None:
    result = CliRunner().invoke(app, words, env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_examples_of_serve_name_variants_that_there_are() -> None:
    examples = re.findall(r"railyard serve (\S+\.yaml)(.*)", EXAMPLES)
    assert examples
    for file, options in examples:
        names = {variant.name for variant in load(ROOT / file)[0].variants}
        assert set(re.findall(r"--variant (\S+)", options)) <= names


def test_the_man_page_has_every_verb_and_option() -> None:
    page = told("man")
    for verb in VERBS:
        assert f".SS railyard {' '.join(verb)} " in page
    assert ".B \\-\\-junit FILE" in page
    assert "railyard[parquet]" in page


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_takes_the_man_page_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "railyard.1").write_text(CliRunner().invoke(app, ["man"]).output)
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "railyard.1"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("bash", {"COMP_WORDS": "railyard show dragonf", "COMP_CWORD": "2"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "railyard show dragonf"}),
        (
            "fish",
            {"_TYPER_COMPLETE_ARGS": "railyard show dragonf", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        ),
    ],
)
def test_shells_complete_names_of_topologies(shell: str, words: dict[str, str]) -> None:
    environment = {**os.environ, "_RAILYARD_COMPLETE": f"complete_{shell}", **words}
    done = subprocess.run([COMMAND], env=environment, capture_output=True, text=True)
    assert "dragonfly" in done.stdout
    assert "dragonfly-plus" in done.stdout
    assert "slim-fly" not in done.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("show full-mesh --dims 2x4 --node npu1", ["npu1"]),
        ("craft full-mesh --dims 2x4 --from npu0 --to npu6", ["npu6"]),
        ("craft full-mesh --dims 2x4 --cut npu0-npu2", ["npu0-npu2"]),
        ("run mine.yaml --variant c", ["cold", "cut"]),
        ("run mine.yaml --variant cut --variant h", ["healthy"]),
        ("sweep mine.yaml --variant cu", ["cut"]),
        ("sweep mine.yaml --fail-each s", ["switch"]),
        ("run mine.yaml --pcap npu1-", ["npu1-npu3"]),
        ("run m", ["mine.yaml", "more/", "moe-dispatch", "moe-iteration"]),
        ("check more/", ["more/other.yaml"]),
        # A mistake gives no names, and no error in the middle of a line.
        ("run wrong.yaml --variant c", []),
        ("run none.yaml --variant c", []),
        ("show nosuch --node npu", []),
    ],
)
def test_shells_complete_names_of_the_fabric_and_the_scenario(
    line: str,
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    text = "name: mine\ntopology: {name: full-mesh, dims: [2, 2]}\n"
    names = "variants: [{name: healthy}, {name: cold}, {name: cut}]\n"
    (tmp_path / "mine.yaml").write_text(text + names)
    (tmp_path / "wrong.yaml").write_text(text.replace("full-mesh", "none") + names)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "other.yaml").write_text(text)
    (tmp_path / "me.txt").write_text("")
    words = f"railyard {line}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("_RAILYARD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        Root(prog_name="railyard")
    out, err = capfd.readouterr()
    assert (out.split(), err) == (expected, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_turns_completion_on(shell: str) -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [COMMAND, "--show-completion", shell], env=environment, capture_output=True, text=True, check=True
    )
    assert f"complete_{shell}" in done.stdout


def test_a_command_line_with_a_verb_knows_the_others(railyard: Callable[..., tuple[int, str, str]]) -> None:
    """Only the verb of a command line is made ready; the manual and suggestions need all verbs."""
    for arguments in (["list", "ub-rack"], ["man"], ["list", "full-mesh"]):
        assert railyard(*arguments)[0] == 0
    _, manual, _ = railyard("man")
    assert all(f".SS railyard {' '.join(verb)} " in manual.replace("\\-", "-") for verb in VERBS)
    code, _, said = railyard("craf")
    assert code == 2
    assert "No such command 'craf'. Did you mean 'craft'?" in " ".join(said.replace("│", " ").split())
