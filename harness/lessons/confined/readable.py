# SPDX-License-Identifier: Apache-2.0
"""Files and folders that a confined process may read: the system's and Python's libraries, and little else.

Railyard's own packages and its labs, with their solutions, are in none of them, wherever they are.
"""

from __future__ import annotations

import shutil
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from harness.files import EXPERIMENTS, LABS, P4_SOURCES

__all__ = ["readable_by_command", "readable_by_python"]

_ROOT = Path(__file__).resolve().parents[3]
_FLOORS = ("railyard", "papers", "harness", "emulation", "controller", "topologies")
_HIDDEN = (
    # An editable installation has its packages in the source tree, and the engine with other packages.
    *(root / name for root in (_ROOT, *map(Path, site.getsitepackages())) for name in _FLOORS),
    *(path.resolve() for path in (LABS, EXPERIMENTS, P4_SOURCES)),
)

# Shared libraries, the loader's cache, time zones, and what NumPy and gRPC ask of the system.
_SYSTEM = (
    "/lib64",
    "/usr/lib64",
    f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/usr/share/zoneinfo",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
)

# A compiler is no code of a student, but includes the files that a student's source names.
_OF_COMMANDS = (*_SYSTEM, "/usr", "/lib", "/bin", "/etc/alternatives")


@cache
def _libraries() -> tuple[str, ...]:
    """Python's own modules and the installed packages, except for Railyard's."""
    # Not sys.path: an editable installation may add the source tree, or even the root of the file system.
    standard = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    folders = {*map(Path, standard), *map(Path, site.getsitepackages()), Path(sys.base_prefix) / "lib"}
    return tuple(_without_hidden(folder.resolve() for folder in folders))


def readable_by_python(folder: Path) -> list[str]:
    """Return what a student's Python may read: libraries, and the folder of its file."""
    return [*_SYSTEM, *_libraries(), str(folder)]


def readable_by_command(command: str, folders: Sequence[Path]) -> list[str]:
    """Return what a program such as a compiler may read: the system, its installation, and `folders`."""
    program = shutil.which(command)
    own = [Path(program).resolve().parents[1]] if program else []
    people = {Path("/"), Path.home().resolve()}
    installed = {*map(Path, _OF_COMMANDS), *(path for path in own if path not in people)}
    python = {Path(sys.prefix), Path(sys.base_prefix)}
    return [*_without_hidden(installed | python), *map(str, folders)]


def _without_hidden(folders: Iterable[Path]) -> Iterator[str]:
    """Yield the folders, or instead of a folder that has a hidden folder in it, what is beside the latter."""
    for folder in folders:
        if any(folder == hidden or hidden in folder.parents for hidden in _HIDDEN):
            continue
        if folder.is_dir() and any(folder in hidden.parents for hidden in _HIDDEN):
            yield from _without_hidden(sorted(folder.iterdir()))
        elif folder.exists():
            yield str(folder)
