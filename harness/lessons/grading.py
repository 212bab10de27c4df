# SPDX-License-Identifier: Apache-2.0
"""A class's folders in one table, as CSV and HTML; every folder is checked anew, whatever its report says."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import final

from harness.errors import LabError
from harness.lessons.attempt import Verdict
from harness.lessons.catalogue import Lab
from harness.lessons.checker import check_folder, draw_seed
from harness.lessons.folder import Record, changed_files, hashes, lab_of, read_record, same_as_solution
from harness.lessons.report import disagreement, read_report
from harness.report.markup import table
from topologies.errors import RailyardError

__all__ = ["Grade", "as_csv", "as_html", "grade"]

_COLUMNS = ("folder", "lab", "passed", "stages", "restored", "hints", "report", "notes", "seed", "seconds")

# Meaning of the columns that a reader of the page cannot guess.
_LEGEND = (
    "Every folder was checked anew with its own seed. Restored: stages whose solution the files are, byte "
    "by byte. Hints: by the student's own record. Report: whether report.json fits the files; `railyard "
    "lab verify` repeats its check."
)


@final
@dataclass(frozen=True, slots=True)
class Grade:
    """Grade of a folder: `note` says why there are no verdicts, or what is remarkable about its files."""

    folder: Path
    lab: Lab | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    restored: Sequence[str] = ()
    hints: int = 0
    report: str = ""
    note: str = ""
    seed: int = 0
    seconds: float = 0.0
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        """Number of stages that pass."""
        return sum(verdict.passed for verdict in self.verdicts.values())

    @property
    def failures(self) -> list[str]:
        """Observation at each stage that fails, behind the name of the stage."""
        return [f"{name}: {item.observed}" for name, item in self.verdicts.items() if not item.passed]


def grade(
    folders: Sequence[Path],
    name: str = "",
    *,
    jobs: int = 2,
    on_grade: Callable[[Grade], None] = lambda grade: None,
) -> list[Grade]:
    """Check folders, `jobs` at a time, and return their grades in order.

    Args:
        folders: The students' folders; whatever is wrong with a folder is in its grade.
        name: Number or name of the lab; by default each folder's own.
        jobs: Number of folders checked at a time.
        on_grade: Receives each grade, in the order of the folders, as soon as there is one.
    """
    grades = []
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(lambda folder: _graded(folder, name), folders):
            on_grade(result)
            grades.append(result)
    return list(_with_twins(grades))


def _graded(folder: Path, name: str) -> Grade:
    began = time.monotonic()
    try:
        lab = lab_of(folder, name)
        seed = draw_seed()
        verdicts = check_folder(folder, lab, seed)
        changed = changed_files(folder, lab)
        return Grade(
            folder,
            lab,
            verdicts,
            same_as_solution(folder, lab),
            _hints(folder),
            _report(folder, lab),
            f"own copy of {', '.join(changed)} is not the lab's; the check took the lab's" if changed else "",
            seed,
            time.monotonic() - began,
            hashes(folder, lab),
        )
    except (RailyardError, OSError) as ex:
        return Grade(folder, note=str(ex), seconds=time.monotonic() - began)


def _hints(folder: Path) -> int:
    try:
        record = read_record(folder)
    except LabError:
        record = Record(lab="")
    return sum(record.hints.values())


def _report(folder: Path, lab: Lab) -> str:
    report = read_report(folder)
    if report is None:
        return "none"
    return disagreement(report, folder, lab, repeat=False) or "fits"


def _with_twins(grades: Sequence[Grade]) -> Iterator[Grade]:
    """Yield the grades; a note names an earlier folder with the same files."""
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


def _cells(result: Grade) -> tuple[str, ...]:
    lab = result.lab
    if lab is None:
        return (str(result.folder), "", "", "", "", "", "", result.note, "", f"{result.seconds:.1f}")
    stages = " ".join(f"{name}:{'pass' if item.passed else 'fail'}" for name, item in result.verdicts.items())
    notes = "; ".join([*([result.note] if result.note else []), *result.failures])
    return (
        str(result.folder),
        lab.name,
        f"{result.passed}/{len(lab.stages)}",
        stages,
        " ".join(result.restored),
        str(result.hints),
        result.report,
        notes,
        str(result.seed),
        f"{result.seconds:.1f}",
    )


def as_csv(grades: Sequence[Grade]) -> str:
    """Return the table as CSV; a cell never begins like a formula of a spreadsheet."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for result in grades:
        cells = _cells(result)
        writer.writerow([f"'{cell}" if cell.startswith(("=", "+", "-", "@")) else cell for cell in cells])
    return file.getvalue()


def as_html(grades: Sequence[Grade]) -> str:
    """Return the table as a page that needs no other file."""
    rows = [[escape(cell) for cell in _cells(result)] for result in grades]
    whole = sum(result.lab is not None and result.passed == len(result.lab.stages) for result in grades)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Railyard labs: grades</title>
<style>
body {{ font: 15px/1.4 system-ui, sans-serif; margin: 2em }}
table {{ border-collapse: collapse }}
td, th {{ border: 1px solid #ccc; padding: 0.3em 0.6em; text-align: left; vertical-align: top }}
td.n, th.n {{ text-align: right }}
</style>
<h1>{len(rows)} folders, {whole} with all stages</h1>
<p>{escape(_LEGEND)}</p>
{table(_COLUMNS, rows, 2)}
</html>
"""
