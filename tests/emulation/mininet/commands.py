# SPDX-License-Identifier: Apache-2.0
"""`railyard` as a process, and what it and all that it starts leave on the machine."""

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

from emulation.mininet.linux import netns, processes, record

__all__ = ["KINDS", "ROOT", "Command", "Machine", "railyard"]

KINDS = [
    "builtin",
    pytest.param("bmv2", marks=pytest.mark.bmv2),
]
"""Kinds of switches, for tests that are the same with either."""

ROOT = Path(__file__).resolve().parents[3]
_SECONDS = 20.0
_LIFETIME = 900.0
_TAG = "RAILYARD_TEST"
"""In the environment of every command and of all that descends from it: the folder it was run in."""
_IDS, _TEMPORARY = "ids", "temporary"
"""In that folder: the runs that were begun, and what stands for /tmp."""

# The command, which writes down the id of each of its runs before anything is made that has it in its name.
_MAIN = f"""
import os
from pathlib import Path
from emulation.mininet import record
choose = record._free_id

def told(root):
    run = choose(root)
    with Path(os.environ["{_TAG}"], "{_IDS}").open("a") as file:
        file.write(run + "\\n")
    return run

record._free_id = told
from railyard.cli import main
main()
"""


@final
class Machine:
    """What may be left of the commands that were run in a folder.

    Others are at work here, too: things count by the id of a run where they have one, and else when they were
    not there before and do not go by themselves.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = _nameless()

    def left(self, runs: Iterable[str] = ()) -> list[str]:
        """What there is of these commands, of their runs, and of `runs`; after a while in which it may go."""
        ids = self._folder / _IDS
        known = {*runs, *(ids.read_text().split() if ids.exists() else ())}
        deadline = time.monotonic() + _SECONDS
        while True:
            found = sorted(_nameless() - self._before)
            found += [f"namespace {path.name}" for run in known for path in netns.DIRECTORY.glob(f"*{run}*")]
            found += [f"folder {path}" for run in known for path in record.RUNS.glob(f"*{run}*")]
            found += [f"file {path}" for path in (self._folder / _TEMPORARY).glob("*")]
            found += self._processes()
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.1)

    def _processes(self) -> Iterator[str]:
        wanted = f"{_TAG}={self._folder}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and processes.started(int(entry.name)) is not None:
                with suppress(OSError):
                    if wanted in (entry / "environ").read_bytes().split(b"\0"):
                        yield f"process {entry.name} ({processes.name_of(int(entry.name))})"


def _nameless() -> set[str]:
    """Interfaces of no namespace named as a fabric's, and files such as switches and Mininet make."""
    found = {
        f"interface {name}" for _, name in socket.if_nameindex() if name.startswith(("npu", "eth0@", "sw-"))
    }
    for pattern in ("bmv2*", "railyard*", "mn*", "vconn*"):
        found |= {f"file {path}" for path in Path("/tmp").glob(pattern)}
    return found | {f"file {path}" for path in Path("/dev/shm").iterdir()}


@final
class Command:
    """Runs as the leader of a session of its own, as a shell's command does of its job."""

    def __init__(
        self,
        arguments: Sequence[str | Path],
        folder: Path,
        *,
        before: Sequence[str] = (),
        main: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`before` comes before the command, and `main` is Python that runs before its own."""
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
        """Read what it says of its progress until a line has `word`."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._said.append(line)
            if word in line:
                return
        raise AssertionError(f"it ended without a word of {word!r}: {''.join(self._said)}")

    def end(self) -> tuple[int, str, str]:
        """Wait for the end: exit code, output, messages."""
        out, err = self.process.communicate()
        return self.process.returncode, out, "".join(self._said) + err

    def members(self, *words: str) -> list[int]:
        """Processes that it has started, in whose command line all of these occur."""
        found = []
        for pid in processes.carrying(self._token()):
            with suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
                if pid != self.process.pid and all(word in line for word in words):
                    found.append(pid)
        return found

    def _token(self) -> str:
        for path in record.RUNS.glob("*/record"):
            with suppress(OSError, ValueError):
                first = json.loads(path.read_text().splitlines()[0])
                if first["pid"] == self.process.pid:
                    return first["token"]
        raise AssertionError("it has no run going on")


def railyard(
    folder: Path,
    *arguments: str | Path,
    before: Sequence[str] = (),
    main: str = "",
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str, str]:
    """Run the command to its end: exit code, output, messages."""
    with Command(arguments, folder, before=before, main=main, environment=environment) as command:
        return command.end()
