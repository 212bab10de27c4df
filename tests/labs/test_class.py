"""A class of thirty folders over all labs: solutions, starters, answers to the first stage, hostile code."""

from pathlib import Path

import pytest

from harness.lessons.catalogue import Lab, find_lab, labs
from harness.lessons.folder import start
from harness.lessons.grading import grade

# Stages that the starter of a lab passes; the others pass none.
OF_STARTERS = {"01_source_route": ["steered"], "03_deadlock": ["kept"], "09_reduction": ["sums"]}

HOSTILE = {
    ("06_optical_circuits", "loop"): "def plan(problem):\n    while True:\n        pass\n",
    ("08_jobs", "fork"): "import os\ndef levels(jobs, n):\n    while True:\n        os.fork()\n",
    ("08_jobs", "memory"): "def levels(jobs, n):\n    return bytearray(10 << 30)\n",
    ("06_optical_circuits", "form"): "def plan(problem):\n    return {'circuits': [], 'times_us': {}}\n",
}


@pytest.mark.long
@pytest.mark.skipif(any(lab.lacking() for lab in labs()), reason="needs p4c, tshark and p4runtime-shell")
def test_every_verdict_of_a_class_is_right(tmp_path: Path):
    expected: dict[str, list[str]] = {}
    first: dict[str, Lab] = {}

    def folder(lab: Lab, name: str, stage: str = "") -> Path:
        path = tmp_path / f"{lab.name}-{name}"
        start(lab, path)
        if stage:
            for file in lab.files:
                (path / file).write_bytes((lab.solution / stage / file).read_bytes())
        return path

    for lab in labs():
        stages = [stage.id for stage in lab.stages]
        expected[folder(lab, "solution", stages[-1]).name] = stages
        expected[folder(lab, "starter").name] = OF_STARTERS.get(lab.name, [])
        first[folder(lab, "first", stages[0]).name] = lab
    for (name, kind), code in HOSTILE.items():
        path = folder(find_lab(name), kind)
        (path / find_lab(name).files[0]).write_text(code)
        expected[path.name] = []
    missing = folder(find_lab("05_rails_and_pxn"), "missing")
    (missing / "entries.json").unlink()
    (tmp_path / "empty").mkdir()
    expected |= {missing.name: [], "empty": []}

    passing = {
        Path(item.folder).name: [stage for stage, verdict in item.verdicts.items() if verdict.passed]
        for item in grade(sorted(tmp_path.iterdir()))
    }
    assert len(passing) >= 30
    assert {name: passing[name] for name in expected} == expected
    for name, lab in first.items():
        assert lab.stages[0].id in passing[name]
