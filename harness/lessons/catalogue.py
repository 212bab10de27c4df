# SPDX-License-Identifier: Apache-2.0
"""Labs and their stages, read from the file lab.yaml of each lab's folder."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Annotated, final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from harness.errors import LabError
from harness.files import LABS, P4RUNTIME_SHELL

__all__ = ["P4C", "Lab", "P4Program", "Stage", "find_lab", "hash_of_file", "labs", "lacking"]

P4C = "p4c-bm2-ss"
# Programs that are no command of the PATH.
_PLACES = {"p4runtime-shell": P4RUNTIME_SHELL / "bin" / "python"}

_NAME = re.compile(r"(\d\d)_([a-z0-9_]+)")

# How to get a program that a lab needs, and the same for someone who is in the virtual machine already.
_GET = {
    P4C: (
        "install the package p4lang-p4c of the P4 language project, or work in the virtual machine "
        "(docs/testbeds/vagrant.md)"
    ),
    "p4runtime-shell": "install it with `scripts/shell.sh install` in the source tree of Railyard",
    "tshark": "install it with `apt-get install tshark`, or work in the virtual machine",
}
_GET_IN_MACHINE = {
    P4C: "call `vagrant provision` on your own computer, which tries again to install it",
    "p4runtime-shell": "install it with `~/railyard/scripts/shell.sh install`",
    "tshark": "install it with `sudo apt-get install tshark`",
}


@final
class Stage(BaseModel):
    """A step of a lab: `check` is the name of a function in check.py, hints go from vague to plain.

    `needs` are programs that this stage alone needs; without them, the other stages are checked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    title: str
    check: str
    needs: tuple[str, ...] = ()
    hints: Annotated[tuple[str, ...], Field(min_length=3, max_length=3)]

    def lacking(self) -> str:
        """Return the first program that the stage needs and this machine lacks, with how to get it, or ''."""
        return lacking(f"stage {self.id}", self.needs)


@final
class P4Program(BaseModel):
    """The P4 program of which a lab's student writes a file; `file` is what p4c compiles.

    The starter has the whole program. With `replaces` it is a program of Railyard's own P4, in which the
    student's file takes the place of the file of that name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    replaces: str = ""


@final
class Lab(BaseModel):
    """A lab as lab.yaml describes it.

    `files` are the student's part; all else of starter/ is the lab's own. `p4` is the program to which the
    student's P4 belongs; build/ has what p4c makes of it with the starter's files.
    `seconds` and `memory_mb` limit each call of a student's code, in processor time and address space;
    `check_seconds` limits a whole check, in wall-clock time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int = 0
    folder: Path = Path()
    title: str
    summary: str
    minutes: Annotated[int, Field(ge=10, le=90)]
    p4: P4Program | None = None
    files: Annotated[tuple[str, ...], Field(min_length=1)]
    seconds: Annotated[int, Field(ge=1, le=60)] = 10
    memory_mb: Annotated[int, Field(ge=64, le=4096)] = 1024
    check_seconds: Annotated[int, Field(ge=10, le=600)] = 120
    stages: Annotated[tuple[Stage, ...], Field(min_length=1)]

    @property
    def name(self) -> str:
        """Name of the lab's folder, such as 03_deadlock."""
        return self.folder.name

    @property
    def starter(self) -> Path:
        """Folder whose files `start` copies."""
        return self.folder / "starter"

    @property
    def solution(self) -> Path:
        """Folder with a folder for each stage: the student's files with which this stage passes."""
        return self.folder.parent / "solutions" / self.name

    @property
    def own_files(self) -> tuple[str, ...]:
        """Files of the starter that are not the student's, relative to its folder."""
        every = (path for path in sorted(self.starter.rglob("*")) if path.is_file())
        names = (str(path.relative_to(self.starter)) for path in every if "__pycache__" not in path.parts)
        return tuple(name for name in names if name not in self.files)

    @property
    def digest(self) -> str:
        """Hash of the checks and of the starter: reports with equal digests come from equal checks."""
        parts = [self.folder / "lab.yaml", self.folder / "check.py"]
        parts += [self.starter / name for name in (*self.files, *self.own_files)]
        return hashlib.sha256("".join(map(hash_of_file, parts)).encode()).hexdigest()

    def stage(self, name: str) -> Stage:
        """Return the stage of an id or of a number from 1; LabError if there is none."""
        for number, stage in enumerate(self.stages, 1):
            if name in (stage.id, str(number)):
                return stage
        names = ", ".join(f"{number} {stage.id}" for number, stage in enumerate(self.stages, 1))
        raise LabError(f"lab {self.number} has no stage {name!r}", remedy=f"its stages are {names}")

    @property
    def programs(self) -> tuple[str, ...]:
        """Programs that a stage needs, and p4c if the student writes P4."""
        needs = (name for stage in self.stages for name in stage.needs)
        return tuple(dict.fromkeys((*([P4C] if self.p4 else []), *needs)))

    @property
    def p4_files(self) -> tuple[str, ...]:
        """The student's files that are P4."""
        return tuple(name for name in self.files if name.endswith(".p4"))

    def lacking(self) -> list[str]:
        """Return a sentence for each stage or changed file that this machine lacks a program for."""
        changed = lacking(f"a changed {' or '.join(self.p4_files)}", (P4C,)) if self.p4 else ""
        return [why for why in (changed, *(stage.lacking() for stage in self.stages)) if why]


def lacking(what: str, programs: tuple[str, ...]) -> str:
    """Return a sentence for the first program that `what` needs and this machine lacks, or ''."""
    for program in programs:
        if shutil.which(_PLACES.get(program, program)) is None:
            # scripts/login.sh sets the variable.
            known = _GET_IN_MACHINE if os.environ.get("RAILYARD_MACHINE") == "vagrant" else _GET
            how = known.get(program, "install it")
            return f"{what} needs {program}, which is not installed; {how}"
    return ""


def labs() -> tuple[Lab, ...]:
    """Return all labs by number; LabError names a file that cannot be read."""
    folders = sorted(path for path in LABS.iterdir() if _NAME.fullmatch(path.name))
    return tuple(_read(folder) for folder in folders if (folder / "lab.yaml").is_file())


def find_lab(name: str) -> Lab:
    """Return the lab of a number or a folder's name; LabError lists the labs if there is none."""
    every = labs()
    for lab in every:
        if name in (lab.name, lab.name[3:], str(lab.number), f"{lab.number:02}"):
            return lab
    listed = ", ".join(f"{lab.number} {lab.name[3:]}" for lab in every)
    raise LabError(f"no lab {name!r}", remedy=f"the labs are {listed}")


def hash_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read(folder: Path) -> Lab:
    file = folder / "lab.yaml"
    try:
        content = YAML(typ="safe").load(file.read_text())
        lab = Lab.model_validate({**content, "number": int(folder.name[:2]), "folder": folder})
    except (YAMLError, ValidationError) as ex:
        raise LabError(f"{file}: {ex}", remedy="correct the file, or install Railyard anew") from None
    return lab
