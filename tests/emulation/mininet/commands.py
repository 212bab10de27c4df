# SPDX-License-Identifier: Apache-2.0
"""`railyard` as a process, and checks of what it and its descendants leave on the machine."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self, final

import pytest

from emulation.linux import netns, processes, record

__all__ = ["KINDS", "ROOT", "Command", "Machine", "railyard"]

KINDS = [
    "builtin",
    pytest.param("bmv2", marks=pytest.mark.bmv2),
]
"""Kinds of switches, as parameters of tests."""

ROOT = Path(__file__).resolve().parents[3]
_SECONDS = 120.0
_LIFETIME = 900.0
_TAG = "RAILYARD_TEST"
"""Variable in the environment of every command and its descendants: the folder that it was run in."""
_IDS, _TEMPORARY = "ids", "temporary"
"""Names in that folder: a list of the runs that were begun, and a folder that stands for /tmp."""

# The command; it writes down the id of each of its runs before anything with that id in its name exists.
_MAIN = f"""
import os
from pathlib import Path
from emulation.linux.record import run as recording
choose = recording._free_id

def told(root):
    run = choose(root)
    with Path(os.environ["{_TAG}"], "{_IDS}").open("a") as file:
        file.write(run + "\\n")
    return run

recording._free_id = told
from railyard.cli import main
main()
"""


@final
class Machine:
    """Things on the machine that commands run in a folder may leave.

    Other programs and tests work on the same machine. A thing with the id of a run in its name counts as left
    by that run; any other thing counts if it is new, does not go by itself, and no living process maps it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = _nameless()

    def left(self, runs: Iterable[str] = ()) -> list[str]:
        """Return what is left of these commands, of their runs and of `runs`, once it has had time to go."""
        ids = self._folder / _IDS
        known = {*runs, *(ids.read_text().split() if ids.exists() else ())}
        deadline = time.monotonic() + _SECONDS
        while True:
            left = sorted(_nameless() - self._before)
            left += [f"namespace {path.name}" for run in known for path in netns.DIRECTORY.glob(f"*{run}*")]
            left += [f"folder {path}" for run in known for path in record.RUNS.glob(f"*{run}*")]
            left += [f"file {path}" for path in (self._folder / _TEMPORARY).glob("*")]
            left += self._processes()
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.1)

    def _processes(self) -> Iterator[str]:
        wanted = f"{_TAG}={self._folder}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and processes.started(int(entry.name)) is not None:
                with suppress(OSError):
                    if wanted in (entry / "environ").read_bytes().split(b"\0"):
                        yield f"process {entry.name} ({processes.name_of(int(entry.name))})"


def _nameless() -> set[str]:
    """Return interfaces outside namespaces named as a fabric's, and files as switches and Mininet make."""
    things = {
        f"interface {name}" for _, name in socket.if_nameindex() if name.startswith(("npu", "eth0@", "sw-"))
    }
    for pattern in ("bmv2*", "railyard*", "mn*", "vconn*"):
        things |= {f"file {path}" for path in Path("/tmp").glob(pattern)}
    return things | {f"file {path}" for path in _unmapped(Path("/dev/shm").iterdir())}


def _unmapped(files: Iterable[Path]) -> set[Path]:
    """Return the files that no living process maps: another program's semaphores are none of ours."""
    left = set(files)
    for entry in Path("/proc").iterdir() if left else ():
        if entry.name.isdecimal():
            with suppress(OSError):
                maps = (entry / "maps").read_text()
                left = {path for path in left if str(path) not in maps}
    return left


@final
class Command:
    """`railyard` as a process that leads a session of its own, as a job of a shell does."""

    def __init__(
        self,
        arguments: Sequence[str | Path],
        folder: Path,
        *,
        before: Sequence[str] = (),
        main: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start the command: `before` precedes it, and the Python text `main` runs before its own."""
        temporary = folder / _TEMPORARY
        temporary.mkdir(exist_ok=True)
        temporary.chmod(0o777)
        self.process = subprocess.Popen(
            [*before, sys.executable, "-c", f"{main}\n{_MAIN}", *map(str, arguments)],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "PYTHONUNBUFFERED": "1",
                "TMPDIR": str(temporary),
                _TAG: str(folder),
                **(environment or {}),
            },
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._said: list[str] = []
        self._watchdog = threading.Timer(_LIFETIME, self.process.kill)
        self._watchdog.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def until(self, word: str) -> None:
        """Read the command's messages until a line contains `word`."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._said.append(line)
            if word in line:
                return
        raise AssertionError(f"the command ended without a word of {word!r}: {''.join(self._said)}")

    def end(self) -> tuple[int, str, str]:
        """Wait for the end; return exit code, output and messages."""
        out, err = self.process.communicate()
        return self.process.returncode, out, "".join(self._said) + err

    def members(self, *words: str) -> list[int]:
        """Return the processes of the command's run whose command line contains all of these words."""
        members = []
        for pid in processes.carrying(self._token()):
            with suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
                if pid != self.process.pid and all(word in line for word in words):
                    members.append(pid)
        return members

    def _token(self) -> str:
        for path in record.RUNS.glob("*/record"):
            with suppress(OSError, ValueError):
                first = json.loads(path.read_text().splitlines()[0])
                if first["pid"] == self.process.pid:
                    return first["token"]
        raise AssertionError("the command has no run going on")


def railyard(
    folder: Path,
    *arguments: str | Path,
    before: Sequence[str] = (),
    main: str = "",
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str, str]:
    """Run the command to its end; return exit code, output and messages."""
    with Command(arguments, folder, before=before, main=main, environment=environment) as command:
        return command.end()
