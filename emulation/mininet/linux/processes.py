# SPDX-License-Identifier: Apache-2.0
"""Which processes are of a run, which sit in a namespace, and how they end: never by name or number alone."""

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

__all__ = [
    "VARIABLE",
    "alive",
    "ancestors",
    "carries",
    "carrying",
    "end",
    "inside",
    "memory",
    "name_of",
    "settle",
    "started",
]

VARIABLE = "RAILYARD_RUN"
"""Every process of a run has it in its environment, and passes it on to all that it starts."""

GRACE = 3.0
"""Seconds between asking a process to end and ending it."""
_PATIENCE = 5.0  # after which a process that was killed is one that cannot be
_MOMENT = 1.0  # more than a program's start takes from losing the old environment to having the new one

_PROC = Path("/proc")
_KERNEL_THREAD = 0x00200000


def started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot: with its number, its identity. None: not there."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def memory(pid: int) -> int:
    """Where the environment of a process begins in its memory: another place after every start of a program.

    A process that was forked has it where its parent has it until it starts a program. 0: not there.
    """
    fields = _stat(pid)
    return int(fields[47]) if fields else 0


def _stat(pid: int) -> list[str]:
    """Fields of a process's state from the third on (proc_pid_stat(5)); none for one that has ended."""
    with suppress(OSError):
        # The name, in parentheses, may hold anything.
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return [] if fields[0] in "ZX" else fields
    return []


def alive(pid: int, start: int) -> bool:
    return started(pid) == start


def name_of(pid: int) -> str:
    with suppress(OSError):
        return (_PROC / str(pid) / "comm").read_text(errors="replace").strip()
    return "gone"


def ancestors() -> frozenset[int]:
    """This process and whoever it descends from: they cannot be ended from here."""
    found: set[int] = set()
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        try:
            status = (_PROC / str(pid) / "stat").read_text(errors="replace")
        except OSError:
            break
        pid = int(status.rpartition(")")[2].split()[1])
    return frozenset(found)


def carrying(token: str) -> frozenset[int]:
    """Every process with the token of a run in its environment."""
    return frozenset(pid for pid in _pids() if carries(pid, token))


def carries(pid: int, token: str) -> bool:
    with suppress(OSError):
        return f"{VARIABLE}={token}".encode() in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return False


def settle(owner: int, start: int, place: int) -> None:
    """Wait until no process that is about to start a program could be one that the owner was starting.

    Such a process carries nothing yet that tells whose it is: it is a copy of the owner (`place` is the
    owner's `memory`, 0 for none; `start` when it started) and then, for a moment, has no environment at all.
    Those that stay so, being no such processes, are not waited for longer than seconds.
    """
    begin = time.monotonic()
    for seconds, is_starting in ((_PATIENCE, _is_copy), (_MOMENT, _is_blank)):
        while any(
            int(fields[19]) >= start and pid not in (owner, os.getpid()) and is_starting(pid, fields, place)
            for pid in _pids()
            if (fields := _stat(pid))
        ):
            if time.monotonic() > begin + seconds:
                break
            time.sleep(0.005)


def _is_copy(pid: int, fields: list[str], place: int) -> bool:
    return int(fields[47]) == place != 0


def _is_blank(pid: int, fields: list[str], place: int) -> bool:
    if int(fields[6]) & _KERNEL_THREAD:
        return False
    with suppress(OSError):
        return not (_PROC / str(pid) / "environ").read_bytes() and bool(_stat(pid))
    return False


def inside(namespaces: Iterable[tuple[int, int]]) -> Mapping[tuple[int, int], tuple[int, ...]]:
    """Processes with a thread in a network namespace, by the namespace's identity."""
    found: dict[tuple[int, int], list[int]] = {identity: [] for identity in namespaces}
    for pid in _pids() if found else ():
        for identity in _namespaces_of(pid):
            if identity in found:
                found[identity].append(pid)
    return {identity: tuple(pids) for identity, pids in found.items()}


def end(
    find: Callable[[], Iterable[int]], still: Callable[[int], bool]
) -> tuple[dict[int, str], dict[int, str]]:
    """End what `find` finds until it finds nothing: those that ended and those that would not, with names.

    Each is asked first. `still` is called with a process held by a handle, so that a number that has gone to
    someone else in the meantime does no harm.
    """
    ended: dict[int, str] = {}
    begin = time.monotonic()
    while True:
        # Twice, for one that was started, by another that has ended, behind the back of the first look.
        found = {pid: name_of(pid) for pid in find() or find()}
        if not found:
            return ended, {}
        now = time.monotonic()
        if now > begin + GRACE + _PATIENCE:
            return {pid: name for pid, name in ended.items() if pid not in found}, found
        how, until = (signal.SIGTERM, begin + GRACE) if now < begin + GRACE else (signal.SIGKILL, now + 0.5)
        ended |= found
        with ExitStack() as handles:
            poll, waiting = select.poll(), set[int]()
            for pid in found:
                with suppress(ProcessLookupError):
                    handle = os.pidfd_open(pid)
                    handles.callback(os.close, handle)
                    if still(pid):
                        signal.pidfd_send_signal(handle, how)
                        poll.register(handle, select.POLLIN)
                        waiting.add(handle)
            while waiting and (left := until - time.monotonic()) > 0:
                for handle, _ in poll.poll(left * 1000):
                    poll.unregister(handle)
                    waiting.discard(handle)


def _pids() -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            yield int(entry.name)


def _namespaces_of(pid: int) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            with suppress(OSError):
                status = (task / "ns" / "net").stat()
                found.add((status.st_dev, status.st_ino))
    return found
