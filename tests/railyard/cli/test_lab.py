"""railyard lab: exit codes, and what a student reads."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from harness.errors import MissingProgramError
from harness.lessons.attempt import Attempt, Verdict
from harness.lessons.catalogue import Lab, Stage
from harness.lessons.checker import OnVerdict, check_stages
from harness.lessons.confined.run import PRINTED
from harness.lessons.folder import copy_for_check
from harness.lessons.report import read_report, write_report
from railyard.cli import app
from topologies.errors import RailyardError


@pytest.fixture
def without_p4c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no program on the PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def checked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check in this process; other tests have the process about a check, which imports everything anew."""

    def check_folder(
        folder: Path,
        lab: Lab,
        seed: int,
        *,
        on_verdict: OnVerdict = lambda stage, verdict: None,
        on_printed: Callable[[str], None] = lambda text: None,
    ) -> dict[str, Verdict]:
        with TemporaryDirectory() as name:
            scratch = Path(name)
            refused = copy_for_check(folder, lab, scratch / "copy")
            verdicts: dict[str, Verdict] = {}

            def note(stage: Stage, verdict: Verdict) -> None:
                verdicts[stage.id] = verdict
                on_verdict(stage, verdict)

            check_stages(lab, Attempt(lab, scratch / "copy", seed, scratch, refused), note)
            if (scratch / PRINTED).is_file():
                on_printed((scratch / PRINTED).read_text(encoding="utf-8"))
        return verdicts

    monkeypatch.setattr("harness.lessons.checker.check_folder", check_folder)
    monkeypatch.setattr("harness.lessons.grading.check_folder", check_folder)
    monkeypatch.setattr("harness.lessons.report.check_folder", check_folder)


def signed(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report with the digest of its content."""
    content = {name: value for name, value in report.items() if name != "digest"}
    return {**content, "digest": hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}


def lab(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["lab", *map(str, arguments)])


def test_a_student_goes_through_a_lab(tmp_path: Path):
    folder = tmp_path / "mine"
    assert "Deadlock" in lab("list").output
    assert f"read {folder}/README.md" in lab("start", 3, folder).output
    first = lab("check", folder)
    assert first.exit_code == 1
    assert "FAIL  acyclic" in first.output
    assert "look at:" in first.output
    assert "1 of 3 stages pass" in first.output
    assert "acyclic, hint 1 of 3" in lab("hint", folder).output
    assert lab("restore", folder, "--stage", "kept").exit_code == 0
    assert "passed before" not in lab("progress", folder).output
    last = lab("check", folder, "--seed", 7)
    assert last.exit_code == 0
    assert "3 of 3 stages pass (seed 7)" in last.output
    assert "1 of 3" in lab("progress", folder).output
    assert lab("verify", folder).exit_code == 0
    (folder / "rules.py").write_text("")
    assert lab("verify", folder).exit_code == 1


@pytest.mark.usefixtures("checked_here")
def test_what_a_students_code_prints_is_kept(tmp_path: Path):
    folder = tmp_path / "mine"
    lab("start", 3, folder)
    assert "printed.txt" not in lab("check", folder).output
    (folder / "rules.py").write_text(
        "def next_lane(a, b, c):\n    print('asked', c, '\\x1b[2J')\n    return 1 / 0\n"
    )
    assert "note: printed.txt has what your code printed" in lab("check", folder).output
    printed = (folder / "printed.txt").read_text()
    assert printed.startswith("--- rules.py, next_lane\nasked 0 ?[2J\n")
    (folder / "rules.py").write_text("def next_lane(a, b, c):\n    while True: print('x' * 1000)\n")
    assert lab("check", folder).exit_code == 1
    assert 60_000 < (folder / "printed.txt").stat().st_size < 70_000


@pytest.mark.usefixtures("checked_here")
def test_a_class_gets_a_table(tmp_path: Path):
    lab("start", 3, tmp_path / "a")
    graded = lab("grade", tmp_path / "a", tmp_path, "--out", tmp_path / "grades")
    assert graded.exit_code == 0
    assert "1 of 3 stages" in graded.output
    # A folder that is named twice has one line.
    assert (tmp_path / "grades" / "grades.csv").read_text().count("\n") == 2
    assert (tmp_path / "grades" / "grades.html").is_file()


@pytest.mark.parametrize(
    "arguments",
    [("start", "99"), ("check", "nowhere"), ("hint", "nowhere"), ("progress", "nowhere")],
)
def test_a_wrong_name_is_an_error_of_the_input(arguments: tuple[str, ...]):
    error = lab(*arguments).exception
    assert isinstance(error, RailyardError)
    assert not error.of_machine


@pytest.mark.usefixtures("checked_here")
def test_watch_checks_at_each_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "mine"
    lab("start", 3, folder)
    looks = []

    def save(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            (folder / "rules.py").unlink()
        if len(looks) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("railyard.cli.lab.time", SimpleNamespace(sleep=save))
    watched = lab("watch", folder)
    assert "1 of 3 stages pass" in watched.output
    assert "0 of 3 stages pass" in watched.output
    assert watched.output.count("rules.py is missing") == 1
    assert watched.output.count("observed: as above") == 2


@pytest.mark.usefixtures("checked_here")
def test_a_missing_program_is_no_failure_of_the_student(tmp_path: Path, without_p4c: None):
    folder = tmp_path / "mine"
    assert "note: a changed multipath.p4 needs p4c-bm2-ss" in lab("start", 7, folder).output
    assert lab("check", folder).exit_code == 1
    lab("restore", folder, "--stage", "spread")
    checked = lab("check", folder)
    assert checked.exit_code == 3
    assert "----  spread" in checked.output
    assert "FAIL" not in checked.output


@pytest.mark.usefixtures("checked_here")
def test_a_report_is_not_called_wrong_where_a_program_is_missing(tmp_path: Path, without_p4c: None):
    folder = tmp_path / "mine"
    lab("start", 1, folder)
    lab("restore", folder, "--stage", "mixed")
    assert lab("check", folder).exit_code == 3
    assert lab("verify", folder).exit_code == 0
    report = read_report(folder)
    assert report is not None
    # A report of a machine with p4c.
    passing = [{**stage, "passed": True, "checked": True} for stage in report["stages"]]
    write_report(signed({**report, "stages": passing}), folder)
    error = lab("verify", folder).exception
    assert isinstance(error, MissingProgramError)
    assert error.of_machine
    assert "cannot be verified: not checked: a changed source_route.p4 needs p4c-bm2-ss" in error.message


def test_start_prints_a_command_that_works(tmp_path: Path):
    command = [Path(sys.executable).with_name("railyard"), "lab", "start", "3", "my lab"]
    started = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    printed = started.stdout.partition("check your work with: ")[2]
    checked = subprocess.run(printed, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 1
    assert "1 of 3 stages pass" in checked.stdout


@pytest.mark.usefixtures("checked_here")
def test_a_folder_without_a_lab_does_not_end_the_verification_of_others(tmp_path: Path):
    (tmp_path / "aaa").mkdir()
    lab("start", 3, tmp_path / "b")
    lab("check", tmp_path / "b")
    verified = lab("verify", tmp_path / "aaa", tmp_path / "b")
    assert verified.exit_code == 2
    assert "aaa: " in verified.output
    assert "b: the report holds" in verified.output
    assert "b: the report holds" in lab("verify", tmp_path).output


@pytest.mark.usefixtures("checked_here")
def test_a_name_that_is_no_folder_leaves_the_table_of_grades_as_it_is(tmp_path: Path):
    lab("start", 3, tmp_path / "a")
    assert lab("grade", tmp_path / "a", "--out", tmp_path / "grades").exit_code == 0
    table = (tmp_path / "grades" / "grades.csv").read_text()
    refused = lab("grade", tmp_path / "nowhere", "--out", tmp_path / "grades")
    assert refused.exit_code == 2
    assert (tmp_path / "grades" / "grades.csv").read_text() == table
