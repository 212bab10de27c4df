# SPDX-License-Identifier: Apache-2.0
"""Records of runs on disk: the folders, owners and contents of the records."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from emulation.linux import processes

__all__ = [
    "FILE",
    "RUNS",
    "UNFINISHED",
    "Noted",
    "abandoned",
    "boot",
    "folders",
    "locked",
    "myself",
    "prefix",
    "read",
    "remove_if_empty",
]

RUNS = Path("/run/railyard")
"""Directory with a folder for each run."""

FILE = "record"
"""Name of the record in its folder."""

UNFINISHED = ".new-"
"""Prefix of the name of a folder that is being made or removed; the run's id and `myself()` follow."""


@final
@dataclass(frozen=True, slots=True)
class Noted:
    """A run's record as read from disk.

    `pid`, `started`, `memory` and `boot` identify the owner: see `processes.started` and `processes.memory`.
    `cleaners` are commands by machine, for machines that may still have a part of the run.
    """

    run: str
    token: str
    pid: int
    started: int
    memory: int
    boot: str
    namespaces: tuple[str, ...]
    files: tuple[Path, ...]
    cleaners: Mapping[str, tuple[str, ...]]

    @property
    def living(self) -> bool:
        return self.boot == boot() and processes.alive(self.pid, self.started)


def folders(root: Path) -> list[Path]:
    """Return the folders of all runs, also folders that are being made or removed."""
    with suppress(FileNotFoundError):
        return sorted(entry for entry in root.iterdir() if entry.is_dir())
    return []


def read(folder: Path) -> Noted | None:
    """Return the record in a folder; None without a complete record."""
    if folder.name.startswith(UNFINISHED):
        return None
    lines: list[dict[str, Any]] = []
    with suppress(OSError):
        for line in (folder / FILE).read_text().splitlines():
            with suppress(ValueError):  # the last line, half written: its thing was not made
                lines.append(json.loads(line))
    if not lines or lines[0].get("what") != "run":
        return None
    first = lines[0]
    cleaners = {line["machine"]: tuple(line["command"]) for line in lines if line["what"] == "cleaner"}
    for line in lines:
        if line["what"] == "cleaned":
            cleaners.pop(line["machine"], None)
    return Noted(
        first["id"],
        first["token"],
        first["pid"],
        first["started"],
        first.get("memory", 0),
        first["boot"],
        tuple(line["name"] for line in lines if line["what"] == "namespace"),
        tuple(Path(line["path"]) for line in lines if line["what"] == "file"),
        cleaners,
    )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run's record: one cleaner works at a time. Without a record there is no lock."""
    try:
        handle = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def abandoned(folder: Path) -> bool:
    """Return whether a folder was left half-made or half-removed by an ended process."""
    match folder.name.removeprefix(UNFINISHED).split("-"):
        case [_, pid, start] if folder.name.startswith(UNFINISHED) and pid.isdecimal() and start.isdecimal():
            return not processes.alive(int(pid), int(start))
    return False


def remove_if_empty(root: Path) -> None:
    """Remove the directory of all runs if it has no folder."""
    with suppress(OSError):
        root.rmdir()


def prefix(run: str) -> str:
    """Return the beginning of the names of a run's namespaces."""
    return f"railyard-{run}-"


def myself() -> str:
    """Return "PID-START", unique to this process; START as `processes.started`."""
    return f"{os.getpid()}-{processes.started(os.getpid())}"


def boot() -> str:
    """Return the id of the machine's last boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
