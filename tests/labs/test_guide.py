"""Every lab is in the guide for teachers, with the minutes that lab.yaml states."""

import re
from pathlib import Path

import pytest

from harness.lessons import catalogue
from harness.lessons.attempt import Attempt, Verdict
from harness.lessons.catalogue import Lab, find_lab, labs
from harness.lessons.checker import check_stages
from topologies.errors import RailyardError

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "teaching.md").read_text()


def example(language: str) -> str:
    """The example of a lab of one's own, in the guide."""
    return GUIDE.partition("## A lab of your own")[2].partition(f"```{language}\n")[2].partition("```")[0]


def test_the_smallest_lab_of_the_guide_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "10_doubled"
    (folder / "starter").mkdir(parents=True)
    monkeypatch.setattr(catalogue, "LABS", tmp_path)
    (folder / "lab.yaml").write_text(example("yaml"))
    (folder / "check.py").write_text(example("python"))
    (folder / "README.md").write_text("# Lab 10: doubling\n")
    verdicts: list[Verdict] = []
    for number, passes in (("number", False), ("number * 2", True)):
        (folder / "starter" / "mine.py").write_text(f"def double(number):\n    return {number}\n")
        attempt = Attempt(find_lab("10"), folder / "starter", 1, tmp_path)
        check_stages(find_lab("10"), attempt, lambda _, verdict: verdicts.append(verdict))
        assert verdicts[-1].passed == passes


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("minutes:", "minuets:", "lab.yaml:3: unknown key 'minuets'; did you mean 'minutes'"),
        ("minutes: 10", "minutes: soon", "lab.yaml:3: minutes: 'soon'"),
        ("Add., ", "", "hints has 2; give at least 3"),
        ("[mine.py]", "[yours.py]", "has no file .*yours.py"),
        ("title: D", "title: [D", "the file is not YAML"),
    ],
)
def test_a_mistake_of_lab_yaml_is_named(
    old: str, new: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "10_doubled"
    (folder / "starter").mkdir(parents=True)
    monkeypatch.setattr(catalogue, "LABS", tmp_path)
    for name in ("README.md", "check.py", "starter/mine.py"):
        (folder / name).touch()
    assert old in example("yaml")
    (folder / "lab.yaml").write_text(example("yaml").replace(old, new, 1))
    with pytest.raises(RailyardError, match=words):
        labs()


def test_there_are_nine_labs():
    assert [lab.number for lab in labs()] == list(range(1, 10))


@pytest.mark.parametrize("lab", labs(), ids=lambda lab: lab.name)
def test_the_guide_has_the_lab(lab: Lab):
    (row,) = re.findall(
        rf"^\| \[{lab.number} [^]]+\]\(\.\./labs/{lab.name}/README\.md\) .*$", GUIDE, re.MULTILINE
    )
    assert row.endswith(f"| {lab.minutes} |")
    _, _, plans = GUIDE.partition("Lab by lab:")
    assert f"\n| {lab.number} | " in plans.partition("Pictures for slides")[0]


@pytest.mark.parametrize("lab", labs(), ids=lambda lab: lab.name)
def test_the_text_of_a_lab_says_how_to_start_it(lab: Lab):
    text = (lab.folder / "README.md").read_text()
    for words in (
        f"lab start {lab.number} ",
        f"lab check lab-{lab.number} ",
        f"lab hint lab-{lab.number} ",
        f"lab restore lab-{lab.number} --stage STAGE ",
    ):
        assert f"railyard {words}" in text
    overview = (lab.folder.parent / "README.md").read_text()
    assert f"| [{lab.number} " in overview
    assert f"({lab.name}/README.md)" in overview
