# SPDX-License-Identifier: Apache-2.0
"""Named network namespaces in iproute2's directory, so that `ip netns exec NAME` reaches them."""

import ctypes
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from emulation.errors import TestbedError
from emulation.namespace import enter_new_namespace

__all__ = ["DIRECTORY", "create", "enter", "exists", "identity", "inside", "inside_new", "quiet", "remove"]

DIRECTORY = Path("/run/netns")

T = TypeVar("T")

_CLONE_NEWNET = 0x40000000
_MNT_DETACH = 2
_MS_BIND, _MS_REC, _MS_SHARED = 1 << 12, 1 << 14, 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)


def enter(name: str) -> None:
    """Move the calling thread, and processes it starts later, into the namespace `name`."""
    try:
        handle = os.open(DIRECTORY / name, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise TestbedError(
            f"network namespace {name} does not exist", remedy="make it with RunRecord.namespace()"
        ) from None
    try:
        if _libc.setns(handle, _CLONE_NEWNET) != 0:
            raise TestbedError(f"network namespace {name} cannot be entered: {_why()}", remedy=_remedy())
    finally:
        os.close(handle)


def inside(name: str, act: Callable[[], T]) -> T:
    """Return the result of `act`, called by another thread in the namespace `name`."""

    def there() -> T:
        enter(name)
        return act()

    return _by_a_thread(there)


def inside_new(act: Callable[[], T]) -> T:
    """Return the result of `act`, called in a new namespace that is deleted afterwards."""

    def there() -> T:
        try:
            enter_new_namespace()
        except OSError as ex:
            raise TestbedError(str(ex), remedy=_remedy()) from ex
        return act()

    return _by_a_thread(there)


def create(name: str) -> None:
    """Make the namespace `name`; TestbedError if the name is taken or the process lacks the right."""
    path = DIRECTORY / name
    with _directory():
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0))
        except FileExistsError:
            raise TestbedError(
                f"network namespace {name} exists already",
                remedy=f"delete it with `ip netns delete {name}` if it is yours",
            ) from None

    def make() -> None:
        # The bind mount keeps the namespace after the end of this thread, the only thread in it so far.
        if _mount("/proc/thread-self/ns/net", path, _MS_BIND) != 0:
            raise TestbedError(f"network namespace {name} cannot be kept: {_why()}", remedy=_remedy())

    try:
        inside_new(make)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def remove(name: str) -> None:
    """Delete the namespace's name, if it exists; the namespace itself ends once no process is in it."""
    path = DIRECTORY / name
    # Fails, without harm, for a plain file, left by a reboot or by an interrupted creation.
    _libc.umount2(os.fsencode(path), _MNT_DETACH)
    path.unlink(missing_ok=True)


def identity(name: str) -> tuple[int, int] | None:
    """Return the identity (device, inode) of a namespace; None if it does not exist."""
    with suppress(FileNotFoundError):
        status = (DIRECTORY / name).stat()
        if status.st_dev == Path("/proc/self/ns/net").stat().st_dev:
            return status.st_dev, status.st_ino
    return None


def exists(name: str) -> bool:
    """Return whether the namespace `name` exists."""
    return (DIRECTORY / name).exists()


def quiet(name: str) -> None:
    """Disable IPv6 on interfaces made in a namespace from now on, so that they send no solicitations."""

    def switch_off() -> None:
        setting = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")  # applies to the opener's namespace
        if setting.exists() and setting.read_text().strip() != "1":
            setting.write_text("1")

    inside(name, switch_off)


@contextmanager
def _directory() -> Iterator[None]:
    """Lock /run/netns and mount it shared, as iproute2 does: every mount namespace sees its changes.

    Otherwise a service started meanwhile with its own mount namespace would keep every network namespace
    alive.
    """
    DIRECTORY.mkdir(mode=0o755, parents=True, exist_ok=True)
    handle = os.open(DIRECTORY, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if _mount("", DIRECTORY, _MS_SHARED | _MS_REC) != 0:
            if _mount(DIRECTORY, DIRECTORY, _MS_BIND | _MS_REC) != 0:
                raise TestbedError(f"{DIRECTORY} cannot be mounted: {_why()}", remedy=_remedy())
            _mount("", DIRECTORY, _MS_SHARED | _MS_REC)
        yield
    finally:
        os.close(handle)


def _mount(source: str | Path, target: Path, flags: int) -> int:
    return _libc.mount(os.fsencode(source), os.fsencode(target), b"none", ctypes.c_ulong(flags), None)


def _by_a_thread(act: Callable[[], T]) -> T:
    """Call `act` in a new thread: entering a namespace there does not move the calling thread."""
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(act())
        except BaseException as ex:
            failed.append(ex)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


def _why() -> str:
    return os.strerror(ctypes.get_errno())


def _remedy() -> str:
    return "run as root (sudo), in a container with --privileged"
