"""Verdicts of a lab's stages on a student's files, without the process about the check: for tests of labs."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.lessons.attempt import Attempt, Verdict
from harness.lessons.catalogue import find_lab
from harness.lessons.checker import check_stages
from harness.lessons.folder import copy_for_check

__all__ = ["passing", "solution", "starter", "verdicts"]


def starter(name: str) -> dict[str, str]:
    """The student's files as `start` copies them."""
    lab = find_lab(name)
    return {file: (lab.starter / file).read_text() for file in lab.files}


def solution(name: str, stage: str = "") -> dict[str, str]:
    """The student's files with which a stage passes, by default the last."""
    lab = find_lab(name)
    folder = lab.solution / (stage or lab.stages[-1].id)
    return {file: (folder / file).read_text() for file in lab.files}


def verdicts(name: str, files: Mapping[str, str], folder: Path, seed: int = 1) -> dict[str, Verdict]:
    """Check files with a seed; the student's Python runs confined, as in every check."""
    lab = find_lab(name)
    student, copy, scratch = folder / "student", folder / "copy", folder / "scratch"
    for path in (student, copy, scratch):
        shutil.rmtree(path, ignore_errors=True)
    student.mkdir(parents=True)
    scratch.mkdir()
    for file, content in files.items():
        (student / file).parent.mkdir(parents=True, exist_ok=True)
        (student / file).write_text(content)
    assert not copy_for_check(student, lab, copy)
    results: dict[str, Verdict] = {}
    check_stages(
        lab, Attempt(lab, copy, seed, scratch), lambda stage, verdict: results.update({stage.id: verdict})
    )
    assert all(verdict.passed or verdict.look for verdict in results.values())
    return results


def passing(name: str, files: Mapping[str, str], folder: Path, seed: int = 1) -> list[str]:
    """Ids of the stages that pass."""
    return [stage for stage, verdict in verdicts(name, files, folder, seed).items() if verdict.passed]
