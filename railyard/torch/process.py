# SPDX-License-Identifier: Apache-2.0
"""The connection of a rank's process with the process of the fabric (harness.ranks.coordinator)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, final

from harness.ranks.calls import Call
from railyard.torch.clock import Clock

__all__ = ["RankProcess", "current", "set_current"]


@final
class RankProcess:
    """A rank: its number, its clock and its calls, which any thread may make."""

    def __init__(self, rank: int, size: int, connection: Connection, clock: Clock) -> None:
        self.rank, self.size, self.clock = rank, size, clock
        self._connection = connection
        self._lock = threading.RLock()
        self._works = 0

    def begin(self, name: str, group: str, members: tuple[int, ...], call: Call, *more: int) -> int:
        """Call an operation, `call`, `send` or `receive`; return the number of the work."""
        with self._lock:
            self._works += 1
            self._tell(name, self._works, group, members, call, *more)
            return self._works

    def wait(self, work: int, timeout_ps: int | None) -> tuple[bytes, int]:
        """Wait for a work; return its result and the group rank of a receive's sender.

        RuntimeError with the reason if the work has failed.
        """
        good, *answer = self._ask("wait", work, timeout_ps)
        if not good:
            raise RuntimeError(answer[0])
        return answer[0], answer[1]

    def ended(self, work: int) -> bool:
        """Return whether a work has ended; asking takes time."""
        return bool(self._ask("poll", work)[0])

    def store(
        self, request: str, keys: Sequence[str], values: Sequence[bytes] = (), timeout_ps: int | None = None
    ) -> Any:
        """Return the answer of the shared store; RuntimeError if keys have no value in time."""
        good, value = self._ask("store", request, list(keys), list(values), timeout_ps)
        if not good:
            raise RuntimeError(value)
        return value

    def note(self, name: str, value: object) -> None:
        """Note a value for the report."""
        with self._lock:
            self._tell("note", name, value)

    def end(self, why: str = "") -> None:
        """Say that the rank calls nothing more; `why` it failed."""
        with self._lock:
            self._tell("end", why)

    def _tell(self, name: str, *arguments: object) -> None:
        self._connection.send((name, self.clock.now_ps(), *arguments))

    def _ask(self, name: str, *arguments: object) -> tuple[Any, ...]:
        with self._lock:
            self._tell(name, *arguments)
            time_ps, *answer = self._connection.recv()
            self.clock.advance_to(time_ps)
            return tuple(answer)


_current: list[RankProcess] = []


def set_current(process: RankProcess) -> None:
    """Set the rank of this process."""
    _current[:] = [process]


def current() -> RankProcess:
    """Return the rank of this process; RuntimeError outside of `railyard torchrun`."""
    if not _current:
        raise RuntimeError(
            "this process is no rank on a fabric; start the script with `railyard torchrun FABRIC SCRIPT`"
        )
    return _current[0]
