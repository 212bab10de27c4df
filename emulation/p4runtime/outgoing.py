# SPDX-License-Identifier: Apache-2.0
"""Bounded queues to controllers: from other threads to the event loop, and from there to each stream.

A controller that reads more slowly than packet-ins arrive must not fill the memory. A full queue drops the
messages that the protocol allows to be lost (packet-ins, digests, notifications, stream errors); `Losses`
counts them.
"""

import asyncio
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any, final

from finsy.proto import p4r

__all__ = ["Handover", "Losses", "Outgoing"]

_log = logging.getLogger("railyard.p4runtime")

_CALLS_AT_ONCE = 64
_NAMES = {
    "packet": "packet-ins",
    "digest": "digest lists",
    "idle_timeout_notification": "idle timeout notifications",
    "error": "stream errors",
}


@final
class Losses:
    """Counts of messages lost by controllers of a server, by device id and kind. Any thread may count.

    A warning is logged when a queue begins to lose messages, and the numbers once this queue is empty.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total: Counter[tuple[int, str]] = Counter()
        self._unsaid: dict[tuple[int, str], Counter[str]] = {}  # by device id and name of the queue

    def count(self, device_id: int, queue: str, kind: str) -> None:
        """Count a lost message; `kind` is its field of StreamMessageResponse, `queue` a name for the log."""
        with self._lock:
            self._total[device_id, kind] += 1
            begins = (device_id, queue) not in self._unsaid
            self._unsaid.setdefault((device_id, queue), Counter())[kind] += 1
        if begins:
            _log.warning("device %d: %s is full; messages are lost until it is read", device_id, queue)

    def say(self, queue: str, device_id: int | None = None) -> None:
        """Log the messages lost by a queue since the last call; without a device id, on all devices."""
        if not self._unsaid:
            return
        with self._lock:
            keys = [key for key in self._unsaid if key[1] == queue and device_id in (None, key[0])]
            lost = {key[0]: self._unsaid.pop(key) for key in keys}
        for device, kinds in lost.items():
            counts = ", ".join(f"{count} {_NAMES[kind]}" for kind, count in sorted(kinds.items()))
            _log.warning("device %d: %s has lost %s", device, queue, counts)

    def of(self, device_id: int) -> Mapping[str, int]:
        """Return the number of lost messages of a device by kind, such as "packet-ins"."""
        with self._lock:
            return {_NAMES[kind]: count for (id, kind), count in self._total.items() if id == device_id}


@final
class Outgoing:
    """Queue of messages to one controller: at most `most` messages and `most_bytes` bytes.

    Only the event loop's thread uses it.
    """

    def __init__(self, most: int = 8_192, most_bytes: int = 16 << 20) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._waiting: deque[list[p4r.StreamMessageResponse]] = deque()  # one message in each list
        self._bytes = 0
        self._state: list[p4r.StreamMessageResponse] | None = None  # the last queued message of put_state
        self._ended = False
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, message: p4r.StreamMessageResponse) -> bool:
        """Add a message, or return False if the queue is full. An empty queue takes any message."""
        size = message.ByteSize()
        if self._waiting and self._is_full(size):
            return False
        self._add([message], size)
        return True

    def put_state(self, message: p4r.StreamMessageResponse) -> None:
        """Add a state message; it is never lost and makes earlier state messages obsolete.

        In a full queue it replaces the last queued state message.
        """
        size = message.ByteSize()
        if self._state is not None and self._is_full(size):
            self._bytes += size - self._state[0].ByteSize()
            self._state[0] = message
            return
        self._state = [message]
        self._add(self._state, size)

    def _is_full(self, size: int) -> bool:
        """Return whether the queue has no room for a message of `size` bytes."""
        return len(self._waiting) >= self._most or self._bytes + size > self._most_bytes

    def _add(self, cell: list[p4r.StreamMessageResponse], size: int) -> None:
        self._waiting.append(cell)
        self._bytes += size
        self._changed.set()

    def end(self) -> None:
        """Let `get` return None once the queue is empty."""
        self._ended = True
        self._changed.set()

    def close(self) -> None:
        """Discard all queued messages, and let `get` return None at once."""
        self._waiting.clear()
        self._bytes, self._state = 0, None
        self.end()

    async def get(self) -> p4r.StreamMessageResponse | None:
        """Wait for the next message and return it; None once the queue has ended."""
        while not self._waiting:
            if self._ended:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self.take()

    def take(self) -> p4r.StreamMessageResponse:
        """Remove and return the next message; the queue must not be empty."""
        cell = self._waiting.popleft()
        if cell is self._state:
            self._state = None
        self._bytes -= cell[0].ByteSize()
        return cell[0]


@final
class Handover:
    """Bounded queue of calls from any thread to an event loop, which makes them in order.

    The loop calls `on_empty` whenever the queue has become empty.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_empty: Callable[[], None],
        most: int = 8_192,
        most_bytes: int = 16 << 20,
    ) -> None:
        self._loop = loop
        self._on_empty = on_empty
        self._most, self._most_bytes = most, most_bytes
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Callable[..., Any], tuple[Any, ...], int]] = deque()
        self._bytes = 0
        self._running = False  # `_run` is under way or scheduled

    def hand(self, size: int, call: Callable[..., Any], *args: Any) -> bool:
        """Queue a call that holds `size` bytes; return False, without queueing it, if the queue is full."""
        with self._lock:
            if self._waiting and (len(self._waiting) >= self._most or self._bytes + size > self._most_bytes):
                return False
            self._waiting.append((call, args, size))
            self._bytes += size
            begins, self._running = not self._running, True
        if begins:
            self._loop.call_soon_threadsafe(self._run)
        return True

    def _run(self) -> None:
        """Make up to _CALLS_AT_ONCE queued calls, then yield to other tasks of the loop."""
        for _ in range(_CALLS_AT_ONCE):
            with self._lock:
                if self._waiting:
                    call, args, size = self._waiting.popleft()
                    self._bytes -= size
                else:
                    self._running = False
                    break
            try:
                call(*args)
            except BaseException:
                self._loop.call_soon(self._run)  # the loop reports the error, and the other calls follow
                raise
        else:
            self._loop.call_soon(self._run)
            return
        self._on_empty()
