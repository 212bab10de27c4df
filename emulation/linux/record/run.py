# SPDX-License-Identifier: Apache-2.0
"""Record of a run begun by this process."""

import json
import os
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, final

from emulation.errors import TestbedError
from emulation.linux import netns, processes
from emulation.linux.record.cleaning import clean_up, need_root
from emulation.linux.record.noted import FILE, RUNS, UNFINISHED, boot, myself, prefix, remove_if_empty

__all__ = ["RunRecord"]


@final
class RunRecord:
    """Record of a run begun by this process; see `create`."""

    def __init__(self, run: str, token: str, folder: Path) -> None:
        self.id = run
        self.token = token
        self.folder = folder
        self._pid = os.getpid()

    @classmethod
    def create(cls, root: Path = RUNS) -> Self:
        """Begin a run with an id of six hex digits, a folder and a record. MachineError without root."""
        need_root("a run with network namespaces")
        run, token = _free_id(root), secrets.token_hex(16)
        pid = os.getpid()
        line = {"id": run, "token": token, "pid": pid, "boot": boot()}
        line |= {"started": processes.started(pid), "memory": processes.memory(pid)}
        # The folder gets its final name once the record is in it; until then its name identifies its owner.
        unfinished = root / f"{UNFINISHED}{run}-{myself()}"
        record = cls(run, token, unfinished)
        try:
            _make_folder(unfinished)
            record._note(what="run", **line)
            record.folder = root / run
            unfinished.rename(record.folder)
        except BaseException:  # an interrupt too: the caller has no record yet to close
            shutil.rmtree(unfinished if unfinished.exists() else record.folder, ignore_errors=True)
            remove_if_empty(root)
            raise
        return record

    def namespace(self, name: str) -> str:
        """Make the network namespace `railyard-ID-NAME`; return that name. TestbedError if it is taken."""
        full = prefix(self.id) + name
        if "/" in full or len(full) > 255:
            raise TestbedError(
                f"namespace name {full!r} is too long or contains /",
                remedy="take at most 240 characters and no /",
            )
        if (netns.DIRECTORY / full).exists():  # it would be cleaned up as part of this run
            raise TestbedError(f"network namespace {full} exists already", remedy="take another name")
        self._note(what="namespace", name=full)
        netns.create(full)
        return full

    def environment(self) -> dict[str, str]:
        """Return the environment for every process of the run; its token lets cleaners find the process."""
        return {**os.environ, processes.VARIABLE: self.token}

    def note_file(self, path: Path) -> None:
        """Record a file outside the run's folder, before it is made, for deletion at the end of the run."""
        path = path.absolute()
        if path.exists():
            raise TestbedError(
                f"{path} exists already", remedy="take another path: this one is deleted with the run"
            )
        self._note(what="file", path=str(path))

    def note_cleaner(self, machine: str, command: Sequence[str]) -> None:
        """Record the command for cleaning up another machine, before a part of this run begins there."""
        self._note(what="cleaner", machine=machine, command=list(command))

    def note_cleaned(self, machine: str) -> None:
        """Record that nothing of this run is left on another machine."""
        self._note(what="cleaned", machine=machine)

    def close(self) -> None:
        """End the run's processes and remove everything it created; TestbedError names the remains.

        Calling it again, or from a forked process, does nothing.
        """
        if os.getpid() != self._pid or not self.folder.exists():
            return
        cleaned = clean_up(self.folder)
        if cleaned and cleaned.left:
            raise TestbedError(
                f"run {self.id} could not remove: {'; '.join(cleaned.left)}",
                remedy="end what uses it, then remove it with `railyard clean`",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _note(self, **line: Any) -> None:
        handle = os.open(self.folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, json.dumps(line).encode() + b"\n")
            os.fsync(handle)
        finally:
            os.close(handle)


def _free_id(root: Path) -> str:
    while True:
        run = secrets.token_hex(3)
        if not (root / run).exists() and not any(netns.DIRECTORY.glob(f"{prefix(run)}*")):
            return run


def _make_folder(folder: Path) -> None:
    """Make a folder and its parents; try again if a cleaner removes an empty parent meanwhile."""
    while True:
        folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            folder.mkdir(mode=0o700)
            return
