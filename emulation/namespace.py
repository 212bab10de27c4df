# SPDX-License-Identifier: Apache-2.0
"""Linux network namespaces without a name: they are gone with the last thread or process in them."""

import ctypes
import os
from pathlib import Path

__all__ = ["enter_new_namespace"]

_CLONE_NEWNET = 0x40000000


def enter_new_namespace() -> None:
    """Give the calling thread, and whatever it starts from now on, a network namespace of its own.

    It holds a loopback interface that is down, and the kernel sends nothing of its own on links made in it.
    OSError where the process may not, as without root.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"a new network namespace: {os.strerror(ctypes.get_errno())}")
    ipv6 = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")  # of the namespace of who writes to it
    if ipv6.exists():
        ipv6.write_text("1")
