# SPDX-License-Identifier: Apache-2.0
"""Connect a confined process to a single server, whatever address its code asks for.

The kernel holds each `connect` of the process and reports it to this process (seccomp user notification).
A thread here connects a socket of its own to the server, and the kernel puts this socket in the place of the
socket that the process gave. The address in the memory of the process is never read, so code gains nothing
by changing it. The constants come from linux/seccomp.h.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import socket
import struct
import threading
from collections.abc import Iterator

__all__ = ["connections"]

# struct seccomp_notif: id, pid, flags, then seccomp_data with the arguments of the system call.
_NOTICE = struct.Struct("QIIiIQ6Q")
# struct seccomp_notif_addfd: id, flags, source, new descriptor, flags of the new descriptor.
_REPLACE = struct.Struct("QIIII")
# struct seccomp_notif_resp: id, value, error, flags.
_ANSWER = struct.Struct("QqiI")
_SET_DESCRIPTOR = 1


def _request(direction: int, number: int, size: int) -> int:
    return direction << 30 | size << 16 | ord("!") << 8 | number


_RECEIVE = _request(3, 0, _NOTICE.size)
_SEND = _request(3, 1, _ANSWER.size)
_ADD_DESCRIPTOR = _request(1, 3, _REPLACE.size)


@contextlib.contextmanager
def connections(address: str) -> Iterator[int]:
    """Serve the connections of a confined process until the block ends.

    Args:
        address: Address of the server, "unix:PATH".

    Yields:
        Descriptor for the process to inherit, over which its `raise_walls` sends the kernel's listener.
    """
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=_serve, args=(ours, address.removeprefix("unix:")), daemon=True)
    thread.start()
    try:
        yield theirs.fileno()
    finally:
        # The thread ends when the last copy of this socket is closed.
        theirs.close()
        thread.join()


def _serve(ours: socket.socket, path: str) -> None:
    with ours:
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
        if not descriptors:
            return
        listener = descriptors[0]
        waiting = select.poll()
        waiting.register(listener, select.POLLIN)
        waiting.register(ours, select.POLLIN)
        try:
            while True:
                events = dict(waiting.poll())
                if ours.fileno() in events or not events.get(listener, 0) & select.POLLIN:
                    return
                # The process may end while it is answered.
                with contextlib.suppress(OSError):
                    _answer(listener, path)
        finally:
            os.close(listener)


def _answer(listener: int, path: str) -> None:
    """Take the next `connect` of the process from the kernel, and carry it out to the server."""
    notice = bytearray(_NOTICE.size)
    fcntl.ioctl(listener, _RECEIVE, notice)
    number, *_, descriptor, _, _, _, _, _ = _NOTICE.unpack(notice)
    error = 0
    with socket.socket(socket.AF_UNIX) as connected:
        # gRPC wants sockets that never block.
        connected.setblocking(False)
        try:
            connected.connect(path)
            replaced = _REPLACE.pack(
                number, _SET_DESCRIPTOR, connected.fileno(), descriptor & 0xFFFFFFFF, os.O_CLOEXEC
            )
            fcntl.ioctl(listener, _ADD_DESCRIPTOR, replaced)
        except OSError as ex:
            error = -(ex.errno or errno.ECONNREFUSED)
    fcntl.ioctl(listener, _SEND, _ANSWER.pack(number, 0, error, 0))
