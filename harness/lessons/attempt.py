# SPDX-License-Identifier: Apache-2.0
"""`Attempt`, the input of a stage's check, and `Verdict`, the result of the check.

A check measures frames, counters and tables, and never trusts the output of a student's code. It runs a
student's Python code only by `Attempt.call`: in another process with limits, with JSON as input and output.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, TypeVar, final

from harness.lessons.catalogue import Lab
from harness.lessons.confined.run import (
    Limits,
    StudentError,
    call_each,
    run_command,
    run_shell,
)

__all__ = ["Attempt", "StudentError", "Verdict", "failed", "passed", "unchecked"]

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of a stage's check. Its texts never reveal the solution.

    Attributes:
        passed: Whether the stage passes.
        expected: Expected behaviour.
        observed: Observed behaviour.
        look: A file, a line or a command where the student should look.
        checked: False if this machine lacks a program that the check needs.
    """

    passed: bool
    expected: str
    observed: str
    look: str = ""
    checked: bool = True


def passed(expected: str, observed: str) -> Verdict:
    """Return the verdict of a passed stage."""
    return Verdict(True, expected, observed)


def failed(expected: str, observed: str, look: str) -> Verdict:
    """Return the verdict of a failed stage; `look` names a file, a line or a command to look at."""
    return Verdict(False, expected, observed, look)


def unchecked(expected: str, lacking: str) -> Verdict:
    """Return the verdict of a stage not checked on this machine; `lacking` is a text `reason; remedy`."""
    program, _, how = lacking.partition("; ")
    return Verdict(False, expected, f"not checked: {program}", how, checked=False)


@final
@dataclass(slots=True)
class Attempt:
    """Input of the checks of a lab's stages; created anew for each check of a folder.

    Attributes:
        lab: The lab.
        folder: Copy with the student's files and the original lab files, even if the student changed these.
        seed: Random seed of the check.
        scratch: Folder for temporary files.
        refused: For each file of the student that was not copied, what it is, such as a symbolic link.
    """

    lab: Lab
    folder: Path
    seed: int
    scratch: Path
    refused: Mapping[str, str] = field(default_factory=dict)
    _shared: dict[str, Any] = field(default_factory=dict)
    _refused: dict[str, StudentError] = field(default_factory=dict)

    def random(self, purpose: str) -> Random:
        """Return a random number generator, seeded by the attempt's seed and the purpose."""
        return Random(f"{self.seed} {purpose}")

    def path(self, name: str) -> Path:
        """Return the path of a file of the copy; StudentError if the student's folder lacks the file."""
        path = self.folder / name
        if name in self.refused:
            what = f"{name} is {self.refused[name]} and was not read"
            raise StudentError(f"{what}: only regular files of up to 1 MiB are read", name)
        if not path.is_file():
            raise StudentError(
                f"{name} is missing",
                f"write it again; `railyard lab start {self.lab.number} NEW` copies the first version to NEW",
            )
        return path

    def shared(self, name: str, compute: Callable[[], T]) -> T:
        """Return a value used by several stages; the first call computes it, later calls return it again.

        Stages that judge the same answer of a student's code share it, so that code gains nothing by another
        answer to a second call.
        """
        if name not in self._shared:
            self._shared[name] = compute()
        return self._shared[name]

    def call(self, file: str, function: str, *arguments: Any, server: str = "") -> Any:
        """Call a function of a student's file in a confined process, and return its value.

        Args:
            file: Name of the student's file.
            function: Name of the function.
            arguments: Arguments of the function; JSON must be able to hold them.
            server: Address, "unix:PATH", of the only server that the code may connect to.

        Raises:
            StudentError: The file or function is missing, or the code raises an exception, exceeds a limit or
                returns a value that JSON cannot hold.
        """
        return self.call_each(file, function, [arguments], server=server)[0]

    def call_each(
        self, file: str, function: str, calls: Sequence[Sequence[Any]], *, server: str = ""
    ) -> list[Any]:
        """Call a function of a student's file several times in a single confined process; return its values.

        The limits of lab.yaml hold for all calls together. Code that exceeded a limit is not called again in
        this check. Arguments and errors are those of `call`; `calls` has the arguments of each call.
        """
        if file in self._refused:
            raise self._refused[file]
        path = self.path(file)
        limits = Limits(self.lab.seconds, self.lab.memory_mb, server)
        try:
            return call_each(path, function, calls, limits, self.scratch)
        except StudentError as ex:
            if ex.limit:
                self._refused[file] = ex
            raise

    def run(self, command: Sequence[str], *, seconds: int = 60) -> subprocess.CompletedProcess[str]:
        """Run a program such as a compiler with limits, in the folder of the copy; return its outcome.

        Raises:
            StudentError: The program exceeds a limit.
        """
        return run_command(command, Limits(seconds, 4096), self.folder, self.scratch)

    def type_into_shell(self, name: str, address: str, device_id: int) -> str:
        """Type the lines of a student's file at the prompt of p4runtime-shell, and return the shell's output.

        Args:
            name: Name of the student's file.
            address: Address of the P4Runtime server, "unix:PATH"; other sockets are refused.
            device_id: Device id of the switch.

        Raises:
            StudentError: The file is missing or no text, or its lines exceed a limit.
        """
        try:
            lines = self.path(name).read_text()
        except UnicodeDecodeError:
            raise StudentError(f"{name} is no UTF-8 text", name) from None
        limits = Limits(self.lab.seconds, 4096)
        return run_shell(lines, address, device_id, limits, self.folder, self.scratch).stdout
