# SPDX-License-Identifier: Apache-2.0
"""Raw sockets, the dilated clock, and measures of a host's sending rate, for the driver of hosts.

Time dilation D (Gupta et al., NSDI 2006): a second of the host's clock takes D real seconds, so that links of
hundreds of Gbit/s keep their proportions on a machine that cannot carry such rates. The driver itself is in
C++: emulation/engine/wire/host_driver.h.
"""

import socket
from dataclasses import dataclass
from typing import final

import numpy as np

from emulation import _engine

__all__ = ["Clock", "Pace", "missed_frames", "open_socket", "pace_of"]

_ETHERTYPE = 0x88B5
_BUFFER_BYTES = 16 << 20
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_SOL_PACKET, _PACKET_STATISTICS = 263, 6


@final
@dataclass(frozen=True, slots=True)
class Clock:
    """Scenario time, 0 at `start_ns` of the machine's monotonic clock."""

    start_ns: int
    dilation: int

    def ps(self, now_ns: int) -> int:
        """Return the scenario time in ps at a monotonic time in ns."""
        return (now_ns - self.start_ns) * 1000 // self.dilation

    def ns(self, time_ps: int) -> int:
        """Return the monotonic time in ns of a scenario time in ps, rounded up."""
        return self.start_ns - (-time_ps * self.dilation // 1000)


@final
@dataclass(frozen=True, slots=True)
class Pace:
    """Measures of how a host kept to its sending rate. Times are real.

    `offered_bytes` are the bytes that the rate allows while frames wait, `sent_bytes` the bytes sent.
    `late_us` has the time from each frame's slot at this rate to its sending, `waited_us` its time queued.
    `refused` counts frames for which the kernel had no room, and which were sent again; `missed` counts
    frames that the kernel dropped on arrival.
    """

    offered_bytes: int
    sent_bytes: int
    late_us: np.ndarray
    waited_us: np.ndarray
    refused: int
    missed: int


def open_socket(interface: str) -> socket.socket:
    """Open a raw socket for UB frames on an interface of the calling thread's network namespace."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    # Large buffers: frames that wait for a link count against their sender's buffer.
    for option in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE):
        raw.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
    raw.bind((interface, _ETHERTYPE))
    raw.setblocking(False)
    return raw


def missed_frames(raw: socket.socket) -> int:
    """Return the number of frames dropped by the kernel on arrival since the last call."""
    counts = raw.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
    return int.from_bytes(counts[4:8], "little")


def pace_of(driver: "_engine.HostDriver", index: int, missed: int) -> Pace:
    """Return the pace of the driver's host number `index`, after the driver's stop()."""
    offered, sent, refused, late_ns, waited_ns = driver.pace(index)
    return Pace(round(offered), sent, late_ns / 1000, waited_ns / 1000, refused, missed)
