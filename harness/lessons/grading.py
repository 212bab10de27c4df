# SPDX-License-Identifier: Apache-2.0
"""Grade the folders of a class, and write their table as CSV; every folder is checked again."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import final

from harness.errors import LabError
from harness.lessons.attempt import Verdict
from harness.lessons.catalogue import Lab
from harness.lessons.checker import check_folder, draw_seed
from harness.lessons.folder import Record, changed_files, hashes, lab_of, read_record, same_as_solution
from harness.lessons.report import disagreement, read_report
from harness.lessons.similarity import Fingerprint, fingerprint, likeness
from topologies.errors import RailyardError

__all__ = ["Grade", "as_csv", "grade", "word_of"]

_COLUMNS = (
    "folder",
    "lab",
    "passed",
    "of",
    "stages",
    "solution_of",
    "similar",
    "hints_self_reported",
    "restores_self_reported",
    "report",
    "notes",
    "seed",
    "seconds",
)

# Smallest share of common token sequences at which the table names another folder or a solution.
_SIMILAR = 0.5


@final
@dataclass(frozen=True, slots=True)
class Grade:
    """Grade of a student's folder.

    Attributes:
        folder: The folder.
        lab: Lab of the folder; None if it could not be checked.
        verdicts: Verdict by stage.
        restored: Stages whose solution equals the files byte by byte.
        hints: Number of hints in the student's record, which proves nothing.
        restores: Number of restored stages in the student's record, which proves nothing.
        similar: The most similar other folder, and solution, each with the share of equal token sequences.
        report: "fits", "none", or why report.json does not fit the files.
        note: Error that prevented the check, or a remark on the files.
        seed: Random seed of the check.
        seconds: Duration of the check.
        files: SHA-256 of the student's files by name.
    """

    folder: Path
    lab: Lab | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    restored: Sequence[str] = ()
    hints: int = 0
    restores: int = 0
    similar: Sequence[str] = ()
    report: str = ""
    note: str = ""
    seed: int = 0
    seconds: float = 0.0
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        """Number of passed stages."""
        return sum(verdict.passed for verdict in self.verdicts.values())

    @property
    def failures(self) -> list[str]:
        """A text `STAGE, STAGE: OBSERVATION` for each observation at stages that do not pass."""
        stages: dict[str, list[str]] = {}
        for name, item in self.verdicts.items():
            if not item.passed:
                stages.setdefault(item.observed, []).append(name)
        return [f"{', '.join(names)}: {observed}" for observed, names in stages.items()]


def grade(
    folders: Sequence[Path],
    name: str = "",
    *,
    jobs: int = 2,
    on_grade: Callable[[Grade], None] = lambda grade: None,
) -> list[Grade]:
    """Check students' folders and return their grades in order.

    An error of a folder does not end the grading; it becomes the note of the folder's grade.

    Args:
        folders: The students' folders.
        name: Number or name of the lab; empty for the lab of each folder's record.
        jobs: Number of folders that are checked at the same time.
        on_grade: Called with each grade as soon as it is known, in the order of the folders.
    """
    grades = []
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(lambda folder: _graded(folder, name), folders):
            on_grade(result)
            grades.append(result)
    return list(_with_similar(list(_with_twins(grades))))


def _graded(folder: Path, name: str) -> Grade:
    began = time.monotonic()
    try:
        lab = lab_of(folder, name)
        seed = draw_seed()
        verdicts = check_folder(folder, lab, seed)
        changed = changed_files(folder, lab)
        record = _record(folder)
        return Grade(
            folder,
            lab,
            verdicts,
            same_as_solution(folder, lab),
            sum(record.hints.values()),
            len(record.restored),
            (),
            _report(folder, lab),
            f"{', '.join(changed)} differs from the lab's file; the check used the lab's" if changed else "",
            seed,
            time.monotonic() - began,
            hashes(folder, lab),
        )
    except (RailyardError, OSError) as ex:
        return Grade(folder, note=str(ex), seconds=time.monotonic() - began)


def _record(folder: Path) -> Record:
    try:
        return read_record(folder)
    except LabError:
        return Record(lab="")


def _report(folder: Path, lab: Lab) -> str:
    report = read_report(folder)
    if report is None:
        return "none"
    return disagreement(report, folder, lab, repeat=False) or "fits"


def _with_twins(grades: Sequence[Grade]) -> Iterator[Grade]:
    """Yield the grades with a note on equal files: of the starter, or of an earlier folder."""
    first: dict[tuple[str, ...], Path] = {}
    for result in grades:
        if result.lab is None or result.restored or not all(result.files.values()):
            yield result
            continue
        given = hashes(result.lab.starter, result.lab)
        twin = first.setdefault((result.lab.name, *result.files.values()), result.folder)
        if dict(result.files) == given:
            note = "the starter, unchanged"
        elif twin != result.folder:
            note = f"the same files as {twin}"
        else:
            note = ""
        yield replace(result, note="; ".join(filter(None, (note, result.note))))


def _with_similar(grades: Sequence[Grade]) -> Iterator[Grade]:
    """Yield the grades with `similar` filled in: the most similar other folder of the lab, and solution."""
    prints = [fingerprint(result.folder, result.lab) if result.lab else frozenset() for result in grades]
    solutions: dict[str, list[tuple[str, Fingerprint]]] = {}
    for number, result in enumerate(grades):
        lab = result.lab
        if lab is None:
            yield result
            continue
        if lab.name not in solutions:
            solutions[lab.name] = [
                (f"the solution of {stage.id}", fingerprint(lab.solution / stage.id, lab))
                for stage in lab.stages
            ]
        folders = [
            (str(other.folder), prints[index])
            for index, other in enumerate(grades)
            if index != number and other.lab is not None and other.lab.name == lab.name
        ]
        nearest = (_nearest(prints[number], among) for among in (folders, solutions[lab.name]))
        yield replace(result, similar=[text for text in nearest if text])


def _nearest(own: Fingerprint, among: Sequence[tuple[str, Fingerprint]]) -> str:
    """Return the most similar fingerprint, such as "80% of NAME"; '' if all shares are below _SIMILAR."""
    share, name = max(((likeness(own, other), name) for name, other in among), default=(0.0, ""))
    return f"{share:.0%} of {name}" if share >= _SIMILAR else ""


def _cells(result: Grade) -> tuple[str, ...]:
    lab = result.lab
    if lab is None:
        return (
            str(result.folder),
            *[""] * (_COLUMNS.index("notes") - 1),
            result.note,
            "",
            f"{result.seconds:.1f}",
        )
    words = {name: word_of(item) for name, item in result.verdicts.items()}
    stages = " ".join(f"{name}:{word}" for name, word in words.items())
    notes = "; ".join([*([result.note] if result.note else []), *result.failures])
    return (
        str(result.folder),
        lab.name,
        # Two numbers: a spreadsheet reads 1/3 as a date.
        str(result.passed),
        str(len(lab.stages)),
        stages,
        " ".join(result.restored),
        "; ".join(result.similar),
        str(result.hints),
        str(result.restores),
        result.report,
        notes,
        str(result.seed),
        f"{result.seconds:.1f}",
    )


def word_of(verdict: Verdict) -> str:
    """Return the verdict as a word: `pass`, `fail` or `unchecked`."""
    return "pass" if verdict.passed else "fail" if verdict.checked else "unchecked"


def as_csv(grades: Sequence[Grade]) -> str:
    """Return the table as CSV; a cell that looks like a formula begins with an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for result in grades:
        cells = _cells(result)
        writer.writerow([f"'{cell}" if cell.startswith(("=", "+", "-", "@")) else cell for cell in cells])
    return file.getvalue()
