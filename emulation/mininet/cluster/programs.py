# SPDX-License-Identifier: Apache-2.0
"""A user's programs on the hosts of all machines, run from the controlling process."""

import queue
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, final

from emulation.errors import EmulationError, TestbedError
from emulation.mininet.cluster.orders import Event
from emulation.mininet.cluster.sessions import Sessions

__all__ = ["MachinesPrograms"]

_TOLD_SECONDS: Final = 0.2


@final
class MachinesPrograms:
    """Runs a user's program on the hosts of all machines.

    The thread that receives events from the machines passes printed lines and ends of programs to `take`.
    """

    def __init__(self, sessions: Sessions, machine_of: Mapping[str, str]) -> None:
        self._sessions = sessions
        self._machine_of = machine_of
        self._told: queue.SimpleQueue[tuple[str, Event]] = queue.SimpleQueue()

    def take(self, machine: str, event: Event) -> None:
        """Take an event of the kinds "line" and "launched"."""
        self._told.put((machine, event))

    def launch(
        self,
        words: Sequence[str],
        own: Mapping[str, Mapping[str, str]],
        say: Callable[[str, str], None],
        check: Callable[[], None],
    ) -> None:
        """Run a command on every host until all have ended; `own` has further variables by node.

        `say` gets node and text of each line; `check` is called several times a second.

        Raises:
            EmulationError: A program has failed; the others were ended.
        """
        for name, session in self._sessions.items():
            here = [node for node, machine in self._machine_of.items() if machine == name]
            session.call("launch", words, {node: own[node] for node in here if node in own})
        running = set(self._sessions)
        try:
            while running:
                check()
                try:
                    machine, event = self._told.get(timeout=_TOLD_SECONDS)
                except queue.Empty:
                    continue
                if event.kind == "line":
                    say(*event.arguments)
                    continue
                running.discard(machine)
                (error,) = event.arguments
                if error is not None:
                    raise EmulationError(error, remedy="read the program's output above")
        finally:
            for name in running:
                with suppress(TestbedError):
                    self._sessions[name].call("end_programs")
