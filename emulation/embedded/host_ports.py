# SPDX-License-Identifier: Apache-2.0
"""Arbitrary frames into and out of the host ports of a fabric, by host name."""

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import final

from emulation._engine import Network
from emulation.errors import TestbedError
from emulation.traffic.host.participant import Output

__all__ = ["MAX_FRAME_BYTES", "FrameHandler", "HostPorts"]

MAX_FRAME_BYTES = 65535
"""Bytes of the longest frame that may enter a host port."""

FrameHandler = Callable[[str, int, bytes], None]
"""Receives a frame that has left the fabric: host, virtual time in ps, frame."""


@final
class HostPorts:
    """The host ports of a network, while no agents are attached to them.

    `hosts` gives the engine's number of each host. Handlers are called by the thread that runs the network,
    which holds `lock`; `work` wakes that thread.
    """

    def __init__(
        self, network: Network, hosts: Mapping[str, int], lock: threading.RLock, work: threading.Event
    ) -> None:
        self._network = network
        self._hosts = hosts
        self._lock = lock
        self._work = work
        self._open = False
        self._handlers: dict[int, tuple[frozenset[str], FrameHandler]] = {}
        self._count = 0
        self._waiting: list[Callable[[], None]] = []

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the hosts, in the order of the fabric."""
        return tuple(self._hosts)

    def open(self) -> None:
        """Attach handlers to all host ports; before this, `send` and `listen` raise a TestbedError."""
        with self._lock:
            for name, number in self._hosts.items():
                self._network.set_handler(number, _Host(name, self._deliver))
            self._open = True

    def send(self, host: str, frame: bytes, vl: int = 0) -> None:
        """Send a frame into the port of a host now, on a virtual lane.

        Raises:
            TestbedError: There is no such host, or the frame is empty or too long.
        """
        self._check([host])
        if not 0 < len(frame) <= MAX_FRAME_BYTES:
            raise TestbedError(
                f"{host} cannot be sent a frame of {len(frame)} bytes",
                remedy=f"send 1 to {MAX_FRAME_BYTES} bytes",
            )
        with self._lock:
            self._network.send(self._hosts[host], frame, vl)
        self._work.set()

    def listen(self, hosts: Collection[str], handler: FrameHandler) -> Callable[[], None]:
        """Pass frames leaving by the ports of `hosts` to a handler; return a function to end this."""
        self._check(hosts)
        with self._lock:
            number, self._count = self._count, self._count + 1
            self._handlers[number] = frozenset(hosts), handler

        def end() -> None:
            with self._lock:
                self._handlers.pop(number, None)

        return end

    def when_idle(self, callback: Callable[[], None]) -> None:
        """Call back in the network's thread once no frame is under way any more."""
        with self._lock:
            self._waiting.append(callback)
        self._work.set()

    def take_waiting(self) -> list[Callable[[], None]]:
        """Remove and return the callbacks given to `when_idle`."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        return waiting

    def _check(self, hosts: Collection[str]) -> None:
        if not self._open:
            raise TestbedError("this fabric runs agents on its hosts", remedy="start it by `railyard up`")
        for host in hosts:
            if host not in self._hosts:
                some = ", ".join(list(self._hosts)[:8]) or "none"
                raise TestbedError(f"there is no host {host!r}", remedy=f"hosts are {some}")

    def _deliver(self, host: str, time_ps: int, frame: bytes) -> None:
        for hosts, handler in tuple(self._handlers.values()):
            if host in hosts:
                handler(host, time_ps, frame)


@final
@dataclass(frozen=True, slots=True)
class _Host:
    """Handler of a host port: passes arriving frames to `deliver`, and sends none by itself."""

    name: str
    deliver: FrameHandler

    def start(self, now: int) -> Output:
        return [], None

    def on_frame(self, frame: bytes, now: int) -> Output:
        self.deliver(self.name, now, frame)
        return [], None

    def on_timer(self, now: int) -> Output:
        return [], None
