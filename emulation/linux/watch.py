# SPDX-License-Identifier: Apache-2.0
"""Changes of the carrier of interfaces in a namespace, from the kernel's notifications."""

import errno
import select
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from typing import final

from pyroute2.netlink.rtnl import RTM_DELLINK, RTM_NEWLINK, RTMGRP_LINK

from emulation.errors import TestbedError
from emulation.linux import netns, requests
from emulation.linux.netlink import RouteSocket, attributes, messages

__all__ = ["CarrierWatch"]

# Flags: set up by the administrator; operational, which the kernel updates late; the veth peer is up.
_CARRIER = 0x1 | 0x40 | 0x10000  # IFF_UP, IFF_RUNNING, IFF_LOWER_UP
_IFLA_IFNAME, _IFLA_OPERSTATE = 3, 16
_OPERATIONAL = 6  # IF_OPER_UP
_LINK = struct.Struct("=BxHiII")  # of ifinfomsg: family, type, index, flags, which of them changed
_BUFFER = 1 << 20
_SO_RCVBUFFORCE = 33


@final
class CarrierWatch:
    """Watches the carrier of every interface of a namespace, from construction on.

    An interface has a carrier if it and its veth peer are up, and the kernel has noticed. Until then the
    kernel drops every frame sent into the interface, without counting. The object can be selected on: it is
    readable when there are changes to take.
    """

    def __init__(self, namespace: str, *, buffer_bytes: int = _BUFFER) -> None:
        self._socket = netns.inside(namespace, lambda: _listen(buffer_bytes))
        self._route = RouteSocket(namespace)
        self._known: dict[int, tuple[str, bool]] = {}
        self._again()

    def fileno(self) -> int:
        """Return the descriptor to select on."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the sockets."""
        self._socket.close()
        self._route.close()

    def take(self) -> list[tuple[str, bool]]:
        """Return the changes since the last call, in order: (interface name, True if the carrier is up).

        A new interface counts as down before, a deleted interface as down from then on. Does not wait. If the
        kernel dropped notifications because its buffer was full, only the resulting changes are returned.
        """
        changes: list[tuple[str, bool]] = []
        while True:
            try:
                answer = self._socket.recv(1 << 16)
            except BlockingIOError:
                return changes
            except OSError as ex:
                if ex.errno != errno.ENOBUFS:
                    raise
                self._drain()
                changes += self._again()
                continue
            for kind, _, _, content in messages(memoryview(answer)):
                changes += self._heed(kind, content)

    def await_up(self, interfaces: Iterable[str], seconds: float) -> None:
        """Wait until the interfaces have a carrier; TestbedError if some have none after `seconds`."""
        missing = set(interfaces) - {name for name, up in self._known.values() if up}
        deadline = time.monotonic() + seconds
        while missing:
            ready, _, _ = select.select([self], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TestbedError(
                    f"interfaces {', '.join(sorted(missing)[:5])} have no carrier after {seconds:g} s",
                    remedy="run `ip netns exec NAMESPACE ip link` while the testbed starts",
                )
            missing -= {interface for interface, up in self.take() if up}

    def _again(self) -> list[tuple[str, bool]]:
        """Read the state of all interfaces by a dump, and return the changes as `take` does."""
        changes: list[tuple[str, bool]] = []
        seen: set[int] = set()
        for kind, content in self._route.dump(requests.link_dump()):
            seen.add(_LINK.unpack_from(content)[2])
            changes += self._heed(kind, content)
        for index in self._known.keys() - seen:
            changes += self._forget(index)
        return changes

    def _heed(self, kind: int, content: memoryview) -> Iterator[tuple[str, bool]]:
        if kind not in (RTM_NEWLINK, RTM_DELLINK):
            return
        family, _, index, flags, _ = _LINK.unpack_from(content)
        if family != socket.AF_UNSPEC:  # the report of a bridge about its port
            return
        if kind == RTM_DELLINK:
            yield from self._forget(index)
            return
        known = self._known.get(index, ("", False))
        name, state = known[0], 0
        for attribute, value in attributes(content[_LINK.size :]):
            if attribute == _IFLA_IFNAME:
                name = bytes(value).rstrip(b"\0").decode()
            elif attribute == _IFLA_OPERSTATE:
                state = value[0]
        # A new interface counts as running while the kernel has not looked at its carrier at all.
        up = flags & _CARRIER == _CARRIER and state == _OPERATIONAL
        self._known[index] = name, up
        if up != known[1]:
            yield name, up

    def _forget(self, index: int) -> Iterator[tuple[str, bool]]:
        name, up = self._known.pop(index, ("", False))
        if up:
            yield name, False

    def _drain(self) -> None:
        """Discard all waiting notifications: the dump that follows is newer."""
        while True:
            try:
                self._socket.recv(1 << 16)
            except BlockingIOError:
                return
            except OSError as ex:
                if ex.errno != errno.ENOBUFS:
                    raise


def _listen(buffer_bytes: int) -> socket.socket:
    route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE)
    try:
        route.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, buffer_bytes)
    except OSError:
        route.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    route.bind((0, RTMGRP_LINK))
    return route
