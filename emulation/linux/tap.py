# SPDX-License-Identifier: Apache-2.0
"""TAP devices: an Ethernet interface whose frames a process reads and writes."""

import fcntl
import os
import struct

from emulation.errors import MachineError

__all__ = ["open_tap"]

_TUN = "/dev/net/tun"
# Request and flags of <linux/if_tun.h>.
_TUNSETIFF, _IFF_TAP, _IFF_NO_PI = 0x400454CA, 0x0002, 0x1000


def open_tap(interface: str) -> int:
    """Make a TAP device in the calling thread's network namespace, and return its non-blocking descriptor.

    The kernel deletes the device when its last descriptor is closed.

    Raises:
        MachineError: The process is not root, or the kernel has no TAP devices.
    """
    try:
        device = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as ex:
        raise MachineError(
            f"{_TUN} cannot be opened: {ex.strerror}", remedy="load the kernel module tun"
        ) from None
    try:
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", interface.encode(), _IFF_TAP | _IFF_NO_PI))
    except OSError as ex:
        os.close(device)
        raise MachineError(
            f"a TAP device cannot be made: {ex.strerror}", remedy="load the kernel module tun"
        ) from None
    return device
