# SPDX-License-Identifier: Apache-2.0
"""Calls of a student's code in a confined process, and a sentence for every way in which it can go wrong."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, final

from harness.files import P4RUNTIME_SHELL
from harness.lessons.confined.readable import readable_by_command, readable_by_python

__all__ = ["Limits", "StudentError", "call_each", "run_command", "run_shell"]

_CHILD = Path(__file__).with_name("child.py")
_LIMITED = (sys.executable, "-I", str(Path(__file__).with_name("limited.py")))

# Wall-clock seconds for each second of processor time: the machine may be busy with other folders.
_WALL_SECONDS = 4
_ANSWER_BYTES = 1 << 24
_PRINTED_CHARACTERS = 200

# All that a student's code finds in its environment.
# Libraries of linear algebra start a thread a processor otherwise, and the C library an arena a thread.
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "LANG": "C.UTF-8",
}


@final
class StudentError(Exception):
    """A student's code that gave no answer: `observed` says what happened, `look` where to look.

    `limit` is True if the code exceeded a limit.
    """

    def __init__(self, observed: str, look: str, *, limit: bool = False) -> None:
        # A student's text may end up on a terminal.
        self.observed = "".join(letter if letter.isprintable() else "?" for letter in observed)
        super().__init__(self.observed)
        self.look = look
        self.limit = limit


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """Processor seconds, address space in MiB, and whether threads and Unix sockets are allowed.

    `wall_seconds` limits the time by the clock; 0 for a multiple of the processor time.
    """

    seconds: int
    memory_mb: int
    unix_sockets: bool = False
    wall_seconds: int = 0

    @property
    def wall(self) -> int:
        """Limit of the time by the clock, in seconds."""
        return self.wall_seconds or self.seconds * _WALL_SECONDS


def call_each(
    file: Path, function: str, calls: Sequence[Sequence[Any]], limits: Limits, scratch: Path
) -> list[Any]:
    """Return the values of a function for a list of calls, made in one confined process.

    Raises:
        StudentError: The code raises, exceeds a limit, ends without an answer or returns no JSON.
    """
    with TemporaryDirectory(dir=scratch) as name:
        folder = Path(name)
        paths = [folder / part for part in ("request.json", "answer.json", "out.txt", "err.txt")]
        # The limit on the size of files holds for the answer and for all that the code prints.
        with paths[1].open("wb") as answer, paths[2].open("wb") as out, paths[3].open("wb") as err:
            request = {
                "file": str(file),
                "folder": str(file.parent),
                "function": function,
                "calls": calls,
                "seconds": limits.seconds,
                "memory_mb": limits.memory_mb,
                "unix_sockets": limits.unix_sockets,
                "readable": readable_by_python(file.parent),
                "answer": answer.fileno(),
                "answer_bytes": _ANSWER_BYTES,
            }
            paths[0].write_text(json.dumps(request))
            with paths[0].open("rb") as given:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-B", str(_CHILD)],
                    stdin=given,
                    stdout=out,
                    stderr=err,
                    cwd=folder,
                    env=_ENVIRONMENT,
                    pass_fds=(answer.fileno(),),
                    start_new_session=True,
                )
                in_time = _wait(process, limits.wall)
        if not in_time:
            _give_up(file.name, function, f"did not end within {limits.wall} s", limit=True)
        if paths[1].stat().st_size >= _ANSWER_BYTES:
            _give_up(file.name, function, f"returned more than {_ANSWER_BYTES >> 20} MiB", limit=True)
        content = _answer(paths[1])
        if "values" in content:
            return list(content["values"])
        if content.get("memory"):
            _give_up(file.name, function, f"asked for more than {limits.memory_mb} MiB of memory", limit=True)
        if "error" in content:
            raise StudentError(f"{file.name}{content['error']}", f"{file.name}, function {function}")
        _give_up(file.name, function, _end(process.returncode, limits, paths[3]), limit=True)


def run_shell(
    lines: str, address: str, device_id: int, limits: Limits, folder: Path, scratch: Path
) -> subprocess.CompletedProcess[str]:
    """Type lines at the prompt of p4runtime-shell, confined like a student's Python, and return what it says.

    Raises:
        StudentError: The lines exceed a limit.
    """
    launcher = Path(__file__).with_name("shell.py")
    command = (str(P4RUNTIME_SHELL / "bin" / "python"), "-I", str(launcher), address, str(device_id))
    own = (folder, P4RUNTIME_SHELL, launcher.parent)
    return run_command(command, limits, folder, scratch, typed=f"{lines}\nexit\n", readable=own)


def run_command(
    command: Sequence[str],
    limits: Limits,
    folder: Path,
    scratch: Path,
    *,
    typed: str = "",
    readable: Sequence[Path] = (),
) -> subprocess.CompletedProcess[str]:
    """Run a program with limits on processor time, wall-clock time, memory and the size of files.

    The program may read the system's files, those of `folder` and `scratch`, and `readable`: a student's
    source cannot include a file from elsewhere. It reads `typed` from its standard input.

    Raises:
        StudentError: The program exceeds a limit.
    """
    may_read = json.dumps(readable_by_command(command[0], (folder, scratch, *readable)))
    limited = (str(limits.seconds), str(limits.memory_mb), str(4 * _ANSWER_BYTES), may_read)
    with TemporaryDirectory(dir=scratch) as name:
        out, err, given = (Path(name, part) for part in ("out.txt", "err.txt", "in.txt"))
        given.write_text(typed)
        with out.open("wb") as to_out, err.open("wb") as to_err, given.open("rb") as from_in:
            process = subprocess.Popen(
                [*_LIMITED, *limited, *command],
                stdin=from_in,
                stdout=to_out,
                stderr=to_err,
                cwd=folder,
                env={"PATH": os.environ.get("PATH", os.defpath), "TMPDIR": name, "LANG": "C.UTF-8"},
                start_new_session=True,
            )
            in_time = _wait(process, limits.wall)
        if not in_time or process.returncode < 0:
            raise StudentError(
                f"{Path(command[0]).name} did not end within {limits.seconds} s of processor time",
                "the source files that it reads",
                limit=True,
            )
        texts = (path.read_text(errors="replace")[:_ANSWER_BYTES] for path in (out, err))
        return subprocess.CompletedProcess(list(command), process.returncode, *texts)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end of a process, and end its session after so many seconds; return whether it ended."""
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        # Where no wall holds, the code may have left processes behind.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answer(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes(), parse_constant=_no_constant)
    except (ValueError, RecursionError, MemoryError) as ex:
        return (
            {"error": f": the answer is not a value that JSON can hold: {ex}"} if path.stat().st_size else {}
        )
    return content if isinstance(content, dict) else {}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _end(code: int, limits: Limits, printed: Path) -> str:
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"did not end within {limits.seconds} s of processor time"
    text = printed.read_text(errors="replace").strip().splitlines()
    last = f": {text[-1][:_PRINTED_CHARACTERS]}" if text else ""
    how = f"was ended by signal {-code}" if code < 0 else f"ended its process with exit code {code}"
    return f"{how} and returned nothing{last}"


def _give_up(file: str, function: str, what: str, *, limit: bool) -> NoReturn:
    raise StudentError(f"{file}: {function} {what}", f"{file}, function {function}", limit=limit)
