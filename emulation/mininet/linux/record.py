# SPDX-License-Identifier: Apache-2.0
"""Record of everything that a run makes on this machine, written before it is made, for cleaning up.

A run has a folder, /run/railyard/ID, whose file `record` names its owner and has a line for each thing it has
made, on disk before the thing exists. Interfaces need no line, since they end with their namespaces; nor do
processes, which carry the run's token in their environment.
"""

import fcntl
import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, final

from emulation.errors import MachineError, TestbedError
from emulation.mininet.linux import netns, processes
from emulation.mininet.linux.netlink import RouteSocket
from emulation.mininet.linux.requests import delete_group

__all__ = ["RUNS", "Cleaned", "RunRecord", "clean", "living"]

RUNS = Path("/run/railyard")
"""Directory with a folder for each run."""

_RECORD = "record"
_UNFINISHED = ".new-"
_MOMENT = 0.5
_CLEANER_SECONDS = 120.0


@final
@dataclass(frozen=True, slots=True)
class _Noted:
    """A record as read from disk."""

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
        return self.boot == _boot() and processes.alive(self.pid, self.started)


@final
@dataclass(frozen=True, slots=True)
class Cleaned:
    """Result of cleaning up a run, in words; `left` has what remains, with the reason."""

    run: str
    removed: tuple[str, ...]
    left: tuple[str, ...]


@final
class RunRecord:
    """The record of a run that this process has begun; see `create`."""

    def __init__(self, run: str, token: str, folder: Path) -> None:
        self.id = run
        self.token = token
        self.folder = folder
        self._pid = os.getpid()

    @classmethod
    def create(cls, root: Path = RUNS) -> Self:
        """Begin a run: an id of six hex digits, its folder and its record. TestbedError without root."""
        need_root("a run with network namespaces")
        run, token = _free_id(root), secrets.token_hex(16)
        pid = os.getpid()
        line = {"id": run, "token": token, "pid": pid, "boot": _boot()}
        line |= {"started": processes.started(pid), "memory": processes.memory(pid)}
        # The folder gets its final name once the record is in it; its name until then identifies its owner.
        unfinished = root / f"{_UNFINISHED}{run}-{_myself()}"
        record = cls(run, token, unfinished)
        try:
            _make_folder(unfinished)
            record._note(what="run", **line)
            record.folder = root / run
            unfinished.rename(record.folder)
        except BaseException:  # an interrupt too: the caller has no record yet to close
            shutil.rmtree(unfinished if unfinished.exists() else record.folder, ignore_errors=True)
            _remove_if_empty(root)
            raise
        return record

    def namespace(self, name: str) -> str:
        """Make the network namespace `railyard-ID-name`; its full name, as for `ip netns exec`."""
        full = _prefix(self.id) + name
        if "/" in full or len(full) > 255:
            raise TestbedError(f"namespace name {full!r}", remedy="take at most 240 characters and no /")
        if (netns.DIRECTORY / full).exists():  # it would be cleaned up as part of this run
            raise TestbedError(f"network namespace {full} exists already", remedy="take another name")
        self._note(what="namespace", name=full)
        netns.create(full)
        return full

    def environment(self) -> dict[str, str]:
        """Return the environment that every process of the run must be started with, to be found."""
        return {**os.environ, processes.VARIABLE: self.token}

    def note_file(self, path: Path) -> None:
        """Record a file outside the folder that is about to be made and ends with the run."""
        path = path.absolute()
        if path.exists():
            raise TestbedError(
                f"{path} exists already", remedy="take another path: this one is deleted with the run"
            )
        self._note(what="file", path=str(path))

    def note_cleaner(self, machine: str, command: Sequence[str]) -> None:
        """Record the command that cleans up another machine, where a part of this run is about to begin."""
        self._note(what="cleaner", machine=machine, command=list(command))

    def note_cleaned(self, machine: str) -> None:
        """Record that nothing of this run is left on another machine."""
        self._note(what="cleaned", machine=machine)

    def close(self) -> None:
        """End the run's processes and remove everything that it made; TestbedError names what remains.

        Calling it again, or from a forked process, does nothing.
        """
        if os.getpid() != self._pid or not self.folder.exists():
            return
        cleaned = _clean(self.folder)
        if cleaned and cleaned.left:
            raise TestbedError(
                f"run {self.id} leaves {'; '.join(cleaned.left)}",
                remedy="then `railyard clean` removes the rest",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _note(self, **line: Any) -> None:
        handle = os.open(self.folder / _RECORD, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, json.dumps(line).encode() + b"\n")
            os.fsync(handle)
        finally:
            os.close(handle)


def clean(
    all_runs: bool = False, *, dry_run: bool = False, local: bool = False, root: Path = RUNS
) -> list[Cleaned]:
    """Remove everything left by runs whose owner has ended; with `all_runs` end living runs too.

    With `dry_run`, only return what would be removed. With `local`, leave runs over several machines alone,
    whose own machine cleans up after them and asks the others for the rest. TestbedError without root.
    """
    need_root("cleaning up after runs")
    cleaned: list[Cleaned] = []
    for folder in _folders(root):
        noted = _read(folder)
        if noted is None:
            if _abandoned(folder):
                if not dry_run:
                    shutil.rmtree(folder, ignore_errors=True)
                cleaned.append(Cleaned(folder.name.split("-")[1], (f"folder {folder}",), ()))
            continue
        if (noted.living and not all_runs) or (local and noted.cleaners):
            continue
        done = _foreseen(noted, folder) if dry_run else _clean(folder, end_owner=True)
        if done:
            cleaned.append(done)
    if not dry_run:
        _remove_if_empty(root)
    return cleaned


def living(root: Path = RUNS) -> list[tuple[str, int]]:
    """Return id and owner's pid of every living run."""
    records = [_read(folder) for folder in _folders(root)]
    return [(record.run, record.pid) for record in records if record and record.living]


def need_root(what: str) -> None:
    """Raise a MachineError unless the process is root."""
    if os.geteuid() != 0:
        raise MachineError(f"{what} needs root", remedy="run it with sudo")


def _clean(folder: Path, *, end_owner: bool = False) -> Cleaned | None:
    """Clean up a run; None if another process has just done so."""
    noted = _read(folder)
    if noted is None:
        return None
    removed: list[str] = []
    left: list[str] = []
    if end_owner and noted.living:
        _end_owner(noted, removed, left)
    if left:
        return Cleaned(noted.run, (), tuple(left))
    with _locked(folder):
        noted = _read(folder)  # with the lines written until now
        if noted is None:
            return Cleaned(folder.name, tuple(removed), ()) if removed else None
        _end_processes(noted, removed, left)
        _clean_machines(noted, removed, left)
        _remove_namespaces(noted, removed, left)
        _remove_files(noted, removed, left)
        _remove_folder(folder, removed, left)
    return Cleaned(noted.run, tuple(removed), tuple(left))


def _end_owner(noted: _Noted, removed: list[str], left: list[str]) -> None:
    if noted.pid in processes.ancestors():
        left.append(
            f"its process {noted.pid} ({processes.name_of(noted.pid)}): this very command is part of it"
        )
        return
    ended, stayed = processes.end(
        lambda: [noted.pid] if noted.living else [], lambda pid: processes.alive(pid, noted.started)
    )
    _tell_processes(ended, stayed, removed, left)


def _end_processes(noted: _Noted, removed: list[str], left: list[str]) -> None:
    ours = processes.ancestors()
    if noted.boot == _boot():  # a living owner waits for its own forks
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


def _clean_machines(noted: _Noted, removed: list[str], left: list[str]) -> None:
    """Have every other machine remove what runs without an owner have left there."""
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


def _remove_namespaces(noted: _Noted, removed: list[str], left: list[str]) -> None:
    there = {name: netns.identity(name) for name in noted.namespaces if netns.exists(name)}
    held = _holders([identity for identity in there.values() if identity])
    # Interfaces first: this request returns when they are deleted, while the end of a namespace deletes them
    # later.
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
    """Return the processes that stay in the namespaces; a finished thread may take a moment to leave."""
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


def _remove_files(noted: _Noted, removed: list[str], left: list[str]) -> None:
    for path in noted.files:
        try:
            path.unlink()
            removed.append(f"file {path}")
        except FileNotFoundError:
            continue
        except OSError as ex:
            left.append(f"file {path}: {ex.strerror}")


def _remove_folder(folder: Path, removed: list[str], left: list[str]) -> None:
    if left:  # the record stays for the next time
        return
    # If this process ends now, the new name marks the folder as abandoned.
    abandoned = folder.rename(folder.with_name(f"{_UNFINISHED}{folder.name}-{_myself()}"))
    shutil.rmtree(abandoned)
    removed.append(f"folder {folder}")
    _remove_if_empty(folder.parent)


def _foreseen(noted: _Noted, folder: Path) -> Cleaned:
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


def _free_id(root: Path) -> str:
    while True:
        run = secrets.token_hex(3)
        if not (root / run).exists() and not any(netns.DIRECTORY.glob(f"{_prefix(run)}*")):
            return run


def _make_folder(folder: Path) -> None:
    """Make a folder and its parents, also while cleaners remove empty parents."""
    while True:
        folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            folder.mkdir(mode=0o700)
            return


def _abandoned(folder: Path) -> bool:
    """Return whether a folder's creation or removal was interrupted by the end of its process."""
    match folder.name.removeprefix(_UNFINISHED).split("-"):
        case [_, pid, start] if folder.name.startswith(_UNFINISHED) and pid.isdecimal() and start.isdecimal():
            return not processes.alive(int(pid), int(start))
    return False


def _folders(root: Path) -> list[Path]:
    with suppress(FileNotFoundError):
        return sorted(entry for entry in root.iterdir() if entry.is_dir())
    return []


def _read(folder: Path) -> _Noted | None:
    """Return the record in a folder; None without a complete record."""
    if folder.name.startswith(_UNFINISHED):
        return None
    lines: list[dict[str, Any]] = []
    with suppress(OSError):
        for line in (folder / _RECORD).read_text().splitlines():
            with suppress(ValueError):  # the last line, half written, whose thing was not made
                lines.append(json.loads(line))
    if not lines or lines[0].get("what") != "run":
        return None
    first = lines[0]
    cleaners = {line["machine"]: tuple(line["command"]) for line in lines if line["what"] == "cleaner"}
    for line in lines:
        if line["what"] == "cleaned":
            cleaners.pop(line["machine"], None)
    return _Noted(
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
def _locked(folder: Path) -> Iterator[None]:
    """Lock a run's record, for one cleaner at a time; a cleaner that waited finds no record."""
    try:
        handle = os.open(folder / _RECORD, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _remove_if_empty(root: Path) -> None:
    with suppress(OSError):
        root.rmdir()


def _prefix(run: str) -> str:
    return f"railyard-{run}-"


def _myself() -> str:
    return f"{os.getpid()}-{processes.started(os.getpid())}"


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
