# SPDX-License-Identifier: Apache-2.0
"""Connection of a rank's process to the process of the fabric (harness.ranks.coordinator)."""

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
    """The rank of this process, with its clock and its connection to the fabric; safe for several threads."""

    def __init__(self, rank: int, size: int, connection: Connection, clock: Clock) -> None:
        self.rank, self.size, self.clock = rank, size, clock
        self._connection = connection
        self._lock = threading.RLock()
        self._works = 0

    def begin(self, name: str, group: str, members: tuple[int, ...], call: Call, *more: int) -> int:
        """Begin an operation in a group, and return its number.

        Args:
            name: `call` for a collective, `send` or `receive`.
            group: Name of the group.
            members: Rank in the run of each member of the group.
            call: Kind, data and sizes of the operation.
            more: Partner and tag of a send or receive.
        """
        with self._lock:
            self._works += 1
            self._tell(name, self._works, group, members, call, *more)
            return self._works

    def wait(self, work: int, timeout_ps: int | None) -> tuple[bytes, int]:
        """Wait for the end of an operation; return its result, and the group rank of a receive's sender.

        Raises:
            RuntimeError: The operation has failed; the message is the reason.
        """
        good, *answer = self._ask("wait", work, timeout_ps)
        if not good:
            raise RuntimeError(answer[0])
        return answer[0], answer[1]

    def ended(self, work: int) -> bool:
        """Return whether an operation has ended; each call takes virtual time."""
        return bool(self._ask("poll", work)[0])

    def store(
        self, request: str, keys: Sequence[str], values: Sequence[bytes] = (), timeout_ps: int | None = None
    ) -> Any:
        """Send a request to the store shared by all ranks, and return its answer.

        Raises:
            RuntimeError: A key has no value within the timeout.
        """
        good, value = self._ask("store", request, list(keys), list(values), timeout_ps)
        if not good:
            raise RuntimeError(value)
        return value

    def note(self, name: str, value: object) -> None:
        """Add a value to the report of the run, with the present time."""
        with self._lock:
            self._tell("note", name, value)

    def end(self, why: str = "") -> None:
        """Tell the fabric's process that the rank has ended; `why` is the reason if it failed."""
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
    """Make `process` the rank returned by `current` in this process."""
    _current[:] = [process]


def current() -> RankProcess:
    """Return the rank of this process.

    Raises:
        RuntimeError: The process was not started by `railyard torchrun`.
    """
    if not _current:
        raise RuntimeError(
            "this process is not a rank on a fabric; start the script with `railyard torchrun FABRIC SCRIPT`"
        )
    return _current[0]
