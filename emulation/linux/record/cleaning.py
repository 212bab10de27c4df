# SPDX-License-Identifier: Apache-2.0
"""Removal of everything that runs have left on this machine, and on other machines that they used."""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from emulation.errors import MachineError
from emulation.linux import netns, processes
from emulation.linux.netlink import RouteSocket
from emulation.linux.record.noted import (
    RUNS,
    UNFINISHED,
    Noted,
    abandoned,
    boot,
    folders,
    locked,
    myself,
    read,
    remove_if_empty,
)
from emulation.linux.requests import delete_group

__all__ = ["Cleaned", "clean", "clean_up", "living", "need_root"]

_MOMENT = 0.5
_CLEANER_SECONDS = 120.0


@final
@dataclass(frozen=True, slots=True)
class Cleaned:
    """Result of cleaning up a run, in words: things removed, and things left with the reason."""

    run: str
    removed: tuple[str, ...]
    left: tuple[str, ...]

    def lines(self, verb: str = "removed") -> list[str]:
        """Return a line for each thing removed, such as "ID: removed file F", and for each thing left."""
        return [f"{self.run}: {verb} {it}" for it in self.removed] + [
            f"{self.run}: left {it}" for it in self.left
        ]


def clean(
    all_runs: bool = False, *, dry_run: bool = False, local: bool = False, root: Path = RUNS
) -> list[Cleaned]:
    """Remove everything left by runs without a living owner, and return a result for each cleaned run.

    Args:
        all_runs: end living runs too.
        dry_run: only return what would be removed.
        local: skip runs that use other machines beside this one; by default they are cleaned too.
        root: directory of the runs' folders.

    Raises:
        MachineError: The process is not root.
    """
    need_root("cleaning up after runs")
    cleaned: list[Cleaned] = []
    for folder in folders(root):
        noted = read(folder)
        if noted is None:
            if abandoned(folder):
                if not dry_run:
                    shutil.rmtree(folder, ignore_errors=True)
                cleaned.append(Cleaned(folder.name.split("-")[1], (f"folder {folder}",), ()))
            continue
        if (noted.living and not all_runs) or (local and noted.cleaners):
            continue
        done = _foreseen(noted, folder) if dry_run else clean_up(folder, end_owner=True)
        if done:
            cleaned.append(done)
    if not dry_run:
        remove_if_empty(root)
    return cleaned


def living(root: Path = RUNS) -> list[tuple[str, int]]:
    """Return the id and the owner's pid of every run with a living owner."""
    records = [read(folder) for folder in folders(root)]
    return [(record.run, record.pid) for record in records if record and record.living]


def need_root(what: str) -> None:
    """Raise a MachineError unless the process is root."""
    if os.geteuid() != 0:
        raise MachineError(f"{what} needs root", remedy="run it with sudo")


def clean_up(folder: Path, *, end_owner: bool = False) -> Cleaned | None:
    """Clean up a run, with `end_owner` after ending its owner; None if another process has just done so."""
    noted = read(folder)
    if noted is None:
        return None
    removed: list[str] = []
    left: list[str] = []
    if end_owner and noted.living:
        _end_owner(noted, removed, left)
    if left:
        return Cleaned(noted.run, (), tuple(left))
    with locked(folder):
        noted = read(folder)  # again: the owner may have written lines meanwhile
        if noted is None:
            return Cleaned(folder.name, tuple(removed), ()) if removed else None
        _end_processes(noted, removed, left)
        _clean_machines(noted, removed, left)
        _remove_namespaces(noted, removed, left)
        _remove_files(noted, removed, left)
        _remove_folder(folder, removed, left)
    return Cleaned(noted.run, tuple(removed), tuple(left))


def _end_owner(noted: Noted, removed: list[str], left: list[str]) -> None:
    if noted.pid in processes.ancestors():
        left.append(
            f"its process {noted.pid} ({processes.name_of(noted.pid)}): this very command is part of it"
        )
        return
    ended, stayed = processes.end(
        lambda: [noted.pid] if noted.living else [], lambda pid: processes.alive(pid, noted.started)
    )
    _tell_processes(ended, stayed, removed, left)


def _end_processes(noted: Noted, removed: list[str], left: list[str]) -> None:
    ours = processes.ancestors()
    if noted.boot == boot():  # no wait for copies of an owner that lives: it waits for its own forks
        processes.settle(noted.pid, noted.started, 0 if noted.living else noted.memory)
    ended, stayed = processes.end(
        lambda: processes.carrying(noted.token) - ours, lambda pid: processes.carries(pid, noted.token)
    )
    _tell_processes(ended, stayed, removed, left)
    for pid in processes.carrying(noted.token) & ours - {os.getpid(), noted.pid}:
        left.append(f"process {pid} ({processes.name_of(pid)}): this very command is part of it")


def _tell_processes(
    ended: dict[int, str], stayed: dict[int, str], removed: list[str], left: list[str]
) -> None:
    removed += [f"process {pid} ({name})" for pid, name in sorted(ended.items())]
    left += [f"process {pid} ({name}): killed, but it does not end" for pid, name in sorted(stayed.items())]


def _clean_machines(noted: Noted, removed: list[str], left: list[str]) -> None:
    """Run the cleaning command of every other machine of the run, by ssh."""
    for machine, command in noted.cleaners.items():
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_CLEANER_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as ex:
            left.append(f"machine {machine}: {ex}")
            continue
        lines = [line for line in done.stdout.splitlines() if ": removed " in line or ": left " in line]
        if done.returncode == 0:
            removed += [f"on machine {machine}: {line}" for line in lines]
        else:
            why = " / ".join([*lines, *done.stderr.strip().splitlines()][-3:])
            left.append(f"machine {machine}: {why or f'code {done.returncode}'}")


def _remove_namespaces(noted: Noted, removed: list[str], left: list[str]) -> None:
    there = {name: netns.identity(name) for name in noted.namespaces if netns.exists(name)}
    held = _holders([identity for identity in there.values() if identity])
    # Interfaces first: this request returns once they are deleted; the end of a namespace deletes them later.
    for name, identity in there.items():
        if identity:
            _remove_interfaces(name)
    for name, identity in there.items():
        holders = held[identity] if identity else ()
        if holders:
            names = ", ".join(f"{pid} ({processes.name_of(pid)})" for pid in holders)
            left.append(f"namespace {name}: process {names} is in it and not of this run")
        else:
            netns.remove(name)
            removed.append(f"namespace {name}")


def _holders(namespaces: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], tuple[int, ...]]:
    """Return the pids in each namespace; wait up to half a second for ended threads to leave."""
    deadline = time.monotonic() + _MOMENT
    while True:
        held = processes.inside(namespaces)
        if not any(held.values()) or time.monotonic() > deadline:
            return held
        time.sleep(0.01)


def _remove_interfaces(namespace: str) -> None:
    route = RouteSocket(namespace)
    try:
        route.attempt([delete_group(namespace)])
    finally:
        route.close()


def _remove_files(noted: Noted, removed: list[str], left: list[str]) -> None:
    for path in noted.files:
        try:
            path.unlink()
            removed.append(f"file {path}")
        except FileNotFoundError:
            continue
        except OSError as ex:
            left.append(f"file {path}: {ex.strerror}")


def _remove_folder(folder: Path, removed: list[str], left: list[str]) -> None:
    if left:  # the record stays for the next cleaning
        return
    # If this process ends now, the new name marks the folder as abandoned.
    abandoned = folder.rename(folder.with_name(f"{UNFINISHED}{folder.name}-{myself()}"))
    shutil.rmtree(abandoned)
    removed.append(f"folder {folder}")
    remove_if_empty(folder.parent)


def _foreseen(noted: Noted, folder: Path) -> Cleaned:
    pids = set(processes.carrying(noted.token) - processes.ancestors())
    if noted.living:
        pids.add(noted.pid)
    return Cleaned(
        noted.run,
        (
            *(f"process {pid} ({processes.name_of(pid)})" for pid in sorted(pids)),
            *(f"namespace {name}" for name in noted.namespaces if netns.exists(name)),
            *(f"file {path}" for path in noted.files if path.exists()),
            *(f"what is left on machine {machine}" for machine in noted.cleaners),
            f"folder {folder}",
        ),
        (),
    )
