# SPDX-License-Identifier: Apache-2.0
"""Files and folders readable by a confined process: libraries of the system and of Python, and few others.

Railyard's packages, and its labs with their solutions, are never among them, wherever they are installed.
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
# Folders of installed packages; a .pth file or PYTHONPATH may add those of another environment. Other entries
# of sys.path do not count: an editable installation may add the source tree, or even the file system's root.
_PACKAGES = {
    *map(Path, site.getsitepackages()),
    *(path for path in map(Path, sys.path) if path.name in ("site-packages", "dist-packages")),
}
_FLOORS = ("railyard", "papers", "harness", "emulation", "controller", "topologies")
_HIDDEN = (
    # An editable installation has the packages in the source tree, but the engine in site-packages.
    *(root / name for root in (_ROOT, *_PACKAGES) for name in _FLOORS),
    *(path.resolve() for path in (LABS, EXPERIMENTS, P4_SOURCES)),
)

# Shared libraries, the loader's cache, time zones, and system files that NumPy and gRPC read.
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

# A compiler is trusted, but a student's source can make it include any file that it may read.
_OF_COMMANDS = (*_SYSTEM, "/usr", "/lib", "/bin", "/etc/alternatives")


@cache
def _libraries() -> tuple[str, ...]:
    """Return the folders of Python's standard library and of installed packages, without Railyard's."""
    standard = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    folders = {*map(Path, standard), *_PACKAGES, Path(sys.base_prefix) / "lib"}
    return tuple(_without_hidden(folder.resolve() for folder in folders))


def readable_by_python(folder: Path) -> list[str]:
    """Return the paths readable by a student's Python code: libraries, and the folder of its file."""
    return [*_SYSTEM, *_libraries(), str(folder)]


def readable_by_command(command: str, folders: Sequence[Path]) -> list[str]:
    """Return the paths readable by a program such as a compiler.

    These are files of the system, the folder in which the program is installed, and `folders`.
    """
    program = shutil.which(command)
    own = [Path(program).resolve().parents[1]] if program else []
    people = {Path("/"), Path.home().resolve()}
    installed = {*map(Path, _OF_COMMANDS), *(path for path in own if path not in people)}
    python = {Path(sys.prefix), Path(sys.base_prefix)}
    return [*_without_hidden(installed | python), *map(str, folders)]


def _without_hidden(folders: Iterable[Path]) -> Iterator[str]:
    """Yield the folders without hidden folders.

    A hidden folder is left out. A folder that contains a hidden folder is replaced by its other entries.
    """
    for folder in folders:
        if any(folder == hidden or hidden in folder.parents for hidden in _HIDDEN):
            continue
        if folder.is_dir() and any(folder in hidden.parents for hidden in _HIDDEN):
            yield from _without_hidden(sorted(folder.iterdir()))
        elif folder.exists():
            yield str(folder)
