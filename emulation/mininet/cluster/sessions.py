# SPDX-License-Identifier: Apache-2.0
"""Concurrent sessions with all machines of a run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, final

from emulation.linux.record import RunRecord
from emulation.mininet.cluster.machines import Machines
from emulation.mininet.cluster.session import Session
from emulation.mininet.teardown import Teardown

__all__ = ["Sessions"]

T = TypeVar("T")


@final
class Sessions(Mapping[str, Session]):
    """Sessions by name of the machine, in the order of the machines' file.

    Before a session begins, `record` gets the command to clean up its machine. `teardown` gets the action to
    end the session.
    """

    def __init__(self, machines: Machines, record: RunRecord, teardown: Teardown) -> None:
        self._pool = ThreadPoolExecutor(len(machines.machines), "railyard-machines")
        teardown.add(self._pool.shutdown)
        self._sessions: dict[str, Session] = {}
        for machine in machines.machines:
            record.note_cleaner(machine.name, machine.command("-m", "emulation.linux.record"))
            session = self._sessions[machine.name] = Session(machine, record)
            teardown.add(lambda session=session, name=machine.name: _end(record, session, name))

    def __getitem__(self, machine: str) -> Session:
        """Return the session with a machine."""
        return self._sessions[machine]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all machines."""
        return iter(self._sessions)

    def __len__(self) -> int:
        return len(self._sessions)

    def each(self, act: Callable[[Session], T], machines: Iterable[str] | None = None) -> dict[str, T]:
        """Call `act` for all machines, or for `machines`, at the same time; return its results by machine."""
        names = list(dict.fromkeys(self if machines is None else machines))
        if len(names) == 1:
            return {names[0]: act(self[names[0]])}
        return dict(zip(names, self._pool.map(act, map(self.__getitem__, names)), strict=True))


def _end(record: RunRecord, session: Session, name: str) -> None:
    if session.close():
        record.note_cleaned(name)
