# SPDX-License-Identifier: Apache-2.0
"""Match the calls of ranks to operations; end and fail operations.

A collective begins when its last member has called it and the group's previous collective has ended at all
members, as on a stream of a communication library. A send begins when its receiver has called receive.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import final

from harness.ranks.calls import Call
from harness.ranks.session import End, FabricSession, Operation

__all__ = ["Failed", "Group", "Matching", "Work"]


@final
@dataclass(frozen=True, slots=True)
class Group:
    """A process group: a unique name, and the ranks of its members."""

    name: str
    members: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Failed:
    """Failure of an operation, in place of its result; `rank` is the rank that caused it, -1 if unknown."""

    why: str
    rank: int = -1


@final
@dataclass(slots=True, eq=False)
class Work:
    """A rank's part of an operation. Times are picoseconds.

    Attributes:
        rank: The rank that called.
        group: Group of the operation.
        call: The call.
        called_ps: Time at which the call takes effect.
        begun_ps: Time at which the operation begins on the fabric; -1 before.
        ended_ps: Time at which the work has a result or has failed; -1 before.
        result: Result or failure; None before the end.
        source: For a receive, index in the group of the sender; -1 before a sender is found.
        pending: Operation to which the call belongs until it ends; None for a send or receive alone.
    """

    rank: int
    group: Group
    call: Call
    called_ps: int
    begun_ps: int = -1
    ended_ps: int = -1
    result: bytes | Failed | None = None
    source: int = -1
    pending: _Pending | None = None

    @property
    def ended(self) -> bool:
        """True if the work has a result or has failed."""
        return self.result is not None


@final
@dataclass(slots=True, eq=False)
class _Pending:
    """An operation called by at least one member.

    Attributes:
        group: The group.
        works: Works of the members that have called, by index in the group; of a send 0 and its receive 1.
        operation: The operation on the fabric; None before it begins.
        members: Ranks in the order of the operation's members.
    """

    group: Group
    works: dict[int, Work] = field(default_factory=dict)
    operation: Operation | None = None
    members: tuple[int, ...] = ()

    def absent(self) -> list[int]:
        """Return the ranks of the group that have not called the operation."""
        return [rank for index, rank in enumerate(self.group.members) if index not in self.works]


@final
class Matching:
    """Matches calls to operations of all groups, and begins the operations on a fabric session.

    `nodes` has the node of each rank; `ended` is called with each work when it has ended.
    """

    def __init__(self, session: FabricSession, nodes: Sequence[str], ended: Callable[[Work], None]) -> None:
        self._session, self._nodes, self._ended = session, nodes, ended
        self._queues: dict[Group, deque[_Pending]] = defaultdict(deque)
        self._sends: dict[tuple[Group, int, int, int], deque[Work]] = defaultdict(deque)
        self._receives: dict[tuple[Group, int, int], deque[tuple[int, Work]]] = defaultdict(deque)
        self._under_way: dict[Operation, _Pending] = {}
        self._gone: dict[int, str] = {}  # ranks that will not call again, with the reason

    def join(self, work: Work) -> None:
        """Add a rank's call of a collective to the group's first operation that the rank has not yet called.

        With the last call, the operation may begin. It fails if calls differ or an absent rank has ended.
        """
        group, index = work.group, work.group.members.index(work.rank)
        pending = next((each for each in self._queues[group] if index not in each.works), None)
        if pending is None:
            pending = _Pending(group, members=group.members)
            self._queues[group].append(pending)
        first = next(iter(pending.works.values()), work)
        pending.works[index] = work
        work.pending = pending
        if first.call.form != work.call.form:
            why = (
                f"the calls of a group differ: rank {work.rank} calls {work.call.described()}; rank "
                f"{first.rank} calls {first.call.described()}"
            )
            self._fail(pending, Failed(why))
        elif ended := [rank for rank in pending.absent() if rank in self._gone]:
            self._fail(pending, Failed(self._gone[ended[0]], ended[0]))
        else:
            self._advance(group)

    def send(self, work: Work, target: int, tag: int) -> None:
        """Take a rank's call `work` to send to the group's member at index `target`.

        The call is matched to a receive with the same `tag`.
        """
        source = work.group.members.index(work.rank)
        self._sends[work.group, source, target, tag].append(work)
        self._pair(work.group, target, tag)
        self._check_partner(work, target)

    def receive(self, work: Work, source: int, tag: int) -> None:
        """Take a rank's call `work` to receive from the group's member at index `source`; -1: any member.

        The call is matched to a send with the same `tag`.
        """
        target = work.group.members.index(work.rank)
        self._receives[work.group, target, tag].append((source, work))
        self._pair(work.group, target, tag)
        if source >= 0:
            self._check_partner(work, source)

    def take(self, end: End) -> None:
        """Take the end of a member's part on the fabric: end its work, or fail the whole operation."""
        pending = self._under_way.get(end.operation)
        if pending is None:
            return
        rank = pending.members[end.member]
        work = next(work for work in pending.works.values() if work.rank == rank)
        if end.lost_member is not None:
            lost = pending.members[end.lost_member]
            self._fail(pending, Failed(f"rank {rank} has lost its connection to rank {lost}", lost))
            return
        self._end(work, end.result)
        if all(each.ended for each in pending.works.values()):
            del self._under_way[end.operation]
            self._leave(pending)
            _free(pending)

    def abort(self) -> None:
        """Take all operations off the fabric; no call ends any more."""
        for operation in self._under_way:
            self._session.abort(operation)
        self._under_way.clear()

    def gone(self, rank: int, why: str, *, lost: bool) -> None:
        """Fail the operations waiting for a rank after the rank's process has ended for the reason `why`.

        Operations that the rank has not called fail. If the rank is `lost`, its called and unfinished
        operations fail, too.
        """
        self._gone[rank] = why
        failed = Failed(why, rank)
        for queue in [*self._queues.values()]:
            for pending in [*queue]:
                if rank in pending.group.members and self._needs(pending, rank, lost=lost):
                    self._fail(pending, failed)
        for pending in [*self._under_way.values()]:
            if rank in pending.members and self._needs(pending, rank, lost=lost):
                self._fail(pending, failed)
        self._drop_pairs(rank)

    def _drop_pairs(self, rank: int) -> None:
        """Fail the waiting sends to a rank, and receives from it, after the end of the rank's process."""
        failed = Failed(self._gone[rank], rank)
        for (group, _, target, _), works in self._sends.items():
            if group.members[target] == rank:
                while works:
                    self._end(works.popleft(), failed)
        for (group, _, _), entries in self._receives.items():
            for source, work in [*entries]:
                if source >= 0 and group.members[source] == rank:
                    entries.remove((source, work))
                    self._end(work, failed)

    def time_out(self, work: Work, after_ps: int) -> None:
        """Fail a work and its operation, because the work's timeout of `after_ps` is over."""
        pending = work.pending
        why = f"{work.call.kind} has no result within its timeout of {after_ps / 10**12:g} s"
        failed = Failed(why)
        if pending is not None and pending.operation is None and (absent := pending.absent()):
            named = ", ".join(map(str, absent))
            failed = Failed(f"{why}: rank {named} has not called it", absent[0])
        if pending is not None:
            self._fail(pending, failed)
            return
        for works in self._sends.values():
            if work in works:
                works.remove(work)
        for entries in self._receives.values():
            for entry in [entry for entry in entries if entry[1] is work]:
                entries.remove(entry)
        self._end(work, failed)

    def _needs(self, pending: _Pending, rank: int, *, lost: bool) -> bool:
        """Return whether an operation cannot end after the end of a rank's process.

        This is so if the rank has not called the operation, or if it is `lost` before its part has ended.
        """
        own = next((work for work in pending.works.values() if work.rank == rank), None)
        return own is None or (lost and not own.ended)

    def _check_partner(self, work: Work, partner: int) -> None:
        rank = work.group.members[partner]
        if rank in self._gone and work.pending is None and not work.ended:
            self._drop_pairs(rank)

    def _pair(self, group: Group, target: int, tag: int) -> None:
        """Match the receives of the member at index `target` to sends with this tag, and begin the pairs.

        A receive from any member takes the send that was called first.
        """
        entries = self._receives[group, target, tag]
        for source, receive in [*entries]:
            sources = range(len(group.members)) if source < 0 else (source,)
            waiting = [works for s in sources if (works := self._sends[group, s, target, tag])]
            if not waiting:
                continue
            entries.remove((source, receive))
            send = min(waiting, key=lambda works: (works[0].called_ps, works[0].rank)).popleft()
            receive.source = group.members.index(send.rank)
            pending = _Pending(group, {0: send, 1: receive}, members=(send.rank, receive.rank))
            send.pending = receive.pending = pending
            if send.call.block != receive.call.block:
                sizes = f"{send.call.block} bytes to rank {receive.rank}, which expects {receive.call.block}"
                self._fail(pending, Failed(f"rank {send.rank} sends {sizes}"))
            else:
                self._begin(pending)

    def _advance(self, group: Group) -> None:
        """Begin the group's first operation if all members have called it and it has not begun."""
        queue = self._queues[group]
        if not queue or queue[0].operation is not None or queue[0].absent():
            return
        self._begin(queue[0])

    def _begin(self, pending: _Pending) -> None:
        works = sorted(pending.works.items())
        for _, work in works:
            work.begun_ps = self._session.now_ps
        calls = [work.call for _, work in works]
        if calls[0].kind == "all_to_all" and (why := _uneven(calls)):
            self._fail(pending, Failed(why))
            return
        if len(works) == 1:
            raise AssertionError("a group of one rank needs no fabric")
        nodes = tuple(self._nodes[rank] for rank in pending.members)
        pending.operation = self._session.begin(nodes, calls)
        self._under_way[pending.operation] = pending

    def _leave(self, pending: _Pending) -> None:
        queue = self._queues[pending.group]
        if pending in queue:
            queue.remove(pending)
            self._advance(pending.group)

    def _fail(self, pending: _Pending, failed: Failed) -> None:
        if pending.operation is not None:
            self._under_way.pop(pending.operation, None)
            self._session.abort(pending.operation)
        for _, work in sorted(pending.works.items()):
            if not work.ended:
                self._end(work, failed)
        self._leave(pending)
        _free(pending)

    def _end(self, work: Work, result: bytes | Failed) -> None:
        work.result, work.ended_ps = result, self._session.now_ps
        self._ended(work)


def _free(pending: _Pending) -> None:
    """Free the memory of an ended operation: records of works stay until the end of the run."""
    for work in pending.works.values():
        work.pending, work.call = None, replace(work.call, data=b"")


def _uneven(calls: Sequence[Call]) -> str:
    """Return the first mismatch between sent and expected sizes of members; empty if all sizes match."""
    for source, call in enumerate(calls):
        for target, other in enumerate(calls):
            if call.sent[target] != other.received[source]:
                return (
                    f"in an all_to_all, member {source} sends {call.sent[target]} bytes to member {target}, "
                    f"which expects {other.received[source]}"
                )
    return ""
