# SPDX-License-Identifier: Apache-2.0
"""Which processes are of a run, which sit in a namespace, and how they end: never by name or number alone."""

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

__all__ = ["VARIABLE", "alive", "ancestors", "carries", "carrying", "end", "inside", "name_of", "started"]

VARIABLE = "RAILYARD_RUN"
"""Every process of a run has it in its environment, and passes it on to all that it starts."""

GRACE = 3.0
"""Seconds between asking a process to end and ending it."""
_PATIENCE = 5.0  # after which a process that was killed is one that cannot be

_PROC = Path("/proc")


def started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot: with its number, its identity. None: not there."""
    with suppress(OSError):
        # The name, in parentheses, may hold anything; the start is field 22, the 20th behind it.
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return None if fields[0] in "ZX" else int(fields[19])
    return None


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
        found = {pid: name_of(pid) for pid in find()}
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
