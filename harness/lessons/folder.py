# SPDX-License-Identifier: Apache-2.0
"""A student's folder of a lab: started from the starter, with a record of hints, checks and restored stages.

The student can edit the record, .railyard-lab.json: it proves nothing. A teacher's table therefore compares
the files with the solution.
"""

from __future__ import annotations

import itertools
import shutil
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from pydantic import BaseModel, ValidationError

from harness.errors import LabError, OutputError
from harness.lessons.catalogue import Lab, Stage, find_lab, hash_of_file, labs
from harness.output import OutputFolder

__all__ = [
    "RECORD",
    "Record",
    "changed_files",
    "copy_for_check",
    "folders_of_class",
    "hashes",
    "lab_of",
    "next_hint",
    "note_check",
    "read_record",
    "restore",
    "same_as_solution",
    "start",
]

RECORD = ".railyard-lab.json"

# Largest student's file that is checked, in bytes.
_LARGEST = 1 << 20
_KEPT_CHECKS = 500
# Largest number of folders in an error message.
_SHOWN = 5


@final
class Check(BaseModel):
    """A check in the record: its time, and the stages that passed."""

    when: str
    passed: tuple[str, ...] = ()


@final
class Record(BaseModel):
    """Record of a student's folder: number of hints by stage, restored stages, checks in order."""

    lab: str
    started: str = ""
    hints: dict[str, int] = {}
    restored: list[str] = []
    checks: list[Check] = []


def start(lab: Lab, folder: Path) -> list[Path]:
    """Copy a lab's starter, README.md and pictures into a new folder; return the files to edit.

    Raises:
        LabError: The folder exists and is not empty.
        OutputError: The folder cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LabError(f"{folder} exists and is not empty", remedy="give the name of a new folder")
    try:
        shutil.copytree(lab.starter, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        for path in [lab.folder / "README.md", *sorted(lab.folder.glob("*.svg"))]:
            shutil.copy(path, folder)
    except OSError as ex:
        raise OutputError(
            f"{ex.filename} cannot be written: {ex.strerror}", remedy="choose a folder that you may write"
        ) from None
    _write(folder, Record(lab=lab.name, started=_now()))
    return [folder / name for name in lab.files]


def lab_of(folder: Path, name: str = "") -> Lab:
    """Return the lab of a student's folder.

    This is the lab called `name`, if given; else the lab in the folder's record; else the lab whose student's
    files are all in the folder.

    Raises:
        LabError: The folder does not exist or belongs to no lab, or the name is unknown.
    """
    if not folder.is_dir():
        if folder.exists():
            raise LabError(f"{folder} is a file", remedy=f"give its folder, {folder.parent}")
        started = _started(folder.parent)
        remedy = "start a lab with `railyard lab start N`"
        if started:
            remedy = f"use one of the lab folders {', '.join(started)}"
        raise LabError(f"folder {folder} does not exist", remedy=remedy)
    if name:
        return find_lab(name)
    if _regular(folder / RECORD):
        return find_lab(read_record(folder).lab)
    fitting = [lab for lab in labs() if all((folder / file).is_file() for file in lab.files)]
    if len(fitting) != 1:
        started = _started(folder)
        remedy = "start a lab with `railyard lab start N`, or name the lab with --lab N"
        if started:
            remedy = f"use one of the lab folders in it: {', '.join(started)}"
        raise LabError(f"{folder} is no folder of a lab", remedy=remedy)
    return fitting[0]


def folders_of_class(folder: Path) -> list[Path]:
    """Return the folders to grade: `folder` if it is a lab folder, else lab folders up to two levels below.

    A subfolder without a lab is in the list, too, so that its student has a line in the table.
    """
    labs_below = [*folder.glob(f"*/{RECORD}"), *folder.glob(f"*/*/{RECORD}")]
    if (folder / RECORD).is_file() or not labs_below:
        return [folder]
    folders: list[Path] = []
    for child in sorted(path for path in folder.iterdir() if path.is_dir()):
        inner = sorted(record.parent for record in child.glob(f"*/{RECORD}"))
        folders += inner if inner and not (child / RECORD).is_file() else [child]
    return folders


def _started(parent: Path) -> list[str]:
    """Return the lab folders directly below a folder, in alphabetical order, at most five."""
    try:
        return sorted(str(record.parent) for record in parent.glob(f"*/{RECORD}"))[:_SHOWN]
    except OSError:
        return []


def read_record(folder: Path) -> Record:
    """Return the record of a student's folder, an empty record if the file is missing.

    Raises LabError if the file cannot be read.
    """
    path = folder / RECORD
    if not _regular(path):
        return Record(lab="")
    try:
        return Record.model_validate_json(path.read_bytes())
    except (ValidationError, OSError):
        raise LabError(
            f"{path} is no readable record of a lab",
            remedy="remove it and name the lab with --lab N; your other files stay",
        ) from None


def note_check(folder: Path, lab: Lab, stages: tuple[str, ...]) -> None:
    """Add a check at the present time to the folder's record; `stages` are the ids of the passed stages."""
    record = read_record(folder)
    record.lab = lab.name
    record.checks = [*record.checks, Check(when=_now(), passed=stages)][-_KEPT_CHECKS:]
    _write(folder, record)


def next_hint(folder: Path, lab: Lab, stage: Stage) -> tuple[int, str]:
    """Return number and text of the next hint of a stage, and count it in the folder's record.

    When all hints are taken, the last hint is returned again.
    """
    record = read_record(folder)
    record.lab = lab.name
    number = min(record.hints.get(stage.id, 0) + 1, len(stage.hints))
    record.hints[stage.id] = number
    _write(folder, record)
    return number, stage.hints[number - 1]


def restore(folder: Path, lab: Lab, stage: Stage) -> dict[Path, Path | None]:
    """Replace the student's files by the solution of a stage, and lab files by the originals; record it.

    A student's own content is kept in FILE.before, or in FILE.before-2 and so on if that exists.

    Returns:
        For each replaced file, the file that keeps the student's content; None if there was no such content.
    """
    record = read_record(folder)
    replaced: dict[Path, Path | None] = {}
    for name in lab.files:
        source, target = lab.solution / stage.id / name, folder / name
        if not source.is_file() or (_regular(target) and hash_of_file(target) == hash_of_file(source)):
            continue
        kept = None if _is_of_lab(target, lab, name) else _free_name(target)
        if kept is not None:
            target.replace(kept)
        target.parent.mkdir(parents=True, exist_ok=True)
        OutputFolder(target.parent).write_bytes(target.name, source.read_bytes())
        replaced[target] = kept
    for name in lab.own_files:
        if name in changed_files(folder, lab):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(lab.starter / name, folder / name)
    record.lab = lab.name
    record.restored.append(stage.id)
    _write(folder, record)
    return replaced


def _is_of_lab(target: Path, lab: Lab, name: str) -> bool:
    """Return whether a student's file is missing, the unchanged starter, or a stage's solution."""
    if not (target.exists() or target.is_symlink()):
        return True
    given = (lab.starter / name, *(lab.solution / stage.id / name for stage in lab.stages))
    hashes_of_lab = {hash_of_file(path) for path in given if path.is_file()}
    return _regular(target) and hash_of_file(target) in hashes_of_lab


def _free_name(target: Path) -> Path:
    """Return a name for the old content of a file, under which no file exists yet."""
    name = f"{target.name}.before"
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    free = (path for path in map(target.with_name, names) if not (path.exists() or path.is_symlink()))
    return next(free)


def copy_for_check(folder: Path, lab: Lab, target: Path) -> dict[str, str]:
    """Copy the original lab files and the student's files into a new folder.

    Only regular files of up to 1 MiB are copied; symbolic links and devices are refused.

    Returns:
        For each refused file, what it is, such as a symbolic link or a file of N bytes.
    """
    ignored = shutil.ignore_patterns("__pycache__", *(Path(name).name for name in lab.files))
    shutil.copytree(lab.starter, target, ignore=ignored)
    refused = {}
    for name in lab.files:
        source = folder / name
        if _regular(source):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(source.read_bytes())
        elif source.is_symlink() or source.exists():
            refused[name] = _kind(source)
    return refused


def _kind(path: Path) -> str:
    """Describe a refused file by its type, or by its size if it is a regular file."""
    mode = path.lstat().st_mode
    if stat.S_ISREG(mode):
        return f"a file of {path.lstat().st_size} bytes"
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"


def changed_files(folder: Path, lab: Lab) -> list[str]:
    """Return the lab's own files (not for editing) that are missing or changed in the student's folder."""
    return [
        name
        for name in lab.own_files
        if not _regular(folder / name) or hash_of_file(folder / name) != hash_of_file(lab.starter / name)
    ]


def hashes(folder: Path, lab: Lab) -> dict[str, str]:
    """Return the SHA-256 of each student's file by name; '' if it is missing, irregular or too large."""
    names = ((name, folder / name) for name in lab.files)
    return {name: hash_of_file(path) if _regular(path) else "" for name, path in names}


def same_as_solution(folder: Path, lab: Lab) -> list[str]:
    """Return the stages whose solution equals the student's files; empty for the unchanged starter."""
    own = hashes(folder, lab)
    if own == hashes(lab.starter, lab):
        return []
    return [
        stage.id
        for stage in lab.stages
        if all(
            (path := lab.solution / stage.id / name).is_file() and hash_of_file(path) == own[name]
            for name in lab.files
        )
    ]


def _regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode) and path.lstat().st_size <= _LARGEST
    except OSError:
        return False


def _write(folder: Path, record: Record) -> None:
    # By a new name: a link or a pipe of that name is replaced, and never written to.
    OutputFolder(folder).write(RECORD, record.model_dump_json(indent=2) + "\n")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
