# SPDX-License-Identifier: Apache-2.0
"""Whether this machine can carry a Mininet testbed, asked before anything is made."""

import os
import shutil

from emulation.errors import TestbedError
from emulation.mininet.linux import kernel
from emulation.mininet.linux.debian import load

__all__ = ["need_machine"]

_TOOLS = {"ip": "iproute2", "nsenter": "util-linux", "setpriv": "util-linux", "mnexec": "mininet"}


def need_machine(*, delays: bool = False, captures: bool = False) -> None:
    """TestbedError names what is missing and where it comes from.

    `delays`: links are to be slowed down, `captures`: recorded.
    """
    if os.geteuid() != 0:
        raise TestbedError(
            "the Mininet testbed makes network namespaces, which takes root",
            remedy="call with sudo, or use --testbed embedded, which needs no rights",
        )
    for tool, package in (_TOOLS | ({"tcpdump": "tcpdump"} if captures else {})).items():
        if shutil.which(tool) is None:
            raise TestbedError(
                f"{tool} is not installed", remedy=f"`make setup` installs it, or `apt-get install {package}`"
            )
    load("mininet.net")
    always = (kernel.VETH, kernel.CLSACT, kernel.CLS_BPF, kernel.MIRRED)
    kernel.need(*always, *((kernel.NETEM,) if delays else ()))
