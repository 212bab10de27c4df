# SPDX-License-Identifier: Apache-2.0
"""Named network namespaces, where iproute2 keeps them: `ip netns exec NAME` reaches every one of them."""

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
    """Move the calling thread, and what it starts from now on, into the namespace `name`."""
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
    """The result of `act`, called by a thread in the namespace `name`; the caller stays where it is."""

    def there() -> T:
        enter(name)
        return act()

    return _by_a_thread(there)


def inside_new(act: Callable[[], T]) -> T:
    """The same in a new namespace, which is gone afterwards with whatever was made in it."""

    def there() -> T:
        try:
            enter_new_namespace()
        except OSError as ex:
            raise TestbedError(str(ex), remedy=_remedy()) from ex
        return act()

    return _by_a_thread(there)


def create(name: str) -> None:
    """Make the namespace `name`; interfaces made in it do not speak of themselves (see `quiet`).

    TestbedError when there is one of that name, or when the process may not.
    """
    path = DIRECTORY / name
    with _directory():
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0))
        except FileExistsError:
            raise TestbedError(
                f"network namespace {name} exists already", remedy=f"`ip netns delete {name}` if it is yours"
            ) from None

    def make() -> None:
        # The bind mount keeps the namespace when this thread, for now alone in it, has ended.
        if _mount("/proc/thread-self/ns/net", path, _MS_BIND) != 0:
            raise TestbedError(f"network namespace {name} cannot be kept: {_why()}", remedy=_remedy())

    try:
        inside_new(make)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def remove(name: str) -> None:
    """Take the name away if it is there, and with it the namespace, unless someone is still in it."""
    path = DIRECTORY / name
    # Fails where there is a bare file: from before a reboot, or when whoever made it did not get further.
    _libc.umount2(os.fsencode(path), _MNT_DETACH)
    path.unlink(missing_ok=True)


def identity(name: str) -> tuple[int, int] | None:
    """Device and inode, the same for every handle on a namespace; None when there is none."""
    with suppress(FileNotFoundError):
        status = (DIRECTORY / name).stat()
        if status.st_dev == Path("/proc/self/ns/net").stat().st_dev:
            return status.st_dev, status.st_ino
    return None


def exists(name: str) -> bool:
    return (DIRECTORY / name).exists()


def quiet(name: str) -> None:
    """Interfaces made from now on in the namespace `name` have no IPv6: they send no router solicitations."""

    def switch_off() -> None:
        setting = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")  # of the namespace of who opens it
        if setting.exists() and setting.read_text().strip() != "1":
            setting.write_text("1")

    inside(name, switch_off)


@contextmanager
def _directory() -> Iterator[None]:
    """/run/netns as iproute2 has it: a mount of its own whose changes every mount namespace sees.

    Otherwise a service with mounts of its own, started in the meantime, would hold every namespace for good.
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
    """A namespace is a thread's, so a thread that ends afterwards leaves nobody in the wrong one."""
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
