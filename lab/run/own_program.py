# SPDX-License-Identifier: Apache-2.0
"""A P4 program of the user's own: compiled files, or a source that p4c compiles."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from controller.p4runtime.client import ProgramFiles
from controller.p4runtime.entries_file import read_entries
from controller.p4runtime.p4info import P4Info
from controller.plan import Entry
from emulation.errors import ProgramError
from topologies import Fabric

__all__ = ["entries_for", "own_program"]

_COMPILER = "p4c-bm2-ss"


def own_program(program: Path, p4info: Path | None) -> ProgramFiles:
    """Return the files of a program: FILE.json with its p4info, or FILE.p4, which p4c compiles.

    Raises:
        ProgramError: A file cannot be read, the p4info is missing or p4c is not installed.
    """
    if program.suffix == ".p4":
        return _compiled(program)
    if p4info is None:
        raise ProgramError(f"{program}: a program without p4info", remedy="give --p4info FILE.txtpb as well")
    try:
        return ProgramFiles(program.read_bytes(), p4info.read_bytes())
    except OSError as ex:
        raise ProgramError(f"{ex.filename}: {ex.strerror}", remedy="give the files that p4c wrote") from None


def entries_for(fabric: Fabric, files: ProgramFiles, path: Path | None) -> Mapping[str, Sequence[Entry]]:
    """Return the entries of every node from a file, checked against the p4info; none without a file."""
    names = [node.name for node in fabric.nodes]
    return dict.fromkeys(names, ()) if path is None else read_entries(path, P4Info.parse(files.p4info), names)


def _compiled(source: Path) -> ProgramFiles:
    compiler = shutil.which(_COMPILER)
    if compiler is None:
        raise ProgramError(
            f"{source}: {_COMPILER} is not installed", remedy="install p4c, or give FILE.json and --p4info"
        )
    with TemporaryDirectory(prefix="railyard-p4-") as folder:
        program, p4info = Path(folder, "program.json"), Path(folder, "program.p4info.txtpb")
        command = [
            compiler,
            "--arch",
            "v1model",
            "--p4runtime-files",
            str(p4info),
            "-o",
            str(program),
            str(source),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
            raise ProgramError(f"{first or f'{source}: not compiled'}", remedy="correct the program")
        return ProgramFiles(program.read_bytes(), p4info.read_bytes())
