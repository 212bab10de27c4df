# SPDX-License-Identifier: Apache-2.0
"""Let the Linux kernel refuse files to this process (Landlock).

This needs no privileges, applies to root too, and cannot be undone. The constants come from linux/prctl.h and
linux/landlock.h.
"""

import ctypes
import os
import platform
import stat
import struct
from collections.abc import Sequence

__all__ = ["confine_files", "confine_reads", "keeps_reads", "without_new_rights"]

_PR_SET_NO_NEW_PRIVS = 38

_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446
_LANDLOCK_PATH_BENEATH = 1
_LANDLOCK_READ_FILE, _LANDLOCK_READ_DIR = 1 << 2, 1 << 3
# Landlock's access rights that change the file system, in its first version; truncation came with version 3.
_LANDLOCK_WRITES = 0x1FF2
_LANDLOCK_TRUNCATE = 1 << 14


def confine_files(libc: ctypes.CDLL, readable: Sequence[str]) -> bool:
    """Let this process read only the given files and folders, and write nothing that is not open already.

    Returns:
        Whether the kernel supports this.
    """
    return _landlock(libc, readable, _LANDLOCK_WRITES | (_LANDLOCK_TRUNCATE if _version(libc) >= 3 else 0))


def confine_reads(readable: Sequence[str]) -> bool:
    """Confine the reads of this process to the given files and folders, for good and also after an exec.

    Writes are not confined.

    Returns:
        Whether the kernel supports this.
    """
    libc = without_new_rights()
    return libc is not None and _landlock(libc, readable, 0)


def keeps_reads() -> bool:
    """Return whether this machine's kernel can confine the reads of a process."""
    return platform.system() == "Linux" and _version(ctypes.CDLL(None)) >= 1


def without_new_rights() -> ctypes.CDLL | None:
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
