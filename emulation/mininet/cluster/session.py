# SPDX-License-Identifier: Apache-2.0
"""ssh session with the part on a machine: orders, answers and events, and the machine's clock."""

import os
import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, final

from emulation.errors import MachineError, TestbedError
from emulation.linux.record import RunRecord
from emulation.mininet.cluster.machines import Machine
from emulation.mininet.cluster.orders import BEGIN, Answer, Event, Order

__all__ = ["ClockOffset", "Session"]

_ROUNDS: Final = 16
_READY_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 60.0
_PROGRAM: Final = ("-m", "emulation.mininet.cluster.part")


@final
@dataclass(frozen=True, slots=True)
class ClockOffset:
    """A machine's clocks minus this machine's, monotonic and wall, each exact to +-`within_ns`."""

    monotonic_ns: int
    wall_ns: int
    within_ns: int


@final
class Session:
    """A session with the part on a machine. Any thread may give orders; one thread at a time takes events.

    The session can be selected on: it is readable while events wait.
    """

    def __init__(self, machine: Machine, record: RunRecord) -> None:
        self.machine = machine
        self._log = record.folder / f"{machine.name}.log"
        self._lock = threading.Lock()
        self._answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._orders_given = 0
        self._events: deque[Event] = deque()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._closing = False
        with self._log.open("wb") as log:
            self._ssh = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *machine.command(*_PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,  # a buffer would swallow the answers that follow the line BEGIN
                env=record.environment(),
                process_group=0,  # Ctrl-C goes to the testbed, which ends the part
            )
        assert self._ssh.stdin is not None
        assert self._ssh.stdout is not None
        self._orders = Connection(os.dup(self._ssh.stdin.fileno()), readable=False)
        self._ssh.stdin.close()
        self._reader = threading.Thread(target=self._read, name=f"railyard-{machine.name}", daemon=True)
        self._reader.start()

    def fileno(self) -> int:
        """Return the descriptor to select on, readable while events wait."""
        return self._wake

    def events(self) -> Iterator[Event]:
        """Yield the waiting events; TestbedError once the connection has ended."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        while self._events:
            event = self._events.popleft()
            if event.kind == "ended":
                raise self._ended()
            yield event

    def call(self, method: str, *arguments: Any, seconds: float = _READY_SECONDS) -> Any:
        """Order the part to call a method, and return the result.

        Raises:
            TestbedError: The method has failed, the connection has ended, or `seconds` passed without answer.
        """
        deadline = time.monotonic() + seconds
        with self._lock:
            self._orders_given += 1
            number = self._orders_given
            try:
                self._orders.send(Order(number, method, arguments))
            except OSError:
                raise self._ended() from None
            try:
                answer = self._answers.get(timeout=seconds)
                # Skip answers to earlier calls that a Ctrl-C or a timeout has ended.
                while answer is not None and answer.number != number:
                    answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise MachineError(
                    f"machine {self.machine.name}: {method} has no answer after {seconds:g} s",
                    remedy="look whether it is out of memory or processors",
                ) from None
        if answer is None:
            raise self._ended()
        if answer.error is not None:
            kind = MachineError if answer.of_machine else TestbedError
            raise kind(f"machine {self.machine.name}: {answer.error}", remedy=answer.remedy)
        return answer.value

    def clock(self) -> ClockOffset:
        """Return the offset of the machine's clocks from the clocks of this machine.

        The offset is measured by several exchanges, of which the fastest counts.
        """
        rounds: list[ClockOffset] = []
        for _ in range(_ROUNDS):
            sent, wall = time.monotonic_ns(), time.time_ns()
            theirs, their_wall = self.call("clocks")
            taken = time.monotonic_ns() - sent
            half = taken // 2
            rounds.append(ClockOffset(theirs - sent - half, their_wall - wall - half, half + 1))
        return min(rounds, key=lambda offset: offset.within_ns)

    def close(self) -> bool:
        """Have the part clean up, and end the connection; return True on success."""
        self._closing = True
        stopped = False
        with suppress(TestbedError):
            if self._ssh.poll() is None:
                self.call("stop", seconds=_STOP_SECONDS)
                stopped = True
        self._orders.close()
        try:
            self._ssh.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            self._ssh.wait()
        self._reader.join()
        os.close(self._wake)
        return stopped

    def _read(self) -> None:
        assert self._ssh.stdout is not None
        with suppress(EOFError, OSError):
            for line in iter(self._ssh.stdout.readline, b""):
                if line == BEGIN:
                    break
            else:
                raise EOFError
            answers = Connection(os.dup(self._ssh.stdout.fileno()), writable=False)
            while True:
                message = answers.recv()
                if isinstance(message, Answer):
                    self._answers.put(message)
                else:
                    self._events.append(message)
                    os.eventfd_write(self._wake, 1)
        self._answers.put(None)
        if not self._closing:
            self._events.append(Event("ended", ()))
            os.eventfd_write(self._wake, 1)

    def _ended(self) -> MachineError:
        with suppress(subprocess.TimeoutExpired):
            self._ssh.wait(5.0)
        self._answers.put(None)  # for the next call
        words = _last_words(self._log)
        return MachineError(
            f"machine {self.machine.name}: the connection has ended (ssh code {self._ssh.poll()}): {words}",
            remedy=f"try `{' '.join(self.machine.ssh)} true`; the entry's `python` needs Railyard",
        )


def _last_words(log: Path) -> str:
    return " / ".join(log.read_text(errors="replace").strip().splitlines()[-3:]) or "no output"
