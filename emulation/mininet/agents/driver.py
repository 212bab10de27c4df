# SPDX-License-Identifier: Apache-2.0
"""Driver of a sans-IO host in real time: a raw socket, a clock, and frames that leave at a stated rate.

Time dilation D (Gupta et al., NSDI 2006): a second of the host's clock takes D real seconds, so that links of
hundreds of Gbit/s keep their proportions on a machine that cannot carry such rates.
"""

import errno
import select
import socket
import time
from array import array
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import final

import numpy as np

from emulation.testbed import Host, Output

__all__ = ["Clock", "HostDriver", "Pace", "open_socket"]

_ETHERTYPE = 0x88B5
_BUFFER_BYTES = 16 << 20
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_BATCH = 32
_RESPONSE_VLS = (2, 3)
_LPH_AT = 14
_FOREVER_NS = 1 << 62
_FULL = (errno.ENOBUFS, errno.EAGAIN)
_AGAIN_NS = 500_000
_NOTE_NS = 50_000_000


@final
@dataclass(frozen=True, slots=True)
class Clock:
    """Scenario time of a run that began at `start_ns` of the machine's monotonic clock."""

    start_ns: int
    dilation: int

    def ps(self, now_ns: int) -> int:
        """Return the scenario time at a monotonic time."""
        return (now_ns - self.start_ns) * 1000 // self.dilation

    def ns(self, time_ps: int) -> int:
        """Return the first monotonic nanosecond at which ps() is at least `time_ps`."""
        return self.start_ns - (-time_ps * self.dilation // 1000)


@final
@dataclass(frozen=True, slots=True)
class Pace:
    """Adherence of a driver to its rate. Times are real.

    `offered_bytes` are the bytes that the stated rate allows while frames wait, `sent_bytes` the bytes sent
    then. `late_us` is the time from each frame's slot to its sending, `waited_us` its time in the queue.
    `refused` counts frames that the kernel had no room for, which were sent again, and `missed` frames that
    it dropped on arrival.
    """

    offered_bytes: int
    sent_bytes: int
    late_us: np.ndarray
    waited_us: np.ndarray
    refused: int
    missed: int


def open_socket(interface: str) -> socket.socket:
    """Open a raw socket for UB frames in the caller's network namespace."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    # Frames that wait for a link count against their sender's buffer.
    for option in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE):
        raw.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
    raw.bind((interface, _ETHERTYPE))
    raw.setblocking(False)
    return raw


@final
class HostDriver:
    """Driver of a host at `rate_bps` real bits per second; `tally(n)` is called for n arrived bytes.

    `note` is called at most 20 times a second while frames arrive or timers expire.
    """

    def __init__(
        self,
        host: Host,
        raw: socket.socket,
        rate_bps: float,
        bin_ps: int,
        tally: Callable[[int], None],
        note: Callable[[], None] | None = None,
    ) -> None:
        self._host = host
        self._raw = raw
        self._ns_per_byte = 8e9 / rate_bps
        self._bin_ps = bin_ps
        self._tally = tally
        self._note = note
        self._notes_at = _FOREVER_NS  # time of the next note, once the host has done something
        self._noted = 0
        self.bins: dict[int, int] = {}
        self._responses: deque[tuple[bytes, int]] = deque()
        self._data: deque[tuple[bytes, int]] = deque()
        self._slot = 0.0  # when the next frame may leave, ns
        self._deadline = _FOREVER_NS
        self._begins = _FOREVER_NS  # start time of a replacing host
        self._since = -1  # start of the current queue's wait; -1: the queue is empty
        self._offered = 0.0
        self._sent = 0
        self._refused = 0
        self._again = 0  # earliest time to send again after a refusal
        self._late = array("q")
        self._waited = array("q")

    def replace(self, host: Host, start_ns: int) -> None:
        """Replace the host by one that starts at `start_ns`; frames that wait to be sent are dropped."""
        self._end_of_wait(time.monotonic_ns())
        self._responses.clear()
        self._data.clear()
        self._host, self._deadline, self._begins = host, _FOREVER_NS, start_ns

    def tell(
        self,
        handler: Callable[[Mapping[int, frozenset[int]], int], Output],
        routes: Mapping[int, frozenset[int]],
    ) -> None:
        """Pass changed routes to the host's handler, and send what it answers."""
        self._take(handler(routes, self._clock.ps(time.monotonic_ns())))

    def run(
        self,
        clock: Clock,
        stop_fd: int,
        finished: Callable[[], bool],
        orders: Connection,
        obey: Callable[[], None],
    ) -> None:
        """Run until `stop_fd` is readable; call `finished` after every event until it returns True.

        `obey` is called when `orders` is readable, and may replace the host.
        """
        self._clock = clock
        # All hosts begin at the same moment, not when their order arrives.
        if select.select([stop_fd], [], [], max(0.0, (clock.start_ns - time.monotonic_ns()) / 1e9))[0]:
            return
        self._take(self._host.start(clock.ps(time.monotonic_ns())))
        watched = [stop_fd, orders, self._raw]
        asked = True
        while True:
            now = time.monotonic_ns()
            if now >= self._notes_at and self._note is not None:
                self._note()
                self._noted, self._notes_at = now, _FOREVER_NS
            sends_at = self._due() if self._since >= 0 else _FOREVER_NS
            until = min(self._deadline, self._begins, self._notes_at, sends_at)
            wait = min(1.0, max(0.0, (until - now) / 1e9))
            # Frames for a host that has not begun wait in the socket.
            now_watched = watched if self._begins == _FOREVER_NS else watched[:2]
            # select, since epoll's timeout counts whole milliseconds.
            ready, _, _ = select.select(now_watched, [], [], wait)
            if stop_fd in ready:
                self._end_of_wait(time.monotonic_ns())
                return
            if orders in ready:
                obey()
                asked = True
            if self._raw in ready:
                self._receive()
            if time.monotonic_ns() >= self._begins:
                self._begins = _FOREVER_NS
                self._take(self._host.start(clock.ps(time.monotonic_ns())))
            if time.monotonic_ns() >= self._deadline:
                self._take(self._host.on_timer(clock.ps(time.monotonic_ns())))
            self._send()
            if asked:
                asked = not finished()

    def _take(self, output: Output) -> None:
        if self._note is not None:
            self._notes_at = self._noted + _NOTE_NS
        frames, deadline = output
        if frames:
            now = time.monotonic_ns()
            if self._since < 0:
                self._since = now
                self._slot = max(self._slot, float(now))
            for frame, vl in frames:
                (self._responses if vl in _RESPONSE_VLS else self._data).append((frame, now))
        self._deadline = _FOREVER_NS if deadline is None else self._clock.ns(deadline)

    def _receive(self) -> None:
        receive, host, clock = self._raw.recv, self._host, self._clock
        for _ in range(_BATCH):
            try:
                frame = receive(65536)
            except BlockingIOError:
                return
            now = clock.ps(time.monotonic_ns())
            if len(frame) > _LPH_AT + 2 and (frame[_LPH_AT] & 1 or frame[_LPH_AT + 1] & 0xC0 != 0x40):
                # All VLs but 2 and 3: data.
                self.bins[now // self._bin_ps] = self.bins.get(now // self._bin_ps, 0) + len(frame)
                self._tally(len(frame))
            self._take(host.on_frame(frame, now))

    def _send(self) -> None:
        """Send every frame whose slot is due; late slots are made up for, so the rate holds on average."""
        while self._since >= 0:
            now = time.monotonic_ns()
            if now < self._due():
                return
            waiting = self._responses or self._data
            frame, queued = waiting.popleft()
            try:
                self._raw.send(frame)
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                # The kernel had no room for the frame and dropped it; it stays first in the queue.
                waiting.appendleft((frame, queued))
                self._refused += 1
                self._again = now + _AGAIN_NS
                return
            self._late.append(now - max(int(self._slot), queued))
            self._waited.append(now - queued)
            self._sent += len(frame)
            self._slot += len(frame) * self._ns_per_byte
            if not self._responses and not self._data:
                self._end_of_wait(max(now, int(self._slot)))

    def _due(self) -> int:
        """Return the time at which the first frame in the queue may leave."""
        return max(int(self._slot), self._again)

    def _end_of_wait(self, now: int) -> None:
        if self._since >= 0:
            self._offered += (now - self._since) / self._ns_per_byte
            self._since = -1

    def pace(self) -> Pace:
        """Return the adherence to the rate, after run()."""
        counts = self._raw.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        return Pace(
            offered_bytes=round(self._offered),
            sent_bytes=self._sent,
            late_us=np.frombuffer(self._late, np.int64) / 1000 if self._late else np.zeros(0),
            waited_us=np.frombuffer(self._waited, np.int64) / 1000 if self._waited else np.zeros(0),
            refused=self._refused,
            missed=int.from_bytes(counts[4:8], "little"),
        )
