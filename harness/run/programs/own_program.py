# SPDX-License-Identifier: Apache-2.0
"""P4 programs of the user's own: compiled files, or sources that p4c compiles."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import final

from controller.errors import InstallError
from controller.p4runtime.client import ProgramFiles
from controller.p4runtime.entries_file import read_entries
from controller.p4runtime.p4info import P4Info
from controller.plan.entry import Entry
from controller.plan.plan import Plan
from emulation.errors import ProgramError
from harness.scenario.schema import OwnProgram
from topologies import Fabric

__all__ = ["BUILT_IN", "OwnPrograms", "entries_for", "own_program", "own_programs", "read_programs"]

_COMPILER = "p4c-bm2-ss"
# Counters that the metrics of a run need.
_COUNTERS = ("drops", "tx_by_port_vl")


@final
@dataclass(frozen=True, slots=True)
class OwnPrograms:
    """Compiled files of a user's programs, and their entries beside the plan's, by node."""

    files: Mapping[str, ProgramFiles] = field(default_factory=dict)
    entries: Mapping[str, Sequence[Entry]] = field(default_factory=dict)


# No user's programs: every node runs the built-in program of its kind.
BUILT_IN = OwnPrograms()


def read_programs(fabric: Fabric, chosen: Mapping[str, OwnProgram]) -> dict[str, ProgramFiles]:
    """Return the files of the user's programs, by the name of the built-in program that each replaces.

    Raises:
        ProgramError: No node runs such a built-in program, or `own_program` refuses the files.
    """
    nodes = {node.program for node in fabric.nodes}
    compiled: dict[str, ProgramFiles] = {}
    for name, program in chosen.items():
        if name not in nodes:
            raise ProgramError(
                f"no node of {fabric.name} runs a program {name!r}",
                remedy=f"replace {' or '.join(sorted(nodes))}",
            )
        source = Path(program.file)
        p4info = Path(program.p4info) if program.p4info else source.with_suffix(".p4info.txtpb")
        compiled[name] = own_program(source, p4info)
    return compiled


def own_programs(
    plan: Plan, chosen: Mapping[str, OwnProgram], compiled: Mapping[str, ProgramFiles]
) -> OwnPrograms:
    """Return the compiled programs and entries of the nodes with replaced built-in programs.

    Args:
        plan: Plan whose entries the programs must accept.
        chosen: The user's programs, by the name of the built-in program that each replaces.
        compiled: Their files, from `read_programs`.

    Raises:
        InstallError: A program lacks a table, an action or a counter that the plan or the metrics use.
    """
    nodes: dict[str, list[str]] = {}
    for node in plan.fabric.nodes:
        nodes.setdefault(node.program, []).append(node.name)
    files: dict[str, ProgramFiles] = {}
    entries: dict[str, Sequence[Entry]] = {}
    for name, program in chosen.items():
        info = P4Info.parse(compiled[name].p4info)
        try:
            _check_against_plan(info, plan, nodes[name])
        except InstallError as ex:
            raise InstallError(
                f"{program.file} cannot replace {name}: {ex.message}",
                remedy=f"keep the tables and counters of {name}",
            ) from ex
        files.update(dict.fromkeys(nodes[name], compiled[name]))
        if program.entries is not None:
            entries.update(read_entries(Path(program.entries), info, nodes[name]))
    return OwnPrograms(files, entries)


def _check_against_plan(info: P4Info, plan: Plan, nodes: Sequence[str]) -> None:
    """Raise an InstallError unless a program has the tables of the plan and the counters of the metrics."""
    for counter in _COUNTERS:
        info.counter_id(counter)
    shapes: dict[Hashable, Entry] = {}
    for node in nodes:
        for entry in plan.entries[node]:
            keys = tuple((name, type(match)) for name, match in entry.match)
            shapes.setdefault((entry.table, entry.action, keys), entry)
    for entry in shapes.values():
        info.encode(entry)


def own_program(program: Path, p4info: Path | None) -> ProgramFiles:
    """Return the files of a program: FILE.json with its p4info, or FILE.p4, which p4c compiles.

    Raises:
        ProgramError: A file cannot be read, the p4info is missing or p4c is not installed.
    """
    if program.suffix == ".p4":
        return _compiled(program)
    if p4info is None:
        raise ProgramError(f"the program {program} has no p4info", remedy="give --p4info FILE.txtpb as well")
    try:
        return ProgramFiles(program.read_bytes(), p4info.read_bytes())
    except OSError as ex:
        raise ProgramError(
            f"{ex.filename}: the file cannot be read: {ex.strerror}", remedy="give the files that p4c wrote"
        ) from None


def entries_for(fabric: Fabric, files: ProgramFiles, path: Path | None) -> Mapping[str, Sequence[Entry]]:
    """Return the table entries in the file `path` for every node, checked against the p4info.

    Without a file, every node has no entries.
    """
    names = [node.name for node in fabric.nodes]
    return dict.fromkeys(names, ()) if path is None else read_entries(path, P4Info.parse(files.p4info), names)


def _compiled(source: Path) -> ProgramFiles:
    if not source.is_file():
        raise ProgramError(f"{source}: the file does not exist", remedy="give the path of a P4 program")
    compiler = shutil.which(_COMPILER)
    if compiler is None:
        raise ProgramError(
            f"{source}: {_COMPILER} is not installed",
            remedy="install p4c (docs/testbeds/mininet.md#bmv2-and-p4c), or compile the program elsewhere "
            "and give FILE.json with its p4info",
        )
    with TemporaryDirectory(prefix="p4-of-railyard-") as folder:
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
            raise ProgramError(
                first or f"{source}: {_COMPILER} failed without a message", remedy="correct the program"
            )
        return ProgramFiles(program.read_bytes(), p4info.read_bytes())
