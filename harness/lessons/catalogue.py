# SPDX-License-Identifier: Apache-2.0
"""Read labs and their stages from the file lab.yaml in the folder of each lab."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Annotated, final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import LabError
from harness.files import LABS, P4RUNTIME_SHELL
from harness.scenario.document import Document
from harness.scenario.explain import explain

__all__ = ["P4C", "Lab", "P4Program", "Stage", "find_lab", "hash_of_file", "labs", "lacking"]

P4C = "p4c-bm2-ss"
_REMEDY = "docs/teaching.md, `A lab of your own`, has the files of a lab and the keys of lab.yaml"
# Paths of programs that are not on the PATH.
_PLACES = {"p4runtime-shell": P4RUNTIME_SHELL / "bin" / "python"}

_NAME = re.compile(r"(\d\d)_([a-z0-9_]+)")

# Advice on installing a program that a lab needs, outside and inside of the virtual machine.
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
    """A stage of a lab.

    Attributes:
        id: Identifier, in small letters.
        title: Title.
        check: Name of the function in check.py that checks the stage.
        needs: Programs that only this stage needs; without them, the other stages can be checked.
        hints: Three hints, from vague to plain.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    title: str
    check: str
    needs: tuple[str, ...] = ()
    hints: Annotated[tuple[str, ...], Field(min_length=3, max_length=3)]

    def lacking(self) -> str:
        """Return a sentence about the first missing program of the stage; '' if all are installed."""
        return lacking(f"stage {self.id}", self.needs)


@final
class P4Program(BaseModel):
    """The P4 program of a lab; the student writes one of its files.

    Attributes:
        file: Source file that p4c compiles.
        replaces: File of Railyard's own P4 sources that the student's file replaces; empty if the starter has
            the whole program.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    replaces: str = ""


@final
class Lab(BaseModel):
    """A lab, as lab.yaml describes it.

    Attributes:
        number: Number of the lab, from the name of its folder.
        folder: Folder of the lab.
        title: Title.
        summary: Summary.
        minutes: Time that a student needs.
        p4: P4 program with the student's part; None without P4. build/ has the compiled starter.
        files: Files of starter/ that the student edits; all other files of starter/ belong to the lab.
        seconds: Limit on the processor time of each call of a student's code.
        memory_mb: Limit on the address space of each call of a student's code.
        check_seconds: Limit on the wall-clock time of a whole check.
        stages: Stages in order.
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
        """Folder of the student's initial files."""
        return self.folder / "starter"

    @property
    def solution(self) -> Path:
        """Folder of the solution; it has a subfolder for each stage with files that pass the stage."""
        return self.folder.parent / "solutions" / self.name

    @property
    def own_files(self) -> tuple[str, ...]:
        """Files of the starter that the student does not edit, relative to the starter's folder."""
        every = (path for path in sorted(self.starter.rglob("*")) if path.is_file())
        names = (str(path.relative_to(self.starter)) for path in every if "__pycache__" not in path.parts)
        return tuple(name for name in names if name not in self.files)

    @property
    def digest(self) -> str:
        """Hash of lab.yaml, check.py and the starter: reports with equal digests come from equal checks."""
        parts = [self.folder / "lab.yaml", self.folder / "check.py"]
        parts += [self.starter / name for name in (*self.files, *self.own_files)]
        return hashlib.sha256("".join(map(hash_of_file, parts)).encode()).hexdigest()

    def stage(self, name: str) -> Stage:
        """Return the stage with a given id, or with a given number from 1; LabError for an unknown name."""
        for number, stage in enumerate(self.stages, 1):
            if name in (stage.id, str(number)):
                return stage
        names = ", ".join(f"{number} {stage.id}" for number, stage in enumerate(self.stages, 1))
        raise LabError(f"lab {self.number} has no stage {name!r}", remedy=f"use one of {names}")

    @property
    def programs(self) -> tuple[str, ...]:
        """Programs needed by the stages, with p4c if the student writes P4."""
        needs = (name for stage in self.stages for name in stage.needs)
        return tuple(dict.fromkeys((*([P4C] if self.p4 else []), *needs)))

    @property
    def p4_files(self) -> tuple[str, ...]:
        """Names of the student's P4 source files."""
        return tuple(name for name in self.files if name.endswith(".p4"))

    def lacking(self) -> list[str]:
        """Return a sentence for each missing program: what needs it, and how to get it.

        p4c is needed only for P4 files that differ from the starter.
        """
        changed = lacking(f"a changed {' or '.join(self.p4_files)}", (P4C,)) if self.p4 else ""
        return [why for why in (changed, *(stage.lacking() for stage in self.stages)) if why]


def lacking(what: str, programs: tuple[str, ...]) -> str:
    """Return a sentence about the first missing program; '' if all programs are installed.

    `what` is the subject of the sentence, such as "stage queue".
    """
    for program in programs:
        if shutil.which(_PLACES.get(program, program)) is None:
            # scripts/login.sh sets RAILYARD_MACHINE in the virtual machine.
            known = _GET_IN_MACHINE if os.environ.get("RAILYARD_MACHINE") == "vagrant" else _GET
            how = known.get(program, "install it")
            return f"{what} needs {program}, which is not installed; {how}"
    return ""


def labs() -> tuple[Lab, ...]:
    """Return all labs, ordered by number; LabError if a lab.yaml is invalid."""
    return tuple(_read(folder) for folder in _folders())


def find_lab(name: str) -> Lab:
    """Return the lab with a given number or folder name; LabError with a list of labs for an unknown name."""
    folders = _folders()
    for folder in folders:
        number = _number(folder)
        if name in (folder.name, folder.name[3:], str(number), f"{number:02}"):
            return _read(folder)
    listed = ", ".join(f"{_number(folder)} {folder.name[3:]}" for folder in folders)
    raise LabError(f"lab {name!r} does not exist", remedy=f"use one of {listed}")


def _folders() -> list[Path]:
    """Return the folders of all labs, ordered by number."""
    folders = sorted(path for path in LABS.iterdir() if _NAME.fullmatch(path.name))
    return [folder for folder in folders if (folder / "lab.yaml").is_file()]


def _number(folder: Path) -> int:
    return int(folder.name[:2])


def hash_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read(folder: Path) -> Lab:
    document = Document(folder / "lab.yaml")
    try:
        lab = Lab.model_validate({**document.values, "number": _number(folder), "folder": folder})
    except ValidationError as ex:
        raise LabError("\n".join(explain(document, ex, Lab)), remedy=_REMEDY) from None
    needed = [folder / "README.md", folder / "check.py", *(lab.starter / name for name in lab.files)]
    for path in needed:
        if not path.is_file():
            raise LabError(f"lab {lab.number} has no file {path}", remedy=_REMEDY)
    return lab
