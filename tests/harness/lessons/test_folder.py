"""A student's folder: what start, hint, restore and a report keep in it, and what a check takes from it."""

import json
import os
from pathlib import Path

import pytest

from harness.errors import LabError
from harness.lessons.attempt import Attempt, Verdict, passed
from harness.lessons.catalogue import Lab, find_lab, labs
from harness.lessons.checker import check_folder, check_stages
from harness.lessons.folder import (
    changed_files,
    copy_for_check,
    folders_of_class,
    lab_of,
    next_hint,
    note_check,
    read_record,
    restore,
    same_as_solution,
    start,
)
from harness.lessons.report import disagreement, make_report, read_report, write_report

DEADLOCK = find_lab("3")


def test_a_folder_of_a_class_stands_for_those_of_its_students(tmp_path: Path):
    group = tmp_path / "class"
    for place in ("anna/lab-3", "anna/lab-4", "ben"):
        (group / place).mkdir(parents=True)
        (group / place / ".railyard-lab.json").write_text('{"lab": "03_deadlock"}')
    (group / "carl").mkdir()
    (group / "names.txt").touch()
    names = [path.relative_to(group).as_posix() for path in folders_of_class(group)]
    assert names == ["anna/lab-3", "anna/lab-4", "ben", "carl"]
    assert folders_of_class(group / "ben") == [group / "ben"]
    assert folders_of_class(group / "carl") == [group / "carl"]


@pytest.mark.parametrize("lab", labs(), ids=lambda lab: lab.name)
def test_start_copies_the_text_and_the_starter_and_never_the_solution(lab: Lab, tmp_path: Path):
    folder = tmp_path / "mine"
    files = start(lab, folder)
    assert [path.relative_to(folder).as_posix() for path in files] == list(lab.files)
    assert (folder / "README.md").read_text().startswith(f"# Lab {lab.number}: ")
    assert lab_of(folder) == lab
    assert not same_as_solution(folder, lab)
    assert not changed_files(folder, lab)
    present = {path.name for path in folder.rglob("*")}
    assert present.isdisjoint({"check.py", "lab.yaml", "teacher.md", "solutions"})


@pytest.mark.parametrize("lab", labs(), ids=lambda lab: lab.name)
def test_a_lab_is_whole(lab: Lab):
    text = (lab.folder / "README.md").read_text()
    for heading in ("Story", "Task", "Questions", "What industry does"):
        assert f"## {heading}" in text
    assert "```text" in text  # its picture
    assert (lab.solution / "teacher.md").is_file()
    for stage in lab.stages:
        assert f"def {stage.check}(" in (lab.folder / "check.py").read_text()
        for name in lab.files:
            assert (lab.solution / stage.id / name).is_file()


def test_a_folder_with_files_is_not_started_over(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(LabError, match="is not empty"):
        start(DEADLOCK, tmp_path)


@pytest.mark.parametrize("name", ["0", "deadlok", ""])
def test_an_unknown_lab_is_answered_with_the_labs(name: str):
    with pytest.raises(LabError, match="3 deadlock"):
        find_lab(name)


def test_a_wrong_folder_is_answered_with_the_labs_beside_it(tmp_path: Path):
    start(find_lab("2"), tmp_path / "lab 2")
    start(find_lab("3"), tmp_path / "lab-3")
    with pytest.raises(LabError, match=r"does not exist; use one of the lab folders .*lab 2, .*lab-3"):
        lab_of(tmp_path / "3")
    with pytest.raises(
        LabError, match=r"is no folder of a lab; use one of the lab folders in it: .*lab 2, .*lab-3"
    ):
        lab_of(tmp_path)
    with pytest.raises(LabError, match="start a lab with `railyard lab start N`"):
        lab_of(tmp_path / "lab-3" / "none")


def test_hints_come_in_order_and_the_last_again(tmp_path: Path):
    start(DEADLOCK, tmp_path)
    stage = DEADLOCK.stage("kept")
    assert [next_hint(tmp_path, DEADLOCK, stage)[0] for _ in range(5)] == [1, 2, 3, 3, 3]
    assert read_record(tmp_path).hints == {"kept": 3}


def test_restore_keeps_the_old_file_and_is_noted(tmp_path: Path):
    start(DEADLOCK, tmp_path)
    (tmp_path / "rules.py").write_text("mine")
    restore(tmp_path, DEADLOCK, DEADLOCK.stage("1"))
    assert (tmp_path / "rules.py.before").read_text() == "mine"
    # A stage's solution needs no copy, and a student's file is never overwritten.
    assert restore(tmp_path, DEADLOCK, DEADLOCK.stage("kept")) == {tmp_path / "rules.py": None}
    assert (tmp_path / "rules.py.before").read_text() == "mine"
    (tmp_path / "rules.py").write_text("mine again")
    restore(tmp_path, DEADLOCK, DEADLOCK.stage("1"))
    assert (tmp_path / "rules.py.before").read_text() == "mine"
    assert (tmp_path / "rules.py.before-2").read_text() == "mine again"
    assert same_as_solution(tmp_path, DEADLOCK) == ["acyclic", "delivered"]
    assert read_record(tmp_path).restored == ["acyclic", "kept", "acyclic"]


def test_a_folder_without_record_is_known_by_its_files(tmp_path: Path):
    start(DEADLOCK, tmp_path)
    (tmp_path / ".railyard-lab.json").write_text("[]")
    with pytest.raises(LabError, match="is no readable record of a lab"):
        lab_of(tmp_path)
    (tmp_path / ".railyard-lab.json").unlink()
    assert lab_of(tmp_path) == DEADLOCK


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("link", "a symbolic link"),
        ("fifo", "a pipe, socket or device"),
        ("folder", "a folder"),
        ("large", "a file of 2097152 bytes"),
    ],
)
def test_only_regular_files_are_taken(kind: str, what: str, tmp_path: Path):
    start(DEADLOCK, tmp_path / "mine")
    file = tmp_path / "mine" / "rules.py"
    file.unlink()
    match kind:
        case "link":
            file.symlink_to("/dev/zero")
        case "fifo":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case _:
            file.write_bytes(bytes(2 << 20))
    refused = copy_for_check(tmp_path / "mine", DEADLOCK, tmp_path / "copy")
    assert refused == {"rules.py": what}
    assert not (tmp_path / "copy" / "rules.py").exists()
    attempt = Attempt(DEADLOCK, tmp_path / "copy", 1, tmp_path, refused)
    verdicts: list[Verdict] = []
    check_stages(DEADLOCK, attempt, lambda _, verdict: verdicts.append(verdict))
    assert len(verdicts) == len(DEADLOCK.stages)
    assert all(f"rules.py is {what} and was not read" in item.observed for item in verdicts)


def test_the_process_of_a_check_reads_regular_files_only(tmp_path: Path):
    start(DEADLOCK, tmp_path / "mine")
    file = tmp_path / "mine" / "rules.py"
    file.unlink()
    file.symlink_to("/dev/zero")
    verdicts = check_folder(tmp_path / "mine", DEADLOCK, 1)
    assert all("rules.py is a symbolic link and was not read" in item.observed for item in verdicts.values())


@pytest.mark.parametrize("kind", ["link", "fifo"])
@pytest.mark.parametrize("name", [".railyard-lab.json", "report.json"])
def test_a_record_or_report_that_is_no_file_is_replaced_and_never_written_to(
    kind: str, name: str, tmp_path: Path
):
    folder, other = tmp_path / "mine", tmp_path / "other"
    start(DEADLOCK, folder)
    other.write_text("of a neighbour")
    (folder / name).unlink(missing_ok=True)
    if kind == "link":
        (folder / name).symlink_to(other)
    else:
        os.mkfifo(folder / name)
    assert lab_of(folder) == DEADLOCK
    assert read_report(folder) is None
    verdicts = {stage.id: passed("all", "all") for stage in DEADLOCK.stages}
    write_report(make_report(folder, DEADLOCK, 5, verdicts), folder)
    note_check(folder, DEADLOCK, tuple(verdicts))
    assert other.read_text() == "of a neighbour"
    assert not (folder / name).is_symlink()
    assert (folder / name).is_file()


BROKEN_CHECKS = {
    "a syntax error": ("def right(attempt:\n", "99_own/check.py line 1: SyntaxError"),
    "an unknown name": (
        "def right(attempt):\n    return passd('x', 'y')\n",
        "99_own/check.py line 2: NameError",
    ),
    "no such function": ("def wrong(attempt):\n    pass\n", "has no attribute 'right'"),
}


@pytest.mark.parametrize("name", BROKEN_CHECKS)
def test_a_mistake_of_a_check_is_named_with_its_line(name: str, tmp_path: Path):
    code, words = BROKEN_CHECKS[name]
    stage = DEADLOCK.stages[0].model_copy(update={"check": "right"})
    own = DEADLOCK.model_copy(update={"folder": tmp_path / "99_own", "stages": (stage,)})
    own.folder.mkdir()
    (own.folder / "check.py").write_text(code)
    verdicts = []
    check_stages(own, Attempt(own, tmp_path, 1, tmp_path), lambda _, verdict: verdicts.append(verdict))
    assert words in verdicts[0].observed
    assert "report this to your teacher" in verdicts[0].look


def test_a_report_fits_its_files_only(tmp_path: Path):
    start(DEADLOCK, tmp_path)
    verdicts = {stage.id: passed("all", "all") for stage in DEADLOCK.stages}
    note_check(tmp_path, DEADLOCK, tuple(verdicts))
    write_report(make_report(tmp_path, DEADLOCK, 5, verdicts), tmp_path)
    report = read_report(tmp_path)
    assert report is not None
    assert disagreement(report, tmp_path, DEADLOCK, repeat=False) == ""
    # The starter does not pass, whatever its report claims.
    assert "kept passes" in disagreement(report, tmp_path, DEADLOCK, repeat=True)
    assert "was changed" in disagreement({**report, "seed": 6}, tmp_path, DEADLOCK, repeat=False)
    (tmp_path / "rules.py").write_text("def next_lane(a, b, c): return 1")
    assert "rules.py has changed" in disagreement(report, tmp_path, DEADLOCK, repeat=False)
    (tmp_path / "report.json").write_text(json.dumps([1]))
    assert read_report(tmp_path) is None


def test_whoever_is_in_the_virtual_machine_is_not_told_to_go_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("RAILYARD_MACHINE", raising=False)
    (said,) = find_lab("1").lacking()
    assert said.startswith("a changed source_route.p4 needs p4c-bm2-ss")
    assert "or work in the virtual machine" in said
    monkeypatch.setenv("RAILYARD_MACHINE", "vagrant")
    (said,) = find_lab("1").lacking()
    assert "`vagrant provision` on your own computer" in said
    assert "virtual machine" not in said + find_lab("5").stage("rails").lacking()
