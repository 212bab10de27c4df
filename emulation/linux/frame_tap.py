# SPDX-License-Identifier: Apache-2.0
"""Tap of an interface in a namespace; it keeps the last frames in bounded memory."""

import errno
import socket
import struct
import time
from collections import deque
from collections.abc import Sequence
from typing import Final, final

from emulation.linux import netns

__all__ = ["FrameTap"]

_EVERY: Final = 0x0003  # ETH_P_ALL: also the frames that the interface sends
_SO_TIMESTAMPNS: Final = 35
_TIMESPEC: Final = struct.Struct("=qq")
_OUTGOING: Final = 4  # PACKET_OUTGOING
_LONGEST: Final = 65536
_BUFFER_BYTES: Final = 1 << 19


@final
class FrameTap:
    """Keeps the last `most` frames of an EtherType sent or received by an interface since construction.

    Frames wait in the kernel until `take`, up to half a megabyte of them; further frames are not kept.
    """

    def __init__(self, namespace: str, interface: str, ethertype: int, most: int) -> None:
        self._socket = netns.inside(namespace, lambda: _opened(interface))
        self._ethertype = ethertype.to_bytes(2, "big")
        self._frames: deque[tuple[int, int, bool, bytes]] = deque(maxlen=most)
        self._count = 0

    def take(self) -> Sequence[tuple[int, int, bool, bytes]]:
        """Return the kept frames as (number, monotonic time in ns, True if sent by the interface, bytes)."""
        ahead_ns = time.time_ns() - time.monotonic_ns()
        while True:
            try:
                frame, extras, _, address = self._socket.recvmsg(_LONGEST, 64)
            except BlockingIOError:
                return tuple(self._frames)
            except OSError as error:
                if error.errno != errno.ENETDOWN:
                    raise
                continue  # reported once, when the interface goes down; frames before and after are kept
            if frame[12:14] != self._ethertype:
                continue
            at_ns = next((_ns(data) for _, kind, data in extras if kind == _SO_TIMESTAMPNS), time.time_ns())
            self._frames.append((self._count, at_ns - ahead_ns, address[2] == _OUTGOING, frame))
            self._count += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def _opened(interface: str) -> socket.socket:
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
    raw.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    raw.bind((interface, _EVERY))
    raw.setblocking(False)
    return raw


def _ns(timespec: bytes) -> int:
    seconds, ns = _TIMESPEC.unpack_from(timespec)
    return seconds * 10**9 + ns
