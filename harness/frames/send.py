# SPDX-License-Identifier: Apache-2.0
"""Send a frame on a real network interface through a raw socket."""

from __future__ import annotations

import ctypes
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from emulation.errors import TestbedError

__all__ = ["send"]

_NAMESPACES = Path("/run/netns")
_OWN_NAMESPACE = Path("/proc/thread-self/ns/net")
_CLONE_NEWNET = 0x40000000


def send(frame: bytes, interface: str, *, namespace: str = "", count: int = 1, rate: float = 0.0) -> float:
    """Send a frame `count` times on an interface; return the duration in seconds.

    An empty `namespace` is the namespace of this process. `rate` is in frames per second; 0 means no pause
    between frames.

    Raises:
        TestbedError: The interface or namespace does not exist, the user is not root, or a send fails.
    """
    with _packet_socket(interface, namespace) as link:
        began = time.monotonic()
        for number in range(count):
            # Send times count from the first frame, so that a late frame does not delay the following frames.
            late = time.monotonic() - began - number / rate if rate else 0.0
            if late < 0:
                time.sleep(-late)
            _put(link, frame, interface)
        return time.monotonic() - began


def _put(link: socket.socket, frame: bytes, interface: str) -> None:
    try:
        link.send(frame)
    except OSError as ex:
        raise TestbedError(
            f"interface {interface} cannot send the frame: {ex.strerror}",
            remedy="bring the interface up, and keep frames within its MTU",
        ) from None


@contextmanager
def _packet_socket(interface: str, namespace: str) -> Iterator[socket.socket]:
    try:
        with _inside(namespace):
            link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError as ex:
        raise TestbedError(
            f"a raw socket cannot be opened: {ex.strerror}", remedy="run the command with sudo"
        ) from None
    with link:
        try:
            link.bind((interface, 0))
        except OSError as ex:
            where = f" in namespace {namespace}" if namespace else ""
            raise TestbedError(
                f"interface {interface}{where} cannot be used: {ex.strerror}",
                remedy="name an interface that `ip link` lists",
            ) from None
        yield link


@contextmanager
def _inside(namespace: str) -> Iterator[None]:
    """Run the body of the `with` statement with this thread in a named network namespace.

    A socket that the body creates stays in this namespace. An empty name changes nothing.
    """
    if not namespace:
        yield
        return
    home = os.open(_OWN_NAMESPACE, os.O_RDONLY)
    try:
        try:
            target = os.open(_NAMESPACES / namespace, os.O_RDONLY)
        except FileNotFoundError:
            raise TestbedError(
                f"network namespace {namespace!r} does not exist", remedy="name one that `ip netns` lists"
            ) from None
        try:
            _enter(target)
        finally:
            os.close(target)
        try:
            yield
        finally:
            _enter(home)
    finally:
        os.close(home)


def _enter(descriptor: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"the network namespace cannot be entered: {os.strerror(error)}")
