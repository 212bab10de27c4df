# SPDX-License-Identifier: Apache-2.0
"""Serve the processes of all ranks, and keep their clocks and the fabric's virtual time in step.

Each rank is a process with a virtual clock of its own. A call takes effect `launch_ps` after the rank's
clock. Synchronisation is conservative: the fabric's time does not pass the earliest time at which a computing
rank could still call; the coordinator then waits for the process of this rank. Actions at equal times run in
the order of ranks. The result of a run therefore does not depend on the speed of the machine.

A rank sends messages: tuples of a name, the rank's clock in ps, and arguments. `work` is the rank's number of
a call.

    call     work, group name, members, call                   begin a collective
    send     work, group name, members, call, target, tag      begin a send
    receive  work, group name, members, call, source, tag      begin a receive
    wait     work, timeout in ps or None                       answered when the work has ended
    poll     work                                              answered at once: has the work ended?
    store    request, keys, values, timeout in ps or None      answered when the request is done
    note     name, value                                       recorded for the report
    end      reason of a failure, empty for success            the program has ended
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, final

from harness.ranks.calls import Call
from harness.ranks.operations import Failed, Group, Matching, Work
from harness.ranks.session import FabricSession
from harness.ranks.store import SharedStore

__all__ = ["LAUNCH_PS", "NOTICE_PS", "Coordinator", "RankRecord", "Waited"]

LAUNCH_PS = 5_000_000
"""Time in ps from a call until it takes effect: the cost of launching an operation."""

NOTICE_PS = 1_000_000_000
"""Time in ps from the failure or loss of a rank until other ranks know of it."""


@final
@dataclass(frozen=True, slots=True)
class Waited:
    """An interval in which a rank waited for a work to end, in ps."""

    work: Work
    from_ps: int
    to_ps: int


@final
@dataclass(slots=True, eq=False)
class RankRecord:
    """State and history of a rank.

    Attributes:
        rank: Number of the rank.
        node: Node of the fabric on which the rank runs.
        connection: Pipe to the process of the rank.
        begun_ps: Virtual time at which the process began.
        clock_ps: Virtual clock of the rank.
        computes: The process is running, and may call at any time; false while it awaits an answer.
        outcome: Empty while the rank runs; `done` after success; otherwise the reason of the failure.
        works: Works by the rank's numbers.
        all_works: All works in the order of the calls.
        waits: Intervals in which the rank waited.
        notes: Notes for the report: clock in ps, name, value.
    """

    rank: int
    node: str
    connection: Connection
    begun_ps: int = 0
    clock_ps: int = 0
    computes: bool = True
    outcome: str = ""
    works: dict[int, Work] = field(default_factory=dict)
    all_works: list[Work] = field(default_factory=list)
    waits: list[Waited] = field(default_factory=list)
    notes: list[tuple[int, str, Any]] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """True if the process failed or was lost, and not only stopped to start again."""
        return self.outcome not in ("", "done") and not self.outcome.startswith("stopped: ")


@final
class Coordinator:
    """Serves the processes of all ranks until each has ended.

    Args:
        session: The running fabric.
        nodes: Node of each rank.
        connections: Pipe to the process of each rank.
        launch_ps: Time from a call until it takes effect.
        lost: For ranks whose NPU a fault takes away, time of the fault in ps.
        joins: Reasons to stop all ranks, by time in ps: a node has come back.
        restarts: Stop all ranks NOTICE_PS after one of them has failed, in place of errors from PyTorch.
        stop_process: Ends the process of a rank.
        on_note: Called with each note of a rank, its name and its value.
        on_outcome: Called when a rank has ended.
    """

    def __init__(
        self,
        session: FabricSession,
        nodes: Sequence[str],
        connections: Sequence[Connection],
        *,
        launch_ps: int = LAUNCH_PS,
        lost: Mapping[int, int] | None = None,
        joins: Mapping[int, str] | None = None,
        restarts: bool = False,
        stop_process: Callable[[int], None] = lambda rank: None,
        on_note: Callable[[RankRecord, str, Any], None] = lambda *_: None,
        on_outcome: Callable[[RankRecord], None] = lambda _: None,
    ) -> None:
        self.ranks = [
            RankRecord(rank, node, connection, session.now_ps, session.now_ps)
            for rank, (node, connection) in enumerate(zip(nodes, connections, strict=True))
        ]
        self._session = session
        self._launch_ps = launch_ps
        self._stop_process = stop_process
        self._on_noted, self._on_outcome = on_note, on_outcome
        self._store = SharedStore()
        self._matching = Matching(session, nodes, self._work_ended)
        self._waiting: dict[Work, tuple[RankRecord, int]] = {}  # waiting rank, begin of the wait in ps
        self._actions: list[tuple[int, int, int, Callable[[], None]]] = []  # time in ps, rank, running number
        self._number = 0
        self._groups: dict[tuple[str, tuple[int, ...]], Group] = {}
        self._restarts = restarts
        self.stopped = ""  # reason for which all ranks were stopped
        for rank, at_ps in (lost or {}).items():
            self._at(at_ps, -1, partial(self._lose, self.ranks[rank]))
        for at_ps, why in (joins or {}).items():
            self._at(at_ps, -1, partial(self._stop, why))

    def run(self) -> None:
        """Serve the ranks until all have ended or are stopped; this advances the fabric's virtual time."""
        while not self.stopped and not all(rank.outcome for rank in self.ranks):
            horizon = self._hear()
            due = self._actions[0][0] if self._actions else None
            if due is not None and due <= self._session.now_ps:
                _, _, _, action = heapq.heappop(self._actions)
                action()
                continue
            bounds = [time for time in (due, horizon) if time is not None]
            ends = self._session.run(min(bounds) if bounds else None)
            for end in ends:
                self._matching.take(end)
            if not ends and not bounds:
                raise AssertionError("all ranks wait, but no event is left on the fabric")

    def _hear(self) -> int | None:
        """Receive messages until no rank can call at the present virtual time any more.

        Returns the earliest time in ps at which a later call can take effect; None if no rank computes.
        """
        while True:
            computing = [rank for rank in self.ranks if rank.computes]
            if not computing:
                return None
            horizon = min(rank.clock_ps for rank in computing) + self._launch_ps
            if horizon > self._session.now_ps:
                return horizon
            urgent = [rank for rank in computing if rank.clock_ps + self._launch_ps <= self._session.now_ps]
            wait([rank.connection for rank in urgent])
            for rank in urgent:
                while rank.computes and rank.connection.poll():
                    self._take(rank)

    def _take(self, rank: RankRecord) -> None:
        try:
            message = rank.connection.recv()
        except (EOFError, OSError):
            self._end(rank, f"rank {rank.rank} ({rank.node}) was killed")
            return
        name, clock_ps, *arguments = message
        rank.clock_ps = max(rank.clock_ps, clock_ps)
        handler: Callable[..., None] = getattr(self, f"_on_{name}")
        handler(rank, *arguments)

    def _at(self, time_ps: int, rank: int, action: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._actions, (time_ps, rank, self._number, action))

    def _effect(self, rank: RankRecord, action: Callable[[], None]) -> None:
        """Schedule the effect of a rank's call, `launch_ps` after its clock, unless the rank fails before."""

        def guarded() -> None:
            if not rank.outcome or rank.outcome == "done":
                action()

        self._at(rank.clock_ps + self._launch_ps, rank.rank, guarded)

    def _answer(self, rank: RankRecord, time_ps: int, *answer: object) -> None:
        if rank.outcome:
            return
        rank.clock_ps = max(rank.clock_ps, time_ps)
        rank.computes = True
        try:
            rank.connection.send((rank.clock_ps, *answer))
        except OSError:
            self._end(rank, f"rank {rank.rank} ({rank.node}) was killed")

    # Handlers of the messages call, send, receive, wait and poll.

    def _work(self, rank: RankRecord, number: int, name: str, members: tuple[int, ...], call: Call) -> Work:
        group = self._groups.setdefault((name, members), Group(name, members))
        work = Work(rank.rank, group, call, rank.clock_ps + self._launch_ps)
        rank.works[number] = work
        rank.all_works.append(work)
        return work

    def _on_call(
        self, rank: RankRecord, number: int, name: str, members: tuple[int, ...], call: Call
    ) -> None:
        work = self._work(rank, number, name, members, call)
        self._effect(rank, partial(self._matching.join, work))

    def _on_send(
        self, rank: RankRecord, number: int, name: str, members: tuple[int, ...], call: Call, *to: int
    ) -> None:
        work = self._work(rank, number, name, members, call)
        self._effect(rank, partial(self._matching.send, work, *to))

    def _on_receive(
        self, rank: RankRecord, number: int, name: str, members: tuple[int, ...], call: Call, *source: int
    ) -> None:
        work = self._work(rank, number, name, members, call)
        self._effect(rank, partial(self._matching.receive, work, *source))

    def _on_wait(self, rank: RankRecord, number: int, timeout_ps: int | None) -> None:
        work = rank.works[number]
        if work.ended:
            self._release(rank, work, rank.clock_ps)
            return
        rank.computes = False
        self._waiting[work] = rank, rank.clock_ps
        if timeout_ps is not None:
            self._at(rank.clock_ps + timeout_ps, rank.rank, partial(self._time_out, work, timeout_ps))

    def _time_out(self, work: Work, after_ps: int) -> None:
        if work in self._waiting and not work.ended:
            self._matching.time_out(work, after_ps)

    def _on_poll(self, rank: RankRecord, number: int) -> None:
        rank.computes = False
        work = rank.works[number]
        self._effect(rank, lambda: self._answer(rank, self._session.now_ps, work.ended))

    def _work_ended(self, work: Work) -> None:
        if work in self._waiting:
            rank, since_ps = self._waiting.pop(work)
            self._release(rank, work, since_ps)

    def _release(self, rank: RankRecord, work: Work, since_ps: int) -> None:
        until_ps = max(rank.clock_ps, work.ended_ps)
        rank.waits.append(Waited(work, since_ps, until_ps))
        result = work.result
        if isinstance(result, Failed):
            self._answer(rank, until_ps, False, result.why)
        else:
            self._answer(rank, until_ps, True, result, work.source)
            work.result = b""  # The rank has received the data; free the memory.

    # Handler of the message `store`, a request to the key-value store of all ranks.

    def _on_store(
        self,
        rank: RankRecord,
        request: str,
        keys: Sequence[str],
        values: Sequence[bytes],
        timeout_ps: int | None,
    ) -> None:
        rank.computes = False

        def answer(value: object) -> None:
            self._answer(rank, self._session.now_ps, True, value)

        answered = [False]

        def once(value: object) -> None:
            answered[0] = True
            answer(value)

        def give_up() -> None:
            if not answered[0]:
                self._store.forget(once)
                missing = ", ".join(self._store.missing(keys))
                why = f"the store got no value for {missing} within {(timeout_ps or 0) / 10**12:g} s"
                self._answer(rank, self._session.now_ps, False, why)

        self._effect(rank, partial(self._store.carry_out, request, keys, values, once))
        if timeout_ps is not None:
            self._at(rank.clock_ps + self._launch_ps + timeout_ps, rank.rank, give_up)

    # Handlers of the messages note and end, and of lost ranks.

    def _on_note(self, rank: RankRecord, name: str, value: object) -> None:
        rank.notes.append((rank.clock_ps, name, value))
        self._on_noted(rank, name, value)

    def _on_end(self, rank: RankRecord, why: str) -> None:
        if why:
            self._end(rank, f"rank {rank.rank} ({rank.node}) has failed: {why}")
        else:
            self._end(rank, "")

    def _end(self, rank: RankRecord, why: str) -> None:
        """Record the end of a rank's process, with the reason of a failure or an empty text.

        Operations that need the rank fail later: NOTICE_PS after a failure, or after the launch time.
        """
        if rank.outcome:
            return
        rank.outcome = why or "done"
        rank.computes = False
        self._on_outcome(rank)
        told = why or f"rank {rank.rank} ({rank.node}) has ended"
        at_ps = max(rank.clock_ps, self._session.now_ps) + (NOTICE_PS if why else self._launch_ps + 1)
        if why and self._restarts:
            self._at(at_ps, -1, partial(self._stop, why))
            return
        self._at(at_ps, rank.rank, partial(self._matching.gone, rank.rank, told, lost=bool(why)))

    def _stop(self, why: str) -> None:
        """Stop the processes of all running ranks.

        A process that computes is stopped at its next call that waits, so that its effects outside of the
        fabric do not depend on the speed of the machine.
        """
        self.stopped = why
        for rank in self.ranks:
            while rank.computes:
                self._take(rank)
            if not rank.outcome:
                rank.outcome = f"stopped: {why}"
                self._stop_process(rank.rank)
                self._on_outcome(rank)
        self._matching.abort()

    def _lose(self, rank: RankRecord) -> None:
        if not rank.outcome:
            self._stop_process(rank.rank)
            self._end(rank, f"rank {rank.rank} ({rank.node}) is lost")
