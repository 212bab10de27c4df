# SPDX-License-Identifier: Apache-2.0
"""Unnamed Linux network namespaces; they end with the last thread or process in them."""

import ctypes
import os
from pathlib import Path

__all__ = ["enter_new_namespace"]

_CLONE_NEWNET = 0x40000000


def enter_new_namespace() -> None:
    """Move the calling thread, and processes it starts from now on, into a new network namespace.

    The namespace holds a loopback interface that is down. IPv6 is off, so that the kernel sends no frames of
    its own on new links. OSError if the process lacks the right, as without root.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        raise OSError(
            ctypes.get_errno(), f"a network namespace cannot be made: {os.strerror(ctypes.get_errno())}"
        )
    ipv6 = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")  # applies to the writer's namespace
    if ipv6.exists():
        ipv6.write_text("1")
