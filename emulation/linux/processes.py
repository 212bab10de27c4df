# SPDX-License-Identifier: Apache-2.0
"""Finding and ending the processes of a run or in a namespace; never by name or pid alone."""

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
"""Name of the environment variable with the run's token; child processes inherit it."""

GRACE = 3.0
"""Seconds between asking a process to end and killing it."""
_PATIENCE = 5.0  # seconds after which a killed process counts as unkillable
_MOMENT = 1.0  # longer than a process is without an environment while it starts a program

_PROC = Path("/proc")
_KERNEL_THREAD = 0x00200000


def started(pid: int) -> int | None:
    """Return a process's start in clock ticks since boot; None if it has ended. Pid and start identify it."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def memory(pid: int) -> int:
    """Return the address of a process's environment; it changes with every start of a program.

    A forked process has its parent's address until it starts a program. 0: the process has ended.
    """
    fields = _stat(pid)
    return int(fields[47]) if fields else 0


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third on (proc_pid_stat(5)); none for an ended process."""
    with suppress(OSError):
        # The name, in parentheses, may contain any character.
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return [] if fields[0] in "ZX" else fields
    return []


def alive(pid: int, start: int) -> bool:
    """Return whether the process with this pid and start time still runs."""
    return started(pid) == start


def name_of(pid: int) -> str:
    """Return a process's name, or "gone" if it has ended."""
    with suppress(OSError):
        return (_PROC / str(pid) / "comm").read_text(errors="replace").strip()
    return "gone"


def ancestors() -> frozenset[int]:
    """Return the pids of this process and of its ancestors, which this process must not end."""
    pids: set[int] = set()
    pid = os.getpid()
    while pid > 0 and pid not in pids:
        pids.add(pid)
        try:
            status = (_PROC / str(pid) / "stat").read_text(errors="replace")
        except OSError:
            break
        pid = int(status.rpartition(")")[2].split()[1])
    return frozenset(pids)


def carrying(token: str) -> frozenset[int]:
    """Return the pids of all processes with a run's token in their environment."""
    return frozenset(pid for pid in _pids() if carries(pid, token))


def carries(pid: int, token: str) -> bool:
    """Return whether a process has a run's token in its environment."""
    with suppress(OSError):
        return f"{VARIABLE}={token}".encode() in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return False


def settle(owner: int, start: int, address: int) -> None:
    """Wait until all processes just forked by the owner have started their programs.

    Until then such a process carries no token: first it is a copy of the owner, then it briefly has no
    environment. The wait is limited to seconds: other processes can look like newly forked ones.

    Args:
        owner: pid of the owner.
        start: start of the owner, as of `started`.
        address: address of the owner's environment, as of `memory`; 0: do not wait for copies.
    """
    begin = time.monotonic()
    for seconds, is_starting in ((_PATIENCE, _is_copy), (_MOMENT, _is_blank)):
        while any(
            int(fields[19]) >= start and pid not in (owner, os.getpid()) and is_starting(pid, fields, address)
            for pid in _pids()
            if (fields := _stat(pid))
        ):
            if time.monotonic() > begin + seconds:
                break
            time.sleep(0.005)


def _is_copy(pid: int, fields: list[str], address: int) -> bool:
    return int(fields[47]) == address != 0


def _is_blank(pid: int, fields: list[str], address: int) -> bool:
    if int(fields[6]) & _KERNEL_THREAD:
        return False
    with suppress(OSError):
        return not (_PROC / str(pid) / "environ").read_bytes() and bool(_stat(pid))
    return False


def inside(namespaces: Iterable[tuple[int, int]]) -> Mapping[tuple[int, int], tuple[int, ...]]:
    """Return, by `netns.identity` of a network namespace, the pids with a thread in that namespace."""
    pids_in: dict[tuple[int, int], list[int]] = {identity: [] for identity in namespaces}
    for pid in _pids() if pids_in else ():
        for identity in _namespaces_of(pid):
            if identity in pids_in:
                pids_in[identity].append(pid)
    return {identity: tuple(pids) for identity, pids in pids_in.items()}


def end(
    find: Callable[[], Iterable[int]], still: Callable[[int], bool]
) -> tuple[dict[int, str], dict[int, str]]:
    """End the processes whose pids `find` returns, until it returns none.

    Each process gets SIGTERM, and SIGKILL after GRACE seconds. `still` tells whether a pid is still the
    process to end; it is called while a pidfd holds the process, so that no other process with a reused pid
    is signalled.

    Returns:
        Names by pid of the processes that have ended, and of the processes that do not end when killed.
    """
    ended: dict[int, str] = {}
    begin = time.monotonic()
    while True:
        # The second call finds a process whose parent ended during the first call.
        running = {pid: name_of(pid) for pid in find() or find()}
        if not running:
            return ended, {}
        now = time.monotonic()
        if now > begin + GRACE + _PATIENCE:
            return {pid: name for pid, name in ended.items() if pid not in running}, running
        number, until = (
            (signal.SIGTERM, begin + GRACE) if now < begin + GRACE else (signal.SIGKILL, now + 0.5)
        )
        ended |= running
        with ExitStack() as handles:
            poll, waiting = select.poll(), set[int]()
            for pid in running:
                with suppress(ProcessLookupError):
                    handle = os.pidfd_open(pid)
                    handles.callback(os.close, handle)
                    if still(pid):
                        signal.pidfd_send_signal(handle, number)
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
    identities: set[tuple[int, int]] = set()
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            with suppress(OSError):
                status = (task / "ns" / "net").stat()
                identities.add((status.st_dev, status.st_ino))
    return identities
