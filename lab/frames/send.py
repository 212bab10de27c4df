# SPDX-License-Identifier: Apache-2.0
"""A frame on a real interface, through a raw socket, as often and as fast as asked."""

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
    """Send `count` frames, `rate` of them a second (0: as fast as they go); returns the seconds it took.

    TestbedError when the interface or the namespace is not there, or the user is not root.
    """
    with _packet_socket(interface, namespace) as link:
        began = time.monotonic()
        for number in range(count):
            # Each frame has its own slot, counted from the first: a late one does not delay those after it.
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
                f"interface {interface}{where}: {ex.strerror}", remedy="`ip link` lists what there is"
            ) from None
        yield link


@contextmanager
def _inside(namespace: str) -> Iterator[None]:
    """This thread in a named network namespace; a socket stays in the one where it was made."""
    if not namespace:
        yield
        return
    home = os.open(_OWN_NAMESPACE, os.O_RDONLY)
    try:
        try:
            there = os.open(_NAMESPACES / namespace, os.O_RDONLY)
        except FileNotFoundError:
            raise TestbedError(f"no namespace named {namespace!r}", remedy="`ip netns` lists them") from None
        try:
            _enter(there)
        finally:
            os.close(there)
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
