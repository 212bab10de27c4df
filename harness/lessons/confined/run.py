# SPDX-License-Identifier: Apache-2.0
"""Call a student's code in a confined process; every kind of failure is reported in a sentence."""

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
from harness.lessons.confined.connections import connections
from harness.lessons.confined.readable import readable_by_command, readable_by_python

__all__ = ["PRINTED", "Limits", "StudentError", "call_each", "run_command", "run_shell"]

# File of the scratch folder with what a student's code has printed in all calls of a check.
PRINTED = "printed.txt"
_PRINTED_BYTES = 1 << 16

_CHILD = Path(__file__).with_name("child.py")
_LIMITED = (sys.executable, "-I", str(Path(__file__).with_name("limited.py")))

# Wall-clock seconds allowed for each second of processor time: the machine may be busy with other checks.
_WALL_SECONDS = 4
_ANSWER_BYTES = 1 << 24
_PRINTED_CHARACTERS = 200

# All environment variables of a student's code. The first three keep memory small: otherwise libraries of
# linear algebra start a thread for each processor, and the C library reserves an arena for each thread.
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
    """A student's code gave no answer.

    Attributes:
        observed: The failure in words.
        look: File or function where the student should look.
        limit: True if the code exceeded a limit.
    """

    def __init__(self, observed: str, look: str, *, limit: bool = False) -> None:
        # The text may quote a student's code and be shown on a terminal: replace control characters.
        self.observed = "".join(letter if letter.isprintable() else "?" for letter in observed)
        super().__init__(self.observed)
        self.look = look
        self.limit = limit


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a confined process.

    Attributes:
        seconds: Processor time in seconds.
        memory_mb: Address space in MiB.
        server: Address, "unix:PATH", of the only server that the process may connect to; it may then have
            threads. Empty for no sockets.
        wall_seconds: Wall-clock time in seconds; 0 for four times the processor time.
    """

    seconds: int
    memory_mb: int
    server: str = ""
    wall_seconds: int = 0

    @property
    def wall(self) -> int:
        """Limit on the wall-clock time, in seconds."""
        return self.wall_seconds or self.seconds * _WALL_SECONDS


def call_each(
    file: Path, function: str, calls: Sequence[Sequence[Any]], limits: Limits, scratch: Path
) -> list[Any]:
    """Call a function of a file several times in a single confined process; return the values in order.

    The output of the code is added to PRINTED in the scratch folder, up to 64 KiB.

    Args:
        file: The student's file.
        function: Name of the function.
        calls: Arguments of each call.
        limits: Limits for all calls together.
        scratch: Folder for temporary files.

    Raises:
        StudentError: The code raises an exception, exceeds a limit, ends without an answer, or returns a
            value that JSON cannot hold.
    """
    with TemporaryDirectory(dir=scratch) as name:
        folder = Path(name)
        paths = [folder / part for part in ("request.json", "answer.json", "out.txt", "err.txt")]
        # The limit on file size applies to the answer, and to the output of the code.
        with (
            paths[1].open("wb") as answer,
            paths[2].open("wb") as out,
            paths[3].open("wb") as err,
            _connections(limits.server) as descriptor,
        ):
            request = {
                "file": str(file),
                "folder": str(file.parent),
                "function": function,
                "calls": calls,
                "seconds": limits.seconds,
                "memory_mb": limits.memory_mb,
                "connections": descriptor,
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
                    pass_fds=(answer.fileno(), *([] if descriptor is None else [descriptor])),
                    start_new_session=True,
                )
                in_time = _wait(process, limits.wall)
        _keep_printed(paths[2], f"{file.name}, {function}", scratch / PRINTED)
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
    """Type lines at the prompt of p4runtime-shell in a confined process; return the finished process.

    Args:
        lines: Lines to type.
        address: Address of the P4Runtime server, "unix:PATH".
        device_id: Device id of the switch.
        limits: Limits of the process.
        folder: Working folder.
        scratch: Folder for temporary files.

    Raises:
        StudentError: The lines exceed a limit.
    """
    launcher = Path(__file__).with_name("shell.py")
    python = str(P4RUNTIME_SHELL / "bin" / "python")
    own = (folder, P4RUNTIME_SHELL, launcher.parent)
    with connections(address) as descriptor:
        command = (python, "-I", str(launcher), address, str(device_id), str(descriptor))
        return run_command(
            command, limits, folder, scratch, typed=f"{lines}\nexit\n", readable=own, inherited=(descriptor,)
        )


def run_command(
    command: Sequence[str],
    limits: Limits,
    folder: Path,
    scratch: Path,
    *,
    typed: str = "",
    readable: Sequence[Path] = (),
    inherited: Sequence[int] = (),
) -> subprocess.CompletedProcess[str]:
    """Run a program with limits; return the finished process with its output.

    The program may read files of the system, and the folders `folder`, `scratch` and `readable`. A student's
    source can therefore include no file of another folder.

    Args:
        command: Program and arguments.
        limits: Limits on processor time, wall-clock time and memory.
        folder: Working folder.
        scratch: Folder for temporary files.
        typed: Standard input of the program.
        readable: Further files and folders that the program may read.
        inherited: Descriptors that the program inherits.

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
                pass_fds=inherited,
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


def _connections(server: str) -> contextlib.AbstractContextManager[int | None]:
    return connections(server) if server else contextlib.nullcontext()


def _wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait up to `seconds` for a process, then kill its whole session; return whether the process ended."""
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        # On a kernel without walls, the code may have left other processes in the session.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _keep_printed(printed: Path, by: str, kept: Path) -> None:
    """Add a process's output to the file `kept`, under the heading `by`, until the file has 64 KiB."""
    room = _PRINTED_BYTES - (kept.stat().st_size if kept.exists() else 0)
    with printed.open("rb") as file:
        text = file.read(max(0, room)).decode(errors="replace")
    if text:
        shown = "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text)
        with kept.open("a", encoding="utf-8") as file:
            file.write(f"--- {by}\n{shown.rstrip()}\n")


def _answer(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes(), parse_constant=_no_constant)
    except (ValueError, RecursionError, MemoryError) as ex:
        return (
            {"error": f": the answer is not a value that JSON can hold: {ex}"} if path.stat().st_size else {}
        )
    return content if isinstance(content, dict) else {}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _end(code: int, limits: Limits, printed: Path) -> str:
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"did not end within {limits.seconds} s of processor time"
    text = printed.read_text(errors="replace").strip().splitlines()
    last = f": {text[-1][:_PRINTED_CHARACTERS]}" if text else ""
    how = f"was ended by signal {-code}" if code < 0 else f"ended its process with exit code {code}"
    return f"{how} and returned nothing{last}"


def _give_up(file: str, function: str, what: str, *, limit: bool) -> NoReturn:
    raise StudentError(f"{file}: {function} {what}", f"{file}, function {function}", limit=limit)
