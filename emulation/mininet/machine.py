# SPDX-License-Identifier: Apache-2.0
"""Checks of this machine before a Mininet testbed is made, and the import of Mininet's own package.

Mininet is a Debian package for the system's Python, outside of any virtual environment.
"""

import importlib
import importlib.util
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

from emulation.errors import MachineError
from emulation.linux import kernel

__all__ = ["load", "need_machine"]

_PLACE = Path("/usr/lib/python3/dist-packages/mininet")
_TOOLS = {"ip": "iproute2", "nsenter": "util-linux", "setpriv": "util-linux", "mnexec": "mininet"}


def need_machine(*, delays: bool = False, captures: bool = False, lanes: bool = False) -> None:
    """Raise a MachineError if root, a tool, Mininet or a kernel feature is missing.

    `delays`: links will be delayed. `captures`: links will be recorded. `lanes`: links will have priorities.
    """
    if os.geteuid() != 0:
        raise MachineError(
            "the Mininet testbed makes network namespaces, which needs root",
            remedy="call with sudo, or use --testbed embedded, which needs no rights",
        )
    for tool, package in (_TOOLS | ({"tcpdump": "tcpdump"} if captures else {})).items():
        if shutil.which(tool) is None:
            raise MachineError(
                f"{tool} is not installed",
                remedy=f"`make lab-setup` installs it, or `apt-get install {package}`",
            )
    load("mininet.net")
    always = (kernel.VETH, kernel.CLSACT, kernel.CLS_BPF, kernel.MIRRED)
    kernel.need(*always, *[kernel.NETEM] * delays, *[kernel.HTB] * lanes)


def load(module: str) -> ModuleType:
    """Return a module of Mininet, such as "mininet.net"; MachineError if it is not installed.

    Mininet's package is the only one that is loaded from the system's Python.
    """
    if "mininet" not in sys.modules and importlib.util.find_spec("mininet") is None:
        spec = importlib.util.spec_from_file_location(
            "mininet", _PLACE / "__init__.py", submodule_search_locations=[str(_PLACE)]
        )
        if spec is None or spec.loader is None or not _PLACE.is_dir():
            raise MachineError(
                "Mininet is not installed",
                remedy="`make lab-setup` installs it, or `apt-get install mininet`",
            )
        package = importlib.util.module_from_spec(spec)
        sys.modules["mininet"] = package
        spec.loader.exec_module(package)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MachineError(
            f"{module} of Mininet cannot be loaded: {error}", remedy="install Debian's package mininet anew"
        ) from error
