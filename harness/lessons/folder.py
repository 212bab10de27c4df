# SPDX-License-Identifier: Apache-2.0
"""A student's folder of a lab: started from the starter, with a record of hints, checks and restored stages.

The record, .railyard-lab.json, is the student's to lose: it proves nothing, and a teacher's table compares
files with the solution itself.
"""

from __future__ import annotations

import shutil
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from pydantic import BaseModel, ValidationError

from harness.errors import LabError, OutputError
from harness.lessons.catalogue import Lab, Stage, find_lab, hash_of_file, labs

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
# Folders that a message names at most.
_SHOWN = 5


@final
class Check(BaseModel):
    """Stages that passed in a check, and its time."""

    when: str
    passed: tuple[str, ...] = ()


@final
class Record(BaseModel):
    """Record of a student's folder: hints taken by stage, stages restored, checks in order."""

    lab: str
    started: str = ""
    hints: dict[str, int] = {}
    restored: list[str] = []
    checks: list[Check] = []


def start(lab: Lab, folder: Path) -> list[Path]:
    """Copy the starter, the text and its pictures into a new folder, and return the student's files.

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
        raise OutputError(f"{ex.filename}: {ex.strerror}", remedy="choose a folder that is yours") from None
    _write(folder, Record(lab=lab.name, started=_now()))
    return [folder / name for name in lab.files]


def lab_of(folder: Path, name: str = "") -> Lab:
    """Return the lab of a folder: the named lab, or that of its record, or that whose files it has.

    Raises:
        LabError: The folder does not exist or belongs to no lab.
    """
    if not folder.is_dir():
        started = _started(folder.parent)
        remedy = "start a lab with `railyard lab start N`"
        if started:
            remedy = f"the labs here are {', '.join(started)}"
        raise LabError(f"{folder}: no such folder", remedy=remedy)
    if name:
        return find_lab(name)
    if (folder / RECORD).is_file():
        return find_lab(read_record(folder).lab)
    fitting = [lab for lab in labs() if all((folder / file).is_file() for file in lab.files)]
    if len(fitting) != 1:
        started = _started(folder)
        remedy = "start a lab with `railyard lab start N`, or name the lab with --lab N"
        if started:
            remedy = f"name a folder in it: {', '.join(started)}"
        raise LabError(f"{folder} is no folder of a lab", remedy=remedy)
    return fitting[0]


def folders_of_class(folder: Path) -> list[Path]:
    """Return the folders to grade: a folder of a lab itself, else those of labs one or two levels below it.

    A folder below without a lab stays in the list, so that its student has a line in the table.
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
    """Return the first folders of labs in a folder, in order."""
    try:
        return sorted(str(record.parent) for record in parent.glob(f"*/{RECORD}"))[:_SHOWN]
    except OSError:
        return []


def read_record(folder: Path) -> Record:
    """Return the record of a folder; LabError if it is unreadable, an empty record if there is none."""
    path = folder / RECORD
    if not path.is_file():
        return Record(lab="")
    try:
        return Record.model_validate_json(path.read_bytes()[:_LARGEST])
    except (ValidationError, OSError):
        raise LabError(
            f"{path} cannot be read", remedy="remove it and name the lab with --lab N: your files stay"
        ) from None


def note_check(folder: Path, lab: Lab, stages: tuple[str, ...]) -> None:
    """Add a check to the record: the stages that passed, now."""
    record = read_record(folder)
    record.lab = lab.name
    record.checks = [*record.checks, Check(when=_now(), passed=stages)][-_KEPT_CHECKS:]
    _write(folder, record)


def next_hint(folder: Path, lab: Lab, stage: Stage) -> tuple[int, str]:
    """Return the number and text of the next hint of a stage, the last again when all are taken; note it."""
    record = read_record(folder)
    record.lab = lab.name
    number = min(record.hints.get(stage.id, 0) + 1, len(stage.hints))
    record.hints[stage.id] = number
    _write(folder, record)
    return number, stage.hints[number - 1]


def restore(folder: Path, lab: Lab, stage: Stage) -> list[Path]:
    """Put in the student's files with which a stage passes; note it and keep the old files beside them.

    Returns:
        The files that were replaced; FILE.before has the old content.
    """
    record = read_record(folder)
    replaced = []
    for name in lab.files:
        source, target = lab.solution / stage.id / name, folder / name
        if not source.is_file() or (_regular(target) and hash_of_file(target) == hash_of_file(source)):
            continue
        if target.exists():
            target.replace(target.with_name(f"{target.name}.before"))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        replaced.append(target)
    for name in lab.own_files:
        if name in changed_files(folder, lab):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(lab.starter / name, folder / name)
    record.lab = lab.name
    record.restored.append(stage.id)
    _write(folder, record)
    return replaced


def copy_for_check(folder: Path, lab: Lab, target: Path) -> list[str]:
    """Copy the lab's own files and the student's into an empty folder; return the files that were not taken.

    Only regular files of up to 1 MiB are taken: no links, no devices.
    """
    ignored = shutil.ignore_patterns("__pycache__", *(Path(name).name for name in lab.files))
    shutil.copytree(lab.starter, target, ignore=ignored)
    refused = []
    for name in lab.files:
        source = folder / name
        if _regular(source) and source.stat().st_size <= _LARGEST:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(source.read_bytes())
        elif source.is_symlink() or source.exists():
            refused.append(name)
    return refused


def changed_files(folder: Path, lab: Lab) -> list[str]:
    """Return the lab's own files that the student's folder lacks or has with another content."""
    return [
        name
        for name in lab.own_files
        if not _regular(folder / name) or hash_of_file(folder / name) != hash_of_file(lab.starter / name)
    ]


def hashes(folder: Path, lab: Lab) -> dict[str, str]:
    """Return the SHA-256 of each of the student's files; '' for a file that is missing or no regular file."""
    names = ((name, folder / name) for name in lab.files)
    return {name: hash_of_file(path) if _regular(path) else "" for name, path in names}


def same_as_solution(folder: Path, lab: Lab) -> list[str]:
    """Return the stages whose solution has all the student's files, byte by byte; none before a change."""
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
    try:
        (folder / RECORD).write_text(record.model_dump_json(indent=2) + "\n")
    except OSError as ex:
        raise OutputError(f"{ex.filename}: {ex.strerror}", remedy="make the folder writable") from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
