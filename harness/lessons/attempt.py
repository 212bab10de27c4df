# SPDX-License-Identifier: Apache-2.0
"""Input of a stage's check, an `Attempt`, and the `Verdict` that the check returns.

A check measures frames, counters and tables. It never trusts what a student's code prints, and it runs a
student's Python by `Attempt.call` only: in another process, with limits, JSON in and out.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
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
    """Outcome of a stage: what was expected, what came, and where to look; none of them the solution.

    `checked` is False if this machine lacks a program without which the stage cannot be checked.
    """

    passed: bool
    expected: str
    observed: str
    look: str = ""
    checked: bool = True


def passed(expected: str, observed: str) -> Verdict:
    """Return the verdict of a stage that holds."""
    return Verdict(True, expected, observed)


def failed(expected: str, observed: str, look: str) -> Verdict:
    """Return the verdict of a stage that does not hold; `look` names a file, a line or a command."""
    return Verdict(False, expected, observed, look)


def unchecked(expected: str, lacking: str) -> Verdict:
    """Return the verdict of a stage that this machine cannot check; `lacking` is `why; remedy`."""
    program, _, how = lacking.partition("; ")
    return Verdict(False, expected, f"not checked: {program}", how, checked=False)


@final
@dataclass(slots=True)
class Attempt:
    """A student's files beside the lab's own, a drawn seed, and a scratch folder; made for one check.

    `folder` is a copy: the lab's own files in it are originals, whatever the student did to theirs.
    """

    lab: Lab
    folder: Path
    seed: int
    scratch: Path
    _shared: dict[str, Any] = field(default_factory=dict)
    _refused: dict[str, StudentError] = field(default_factory=dict)

    def random(self, purpose: str) -> Random:
        """Return a generator of random numbers that depends on the seed and the purpose."""
        return Random(f"{self.seed} {purpose}")

    def path(self, name: str) -> Path:
        """Return the path of a file of the copy; StudentError if the student's folder lacks it."""
        path = self.folder / name
        if not path.is_file():
            raise StudentError(
                f"{name} is missing", f"write it again, or get it back with `railyard lab restore`: {name}"
            )
        return path

    def shared(self, name: str, compute: Callable[[], T]) -> T:
        """Return a value that several stages use, computed once.

        Stages that judge one answer of a student's code share it: code that answers differently when asked
        again gains nothing.
        """
        if name not in self._shared:
            self._shared[name] = compute()
        return self._shared[name]

    def call(self, file: str, function: str, *arguments: Any, unix_sockets: bool = False) -> Any:
        """Return what a function of a student's file returns for arguments that JSON can hold.

        Raises:
            StudentError: The code is missing, raises, exceeds a limit or returns no JSON.
        """
        return self.call_each(file, function, [arguments], unix_sockets=unix_sockets)[0]

    def call_each(
        self, file: str, function: str, calls: Sequence[Sequence[Any]], *, unix_sockets: bool = False
    ) -> list[Any]:
        """Return the values of a function of a student's file for a list of calls, made in one process.

        The limits of lab.yaml hold for all calls together. Code that exceeded a limit is not called again in
        this check. With `unix_sockets` the code may have threads and sockets of a path, as gRPC needs.
        """
        if file in self._refused:
            raise self._refused[file]
        path = self.path(file)
        limits = Limits(self.lab.seconds, self.lab.memory_mb, unix_sockets)
        try:
            return call_each(path, function, calls, limits, self.scratch)
        except StudentError as ex:
            if ex.limit:
                self._refused[file] = ex
            raise

    def run(self, command: Sequence[str], *, seconds: int = 60) -> subprocess.CompletedProcess[str]:
        """Run a program such as a compiler on the student's files, with limits, in the copy's folder.

        Raises:
            StudentError: The program exceeds a limit.
        """
        return run_command(command, Limits(seconds, 4096), self.folder, self.scratch)

    def type_into_shell(self, name: str, address: str, device_id: int) -> str:
        """Type the lines of a student's file at the prompt of p4runtime-shell, and return what it prints.

        Args:
            name: The student's file.
            address: Address of the P4Runtime server, "unix:PATH": other sockets are refused.
            device_id: Device id of the switch.

        Raises:
            StudentError: The file is missing or no text, or its lines exceed a limit.
        """
        try:
            lines = self.path(name).read_text()
        except UnicodeDecodeError:
            raise StudentError(f"{name} is no text", name) from None
        limits = Limits(self.lab.seconds, 4096)
        return run_shell(lines, address, device_id, limits, self.folder, self.scratch).stdout
