# SPDX-License-Identifier: Apache-2.0
"""Confine this process by the Linux kernel: seccomp refuses system calls, Landlock refuses files.

After `raise_walls` the process cannot start a process or a program, open a socket (Unix sockets may be
allowed), send a signal, or trace a process. It can write only to files that are open already, and read only
the given files and folders. `confine_reads` only confines reads, for a compiler. Both need no privileges,
apply to root too, and cannot be undone. The constants come from linux/seccomp.h, linux/filter.h and
linux/landlock.h.
"""

import ctypes
import errno
import os
import platform
import stat
import struct
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["confine_reads", "keeps_reads", "raise_walls"]

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_FILTER = 38, 22, 2
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
# Opcodes of classic BPF: load a word of seccomp_data, jump if equal, jump if a bit is set, return.
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X32_BIT = 0x40000000
_CLONE_THREAD, _AF_UNIX = 0x10000, 1

_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446
_LANDLOCK_PATH_BENEATH = 1
_LANDLOCK_READ_FILE, _LANDLOCK_READ_DIR = 1 << 2, 1 << 3
# Landlock's access rights that change the file system, in its first version; truncation came with version 3.
_LANDLOCK_WRITES = 0x1FF2
_LANDLOCK_TRUNCATE = 1 << 14


class _Calls(NamedTuple):
    """Numbers of an architecture's system calls.

    `audit` identifies the architecture. Calls in `refused` are always refused; clone, clone3, socket and
    prlimit are refused for some arguments.
    """

    audit: int
    clone: int
    clone3: int
    socket: int
    prlimit: int
    refused: tuple[int, ...]


# Refused system calls:
# fork, vfork, execve, execveat, kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal,
# ptrace, process_vm_readv and writev, pidfd_getfd, unshare, setns, mount, umount2, chroot, pivot_root, bpf,
# reboot, init_module, finit_module, kexec_load, setrlimit, io_uring_setup, keyctl, and the calls that change
# mode, owner, times, attributes or length of a file by its name.
# fmt: off
_REFUSED_X86_64 = (
    57, 58, 59, 322, 62, 200, 234, 129, 297, 424, 101, 310, 311, 438, 272, 308, 165, 166, 161, 155, 321, 169,
    175, 313, 246, 160, 425, 250, 90, 91, 268, 452, 92, 93, 94, 260, 280, 132, 235, 261, 188, 189, 76,
)
_REFUSED_AARCH64 = (
    221, 281, 129, 130, 131, 138, 240, 424, 117, 270, 271, 438, 97, 268, 40, 39, 51, 41, 280, 142, 105, 273,
    104, 164, 425, 219, 52, 53, 452, 54, 55, 88, 5, 6, 45,
)
# fmt: on
_X86_64 = _Calls(0xC000003E, 56, 435, 41, 302, _REFUSED_X86_64)
_AARCH64 = _Calls(0xC00000B7, 220, 435, 198, 261, _REFUSED_AARCH64)
_ARCHITECTURES = {"x86_64": _X86_64, "aarch64": _AARCH64}


def raise_walls(readable: Sequence[str], *, unix_sockets: bool = False) -> list[str]:
    """Confine this process until its end; return the mechanisms that the kernel supports: landlock, seccomp.

    Args:
        readable: Files, and folders with their content, that the process may still read.
        unix_sockets: Whether the process may open Unix sockets.
    """
    libc = _without_new_rights()
    if libc is None:
        return []
    walls = []
    if _landlock(libc, readable, _LANDLOCK_WRITES | (_LANDLOCK_TRUNCATE if _version(libc) >= 3 else 0)):
        walls.append("landlock")
    calls = _ARCHITECTURES.get(platform.machine())
    if calls is not None and _seccomp(libc, calls, unix_sockets):
        walls.append("seccomp")
    return walls


def confine_reads(readable: Sequence[str]) -> bool:
    """Confine the reads of this process to the given files and folders, for good and also after an exec.

    Writes are not confined.

    Returns:
        Whether the kernel supports this.
    """
    libc = _without_new_rights()
    return libc is not None and _landlock(libc, readable, 0)


def keeps_reads() -> bool:
    """Return whether this machine's kernel can confine the reads of a process."""
    return platform.system() == "Linux" and _version(ctypes.CDLL(None)) >= 1


def _without_new_rights() -> ctypes.CDLL | None:
    """Set no_new_privs, required by seccomp and Landlock; return the C library, or None on failure."""
    if platform.system() != "Linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    return libc if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 else None


def _version(libc: ctypes.CDLL) -> int:
    return libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, 1)


def _landlock(libc: ctypes.CDLL, readable: Sequence[str], writes: int) -> bool:
    """Apply Landlock to this process; return whether that succeeded.

    Args:
        libc: The C library.
        readable: Files and folders that remain readable.
        writes: Landlock rights that are refused everywhere; 0 to allow all writes.
    """
    if _version(libc) < 1:
        return False
    rights = writes | _LANDLOCK_READ_FILE | _LANDLOCK_READ_DIR
    attributes = ctypes.create_string_buffer(struct.pack("Q", rights), 8)
    ruleset = libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, 8, 0)
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow_reads(libc, ruleset, path)
        return libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _allow_reads(libc: ctypes.CDLL, ruleset: int, path: str) -> None:
    """Add a readable file or folder to a Landlock ruleset; a path that does not exist is skipped."""
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        is_folder = stat.S_ISDIR(os.fstat(beneath).st_mode)
        rights = _LANDLOCK_READ_FILE | (_LANDLOCK_READ_DIR if is_folder else 0)
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, beneath), 12)
        libc.syscall(_LANDLOCK_ADD_RULE, ruleset, _LANDLOCK_PATH_BENEATH, rule, 0)
    finally:
        os.close(beneath)


def _seccomp(libc: ctypes.CDLL, calls: _Calls, unix_sockets: bool) -> bool:
    filters = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_EQUAL, calls.audit, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
    ]
    if calls is _X86_64:
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
    if unix_sockets:
        filters += [_step(_EQUAL, calls.socket, 0, 3), _step(_LOAD, _ARGUMENTS_AT)]
        filters += [_step(_EQUAL, _AF_UNIX, 1, 0), refuse]
    else:
        filters += [_step(_EQUAL, calls.socket, 0, 1), refuse]
    filters.append(_step(_RETURN, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(filters))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(filters), ctypes.addressof(code)))
    return libc.prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, program, 0, 0) == 0


def _step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand)
