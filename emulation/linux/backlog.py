# SPDX-License-Identifier: Apache-2.0
"""Waiting until all frames between the two sides of veth pairs have been delivered.

A frame sent into a veth pair waits in the backlog of the sending processor, for microseconds or as long as
the processor is busy, even if the interfaces change meanwhile. A backlog is first in, first out: once a probe
sent on a processor has arrived, every frame that was in that processor's backlog before has left it.
"""

import os
import secrets
import socket
import threading
from typing import final

from emulation.errors import TestbedError
from emulation.linux import netns, requests
from emulation.linux.netlink import RouteSocket

__all__ = ["Backlogs"]

_ETHERTYPE = 0x88B5  # for local experiments: IEEE 802
_ETH_P_ALL = 3
_SECONDS = 5.0
_MTU = 1500


@final
class Backlogs:
    """Sends probes through a veth pair in `namespace`, to wait until earlier frames have left all backlogs.

    The interfaces are `probe0` and `probe1`, with the indices `index` and `index + 1`.
    """

    def __init__(self, namespace: str, route: RouteSocket, index: int) -> None:
        def make() -> tuple[socket.socket, socket.socket]:
            handle = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            try:
                sides = requests.Side(index, "probe0", _MTU), requests.Side(index + 1, "probe1", _MTU)
                route.do(
                    [
                        requests.veth(*sides, handle, f"a pair of probes in {namespace}"),
                        requests.set_up(index, True, "probe0"),
                    ]
                )
            finally:
                os.close(handle)
            return _raw("probe0", 0), _raw("probe1", _ETHERTYPE)

        self._out, self._in = netns.inside(namespace, make)
        self._in.settimeout(_SECONDS)

    def close(self) -> None:
        """Close the sockets."""
        self._out.close()
        self._in.close()

    def wait(self) -> None:
        """Wait until every frame now in a processor's backlog has left it; TestbedError after 5 seconds."""
        frames = {
            b"\xff" * 6 + b"\2" + bytes(5) + _ETHERTYPE.to_bytes(2) + secrets.token_bytes(46)
            for _ in range(os.sysconf("SC_NPROCESSORS_CONF"))
        }
        # A separate thread, since it changes its processor affinity.
        sender = threading.Thread(target=self._send, args=(tuple(frames),))
        sender.start()
        sender.join()
        missing = self._sent
        while missing:
            try:
                missing.discard(self._in.recv(128))
            except TimeoutError:
                raise TestbedError(
                    f"a frame does not come out of a processor's backlog within {_SECONDS:g} s",
                    remedy="the machine is overloaded: take a smaller fabric or a larger time dilation",
                ) from None

    def _send(self, frames: tuple[bytes, ...]) -> None:
        self._sent: set[bytes] = set()
        for processor, frame in enumerate(frames):
            try:
                os.sched_setaffinity(0, {processor})
            except OSError:
                continue  # the run may not use this processor
            self._out.send(frame)
            self._sent.add(frame)


def _raw(interface: str, protocol: int) -> socket.socket:
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
    raw.bind((interface, protocol))
    return raw
