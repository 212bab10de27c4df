# SPDX-License-Identifier: Apache-2.0
"""Suites of PTF tests: a v1model program with tests that p4testgen generates, or that its authors wrote."""

import hashlib
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from tests.differential.stf.compiled import COMPILER

__all__ = ["ENDS_WITH_US", "Generator", "Suite", "SuiteError", "generated", "hand_written"]

ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")
"""Words in front of a command whose process ends with the thread that starts it."""

_V1MODEL = re.compile(r'#include\s*[<"]v1model\.p4[>"]')
_SECONDS = 120.0
# What a veth carries: at least an Ethernet header, and no more than p4c's own runner asks for.
_BITS = "112:12000"
# The ports that the bench has.
_PORTS = "0:9"


class SuiteError(Exception):
    """A suite that cannot run; the message is the compiler's or the generator's."""


@final
@dataclass(frozen=True, slots=True)
class Suite:
    """A program and its tests.

    `tests` is the directory of hand-written tests, None for generated tests. `python_path` has the modules
    that they import.
    """

    name: str
    program: Path
    python_path: tuple[Path, ...]
    tests: Path | None = None

    def build(self, directory: Path, generator: "Generator") -> Path:
        """Compile the program to NAME.json and NAME.p4info.txtpb; return the directory of its tests."""
        info, json = directory / "program.p4info.txtpb", directory / "program.json"
        _run(
            COMPILER, "--arch", "v1model", "--p4runtime-files", str(info), "-o", str(json), str(self.program)
        )
        return self.tests or generator.generate(self.program, directory / "tests")


@final
@dataclass(frozen=True, slots=True)
class Generator:
    """p4testgen: its binary in its build directory, the number of tests a program, and a seed."""

    binary: Path
    tests: int
    seed: int

    def generate(self, program: Path, directory: Path) -> Path:
        """Generate tests into a new directory; SuiteError if there is none."""
        include = next(
            (
                folder / "p4include"
                for folder in self.binary.resolve().parents
                if (folder / "p4include").is_dir()
            ),
            None,
        )
        command = [
            *(str(self.binary), "--target", "bmv2", "--arch", "v1model", "--test-backend", "PTF"),
            *(("-I", str(include)) if include else ()),
            *("--disable-info-logging", "--max-tests", str(self.tests), "--seed", str(self.seed)),
            *("--packet-size-range", _BITS, "--port-ranges", _PORTS, "--test-name", "generated"),
            *("--out-dir", str(directory), str(program)),
        ]
        directory.mkdir(exist_ok=True)
        _run(*command)
        if not list(directory.glob("*.py")):
            raise SuiteError("p4testgen made no test")
        return directory


def generated(roots: Sequence[Path], p4c: Path) -> list[Suite]:
    """Return a suite for every v1model program below the directories, in order of their names.

    Programs of equal text are taken once.
    """
    suites: list[Suite] = []
    seen: set[bytes] = set()
    modules = (p4c / "tools" / "ptf", p4c / "tools")
    for root in roots:
        for program in sorted(root.rglob("*.p4")):
            text = program.read_bytes()
            digest = hashlib.sha256(text).digest()
            if digest in seen or not _V1MODEL.search(text.decode(errors="replace")):
                continue
            seen.add(digest)
            suites.append(Suite(f"{root.name}/{program.relative_to(root).with_suffix('')}", program, modules))
    return suites


def hand_written(roots: Sequence[Path]) -> Iterator[Suite]:
    """Yield a suite for every script `runptf.sh` that starts simple_switch_grpc."""
    for root in roots:
        for script in sorted(root.rglob("runptf.sh")):
            text = script.read_text()
            programs = re.findall(r"^\s+(\S+\.p4)\s*$", text, re.MULTILINE)
            tests = re.search(r"^\s+--test-dir (\S+)", text, re.MULTILINE)
            if "simple_switch_grpc" not in text or not programs or tests is None:
                continue
            folder = script.parent
            name = f"{root.name}/{folder.relative_to(root)}"
            modules = (root / "testlib", root / "utils")
            yield Suite(name, folder / programs[-1], modules, folder / tests[1])


def _run(*command: str) -> None:
    try:
        done = subprocess.run(
            (*ENDS_WITH_US, *command), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as ex:
        raise SuiteError(f"{Path(command[0]).name} took more than {_SECONDS:.0f} s") from ex
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if re.search("error|BUG|Assertion", line)]
        raise SuiteError(
            f"{Path(command[0]).name}: {(lines or done.stderr.splitlines() or ['no message'])[0]}"
        )
