"""A class's folders: each gets a line with the right verdict, whatever is in it."""

import csv
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.lessons.attempt import failed, passed
from harness.lessons.catalogue import find_lab, labs
from harness.lessons.folder import next_hint, restore, start
from harness.lessons.grades_page import as_html
from harness.lessons.grading import Grade, as_csv, grade
from tests.browser import visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LAB = "03_deadlock"

# What a student's rules.py may be, and the stages that pass.
ANSWERS = {
    "constant": ("def next_lane(a, b, c): return 1", ["kept"]),
    "text": ("def next_lane(a, b, c): return '<b>0</b>'", []),
    "loop": ("def next_lane(a, b, c):\n    while True: pass", []),
    "forks": ("import os\nwhile True: os.fork()", []),
    "memory": ("x = bytearray(10 << 30)", []),
    "escapes": ("def next_lane(a, b, c): raise ValueError('\\x1b[2J')", []),
}


def folder_of(path: Path, name: str, code: str | None = None) -> Path:
    folder = path / name
    start(find_lab(LAB), folder)
    if code is not None:
        (folder / "rules.py").write_text(code)
    return folder


def test_a_class_is_graded(tmp_path: Path):
    solved = folder_of(tmp_path, "=solved")
    restore(solved, find_lab(LAB), find_lab(LAB).stage("kept"))
    own = folder_of(tmp_path, "own", (solved / "rules.py").read_text() + "\n# my own\n")
    shutil.copytree(own, tmp_path / "twin")
    starter = folder_of(tmp_path, "starter")
    missing = folder_of(tmp_path, "missing")
    (missing / "rules.py").unlink()
    (tmp_path / "empty").mkdir()
    folders = [solved, own, tmp_path / "twin", starter, missing, tmp_path / "empty", tmp_path / "nowhere"]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    grades = grade(folders)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert [item.passed for item in grades] == [3, 3, 3, 1, 0, 0, 0]
    assert [list(item.restored) for item in grades[:4]] == [["kept"], [], [], []]
    assert grades[2].note == f"the same files as {own}"
    assert grades[3].note == "the starter, unchanged"
    assert "rules.py is missing" in grades[4].failures[0]
    assert "is no folder of a lab" in grades[5].note
    assert "does not exist" in grades[6].note
    lines = list(csv.DictReader(as_csv(grades).splitlines()))
    # Numbers: a spreadsheet reads 1/3 as a date.
    assert [line["passed"] for line in lines] == ["3", "3", "3", "1", "0", "", ""]
    assert [line["of"] for line in lines] == ["3", "3", "3", "3", "3", "", ""]
    assert "no folder of a lab" in lines[5]["notes"]
    page = as_html(grades)
    assert "7 folders, 3 with all stages" in page
    assert "<script" not in page


RENAMED = """
# The order of the words is another, the code is the same.
def {f}({a}, {b}, {c}):
    {x} = [{a}, {b}, {c}]
    {y} = {{}}
    for {z} in range(len({x}) - 1):
        {y}[{x}[{z}]] = {x}[{z} + 1] if {z} % 2 else {x}[0]
    if {a} in {y} and {y}[{a}] == {c}:
        return max(0, min(1, len({y}) - 2))
    while {x}:
        {w} = {x}.pop()
        if {w} in {y}:
            return int({y}[{w}] != {b})
    return 1
"""


def test_similar_files_are_named_and_records_of_students_are_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Files and records are compared whatever the verdicts, which other tests compute.
    monkeypatch.setattr("harness.lessons.grading.check_folder", lambda folder, lab, seed: {})
    names = dict(zip("abcxyzw", ("here", "there", "lane", "steps", "after", "number", "last"), strict=True))
    others = dict(zip("abcxyzw", ("p", "q", "r", "s", "t", "u", "v"), strict=True))
    folder_of(tmp_path, "first", RENAMED.format(f="next_lane", **names))
    folder_of(tmp_path, "second", RENAMED.format(f="next_lane", **others).replace("    # ", "  "))
    other = folder_of(
        tmp_path, "other", "def next_lane(a, b, c):\n    return sum(map(hash, (a, b))) % 2 or c\n"
    )
    lab = find_lab("08_jobs")
    start(lab, tmp_path / "solver")
    restore(tmp_path / "solver", lab, lab.stages[0])
    text = (tmp_path / "solver" / "scheduler.py").read_text()
    (tmp_path / "solver" / "scheduler.py").write_text(text.replace("jobs", "tasks") + "# mine\n")
    next_hint(other, find_lab(LAB), find_lab(LAB).stages[0])
    grades = grade([tmp_path / name for name in ("first", "second", "other", "solver")])
    assert list(grades[0].similar) == [f"100% of {tmp_path / 'second'}"]
    assert list(grades[1].similar) == [f"100% of {tmp_path / 'first'}"]
    assert list(grades[2].similar) == []
    assert list(grades[3].restored) == []
    [similar] = grades[3].similar
    assert similar.endswith(f"of the solution of {lab.stages[0].id}")
    lines = list(csv.DictReader(as_csv(grades).splitlines()))
    assert [line["hints_self_reported"] for line in lines] == ["0", "0", "1", "0"]
    assert [line["restores_self_reported"] for line in lines] == ["0", "0", "0", "1"]


def test_text_of_a_student_is_no_html_and_moves_no_cursor(tmp_path: Path):
    grades = grade([folder_of(tmp_path, name, ANSWERS[name][0]) for name in ("text", "escapes")])
    assert "&lt;b&gt;" in as_html(grades)
    assert "<b>" not in as_html(grades)
    assert "\x1b" not in as_csv(grades)


@pytest.mark.long
def test_thirty_folders_of_all_labs_get_the_right_verdicts(tmp_path: Path):
    here = [lab for lab in labs() if not any(shutil.which(name) is None for name in lab.programs)]
    least: dict[Path, int] = {}
    most: dict[Path, int] = {}
    for lab in here:
        for name, stage in (("starter", None), ("first", lab.stages[0]), ("solution", lab.stages[-1])):
            folder = tmp_path / f"{lab.name}-{name}"
            start(lab, folder)
            if stage is not None:
                restore(folder, lab, stage)
            least[folder] = {"starter": 0, "first": 1, "solution": len(lab.stages)}[name]
            most[folder] = len(lab.stages) - (name != "solution")
    for name in ("constant", "loop", "forks", "memory", "escapes"):
        folder = folder_of(tmp_path, name, ANSWERS[name][0])
        least[folder] = most[folder] = len(ANSWERS[name][1])
    (tmp_path / "empty").mkdir()
    least[tmp_path / "empty"] = most[tmp_path / "empty"] = 0
    grades = grade(list(least))
    assert [
        item.folder for item in grades if not least[item.folder] <= item.passed <= most[item.folder]
    ] == []


def test_the_page_of_grades_is_no_wider_than_its_window(browser: "Browser", tmp_path: Path):
    long = {
        stage: failed("nothing", "npu2->npu8 on lane 0, " * 40, "rules.py") for stage in ("acyclic", "kept")
    }
    verdicts = {**long, "delivered": passed("all arrive", "they do")}
    grades = [Grade(Path(f"class/student{number}"), find_lab("3"), verdicts) for number in range(3)]
    (tmp_path / "grades.html").write_text(as_html(grades), encoding="utf-8")
    for width in (1280, 390):
        with visit(browser, (tmp_path / "grades.html").as_uri(), width=width) as page:
            assert page.evaluate("document.documentElement.scrollWidth") == width
            marks = page.locator("tbody").first.locator(".stage").all_text_contents()
            assert marks == ["\u2717 acyclic", "\u2717 kept", "\u2713 delivered"]
            heights = page.evaluate(
                "[...document.querySelectorAll('.notes')].map((cell) => cell.offsetHeight)"
            )
            assert max(heights) < 400
