# SPDX-License-Identifier: Apache-2.0
"""Memory of processes and of the machine, in MiB."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["anonymous_mib", "available_mib", "family", "proportional_mib"]

_PROC = Path("/proc")


def proportional_mib(pid: int | str) -> float:
    """Resident memory, what processes share divided among them."""
    return _field(_PROC / str(pid) / "smaps_rollup", "Pss")


def anonymous_mib(pid: int | str) -> float:
    """Resident memory without files: a process's own, whatever other processes share with it."""
    return _field(_PROC / str(pid) / "status", "RssAnon")


def available_mib() -> float:
    """Return the memory that the kernel could still give to processes, without its own buffers."""
    return _field(_PROC / "meminfo", "MemAvailable")


def family() -> list[int]:
    """Return this process and all its descendants."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdecimal():
            try:
                # The name, in parentheses, may hold anything; the parent is the second field behind it.
                parent = int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(folder.name))
    result = [os.getpid()]
    for pid in result:
        result += children.get(pid, ())
    return result


def _field(path: Path, name: str) -> float:
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) / 1024
    raise RuntimeError(f"{path} has no {name}")
