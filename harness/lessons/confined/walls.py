# SPDX-License-Identifier: Apache-2.0
"""Confine this process by the Linux kernel: seccomp refuses system calls, Landlock refuses files.

After `raise_walls` the process cannot start a process or a program, open a socket (Unix sockets to a single
server may be allowed), send a signal, trace a process or change the machine. It can write only to files that
are open already, and read only the given files and folders. This needs no privileges, applies to root too,
and cannot be undone. The constants come from linux/seccomp.h and linux/filter.h.
"""

import ctypes
import errno
import os
import platform
import socket
import struct
from collections.abc import Sequence

# child.py and shell.py put this folder on sys.path first, so these modules are found without a package.
from landlock import confine_files, without_new_rights  # type: ignore[import-not-found]
from system_calls import ARCHITECTURES, Architecture  # type: ignore[import-not-found]

__all__ = ["raise_walls"]

_SET_MODE_FILTER, _NEW_LISTENER = 1, 1 << 3
_ALLOW, _NOTIFY, _ERRNO, _KILL = 0x7FFF0000, 0x7FC00000, 0x00050000, 0x80000000
# Opcodes of classic BPF: load a word of seccomp_data, keep bits, jump if equal, jump if a bit is set, return.
_LOAD, _KEEP, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X32_BIT = 0x40000000
_CLONE_THREAD = 0x10000
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPES = 1, 1, 0xF


def raise_walls(readable: Sequence[str], *, connections: int | None = None) -> list[str]:
    """Confine this process until its end; return the mechanisms that the kernel supports.

    These are landlock, seccomp and, with `connections`, listener.

    Args:
        readable: Files, and folders with their content, that the process may still read.
        connections: Descriptor of `connections.connections` in the parent, which carries out every connection
            of this process; None to refuse all sockets.
    """
    libc = without_new_rights()
    if libc is None:
        return []
    walls = []
    if confine_files(libc, readable):
        walls.append("landlock")
    calls = ARCHITECTURES.get(platform.machine())
    if calls is None:
        return walls
    if connections is None:
        return [*walls, "seccomp"] if _seccomp(libc, calls, _without_sockets(calls)) >= 0 else walls
    with socket.socket(fileno=connections) as parent:
        listener = _seccomp(libc, calls, _with_listener(calls), _NEW_LISTENER)
        if listener >= 0:
            socket.send_fds(parent, [b"l"], [listener])
            os.close(listener)
            return [*walls, "seccomp", "listener"]
    # In a container that has a listener of its own, the kernel gives no second one.
    return [*walls, "seccomp"] if _seccomp(libc, calls, _stream_sockets(calls)) >= 0 else walls


def _without_sockets(calls: Architecture) -> list[bytes]:
    """Return a filter that refuses all sockets, and all socket pairs except Unix streams."""
    return [_step(_EQUAL, calls.socket, 0, 1), _step(_RETURN, _ERRNO | errno.EPERM), *_pairs(calls)]


def _stream_sockets(calls: Architecture) -> list[bytes]:
    """Return a filter that refuses all sockets except Unix streams: others can send without a connection."""
    return [*_only_streams(calls.socket), *_pairs(calls)]


def _with_listener(calls: Architecture) -> list[bytes]:
    """Return a filter that allows Unix stream sockets, and suspends `connect` until the listener decides."""
    return [*_stream_sockets(calls), _step(_EQUAL, calls.connect, 0, 1), _step(_RETURN, _NOTIFY)]


def _pairs(calls: Architecture) -> list[bytes]:
    return _only_streams(calls.socketpair)


def _only_streams(call: int) -> list[bytes]:
    """Return a filter that refuses a call unless its family and type of socket are Unix and stream."""
    return [
        _step(_EQUAL, call, 0, 7),
        _step(_LOAD, _ARGUMENTS_AT),
        _step(_EQUAL, _AF_UNIX, 0, 3),
        _step(_LOAD, _ARGUMENTS_AT + 8),
        _step(_KEEP, _SOCK_TYPES),
        _step(_EQUAL, _SOCK_STREAM, 1, 0),
        _step(_RETURN, _ERRNO | errno.EPERM),
        _step(_LOAD, _NUMBER_AT),
    ]


def _seccomp(libc: ctypes.CDLL, calls: Architecture, sockets: Sequence[bytes], flags: int = 0) -> int:
    """Install a filter of system calls; return a negative number on failure, and with a flag a listener."""
    filters = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_EQUAL, calls.audit, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
    ]
    if platform.machine() == "x86_64":
        filters += [_step(_ANY_BIT, _X32_BIT, 0, 1), _step(_RETURN, _KILL)]
    refuse = _step(_RETURN, _ERRNO | errno.EPERM)
    for number in calls.refused:
        filters += [_step(_EQUAL, number, 0, 1), refuse]
    # A filter cannot see the flags of clone3. Pretend that clone3 does not exist: the C library then uses
    # clone.
    filters += [_step(_EQUAL, calls.clone3, 0, 1), _step(_RETURN, _ERRNO | errno.ENOSYS)]
    filters += [_step(_EQUAL, calls.clone, 0, 3), _step(_LOAD, _ARGUMENTS_AT)]
    filters += [_step(_ANY_BIT, _CLONE_THREAD, 1, 0), refuse, _step(_LOAD, _NUMBER_AT)]
    # prlimit may read limits, but not set them: refuse it if its third argument, a new limit, is not null.
    filters += [_step(_EQUAL, calls.prlimit, 0, 6), _step(_LOAD, _ARGUMENTS_AT + 16), _step(_EQUAL, 0, 0, 2)]
    filters += [_step(_LOAD, _ARGUMENTS_AT + 20), _step(_EQUAL, 0, 1, 0), refuse, _step(_LOAD, _NUMBER_AT)]
    filters += [*sockets, _step(_RETURN, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(filters))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(filters), ctypes.addressof(code)))
    return libc.syscall(calls.seccomp, _SET_MODE_FILTER, flags, program)


def _step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand)
