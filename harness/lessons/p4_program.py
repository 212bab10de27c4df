# SPDX-License-Identifier: Apache-2.0
"""The P4 program of a lab with the student's file: compiled by p4c, or shipped with the lab.

The folder build/ of a lab has the compiled starter, with hashes of its sources in MANIFEST.json (`make p4`,
scripts/p4_manifest.py). The check of an unchanged starter therefore needs no p4c.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from controller.p4runtime.client import ProgramFiles
from harness.errors import LabError, MissingProgramError
from harness.files import P4_SOURCES
from harness.lessons.attempt import Attempt, StudentError
from harness.lessons.catalogue import P4C, Lab, hash_of_file, lacking

__all__ = ["compiled_program", "lay_out", "p4_sources", "p4c_command"]

_OF_RAILYARD = ("include/**/*.p4", "control/**/*.p4")


def p4_sources(lab: Lab, folder: Path) -> dict[str, Path]:
    """Return the source files of a lab's P4 program, by their path in the source tree.

    Files that the student edits, and other files of the starter, are taken from `folder`.

    Raises:
        LabError: The lab has no P4 program.
    """
    if lab.p4 is None:
        raise LabError(f"lab {lab.number} has no P4 program", remedy="add the key p4 to its lab.yaml")
    if not lab.p4.replaces:
        names = (*lab.files, *lab.own_files)
        return {name: folder / name for name in sorted(names) if name.endswith(".p4")}
    paths = (path for pattern in (lab.p4.file, *_OF_RAILYARD) for path in P4_SOURCES.glob(pattern))
    given = {str(path.relative_to(P4_SOURCES)): path for path in sorted(paths)}
    return {**given, lab.p4.replaces: folder / lab.p4_files[0]}


def lay_out(sources: Mapping[str, Path], tree: Path) -> None:
    """Copy source files into the folder `tree`, each to its path in the source tree."""
    for name, path in sources.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, tree / name)


def p4c_command(source: str, out: Path) -> list[str]:
    """Return the p4c command to compile NAME.p4 to NAME.json and NAME.p4info.txtpb in the folder `out`."""
    stem = Path(source).stem
    files = ["--p4runtime-files", str(out / f"{stem}.p4info.txtpb"), "-o", str(out / f"{stem}.json")]
    return [P4C, "--arch", "v1model", *files, source]


def compiled_program(attempt: Attempt) -> ProgramFiles:
    """Return the compiled program of the lab with the student's P4 files; it is compiled once per check.

    Raises:
        StudentError: A file is missing, or p4c reports an error; the message has p4c's first error.
        MissingProgramError: The P4 files differ from the starter's, and p4c is not installed.
    """
    return attempt.shared("P4 program", lambda: _compiled(attempt))


def _compiled(attempt: Attempt) -> ProgramFiles:
    lab = attempt.lab
    for name in lab.p4_files:
        attempt.path(name)
    sources = p4_sources(lab, attempt.folder)
    assert lab.p4 is not None
    stem = Path(lab.p4.file).stem
    if _is_shipped(lab, sources):
        return _read(lab.folder / "build", stem)
    if why := lacking(f"a changed {' or '.join(lab.p4_files)}", (P4C,)):
        raise MissingProgramError(why)
    tree = attempt.scratch / "p4"
    lay_out(sources, tree)
    done = attempt.run(p4c_command(str(tree / lab.p4.file), attempt.scratch))
    if done.returncode or not (attempt.scratch / f"{stem}.json").is_file():
        errors = [line for line in done.stderr.splitlines() if "error" in line] or ["no reason given"]
        place = tree / (lab.p4.replaces or lab.p4.file)
        error = errors[0].replace(f"{place.parent}/", "")
        raise StudentError(f"p4c reports {error}", ", ".join(lab.p4_files))
    return _read(attempt.scratch, stem)


def _is_shipped(lab: Lab, sources: Mapping[str, Path]) -> bool:
    """Return whether the program in the lab's build/ was compiled from exactly these sources."""
    try:
        recorded = json.loads((lab.folder / "build" / "MANIFEST.json").read_bytes())["sources"]
    except (OSError, ValueError, KeyError):
        return False
    return recorded == {name: hash_of_file(path) for name, path in sources.items()}


def _read(folder: Path, stem: str) -> ProgramFiles:
    return ProgramFiles(*((folder / f"{stem}{end}").read_bytes() for end in (".json", ".p4info.txtpb")))
