# SPDX-License-Identifier: Apache-2.0
"""Sending of a frame on a real interface through a raw socket."""

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
    """Send a frame `count` times, `rate` times a second (0: without a pause), and return the seconds taken.

    Raises:
        TestbedError: The interface or namespace does not exist, or the user is not root.
    """
    with _packet_socket(interface, namespace) as link:
        began = time.monotonic()
        for number in range(count):
            # Slots count from the first frame, so that a late frame does not delay the following frames.
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
            f"interface {interface}: {ex.strerror}", remedy="bring it up, and keep frames within its MTU"
        ) from None


@contextmanager
def _packet_socket(interface: str, namespace: str) -> Iterator[socket.socket]:
    try:
        with _inside(namespace):
            link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError as ex:
        raise TestbedError(f"a raw socket: {ex.strerror}", remedy="run it as root, or with sudo") from None
    with link:
        try:
            link.bind((interface, 0))
        except OSError as ex:
            where = f" in namespace {namespace}" if namespace else ""
            raise TestbedError(
                f"interface {interface}{where}: {ex.strerror}", remedy="list the interfaces with `ip link`"
            ) from None
        yield link


@contextmanager
def _inside(namespace: str) -> Iterator[None]:
    """Move this thread to a named network namespace; a socket stays in the namespace of its creation."""
    if not namespace:
        yield
        return
    home = os.open(_OWN_NAMESPACE, os.O_RDONLY)
    try:
        try:
            target = os.open(_NAMESPACES / namespace, os.O_RDONLY)
        except FileNotFoundError:
            raise TestbedError(f"no namespace named {namespace!r}", remedy="`ip netns` lists them") from None
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
        raise OSError(error, f"entering a network namespace: {os.strerror(error)}")
