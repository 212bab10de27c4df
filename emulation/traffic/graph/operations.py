# SPDX-License-Identifier: Apache-2.0
"""Traffic graphs and their operations.

An operation begins when all operations named in its `after` have ended at its member. A send ends at its
source when its last frame has left, and at its target when its last element is in the target's buffer.
Operations that touch the same elements always take effect in the order of the graph.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NoReturn, final

from emulation.errors import GraphError
from emulation.traffic.frames.values import Combine

__all__ = ["ELEMENT_BYTES", "KINDS", "Graph", "Kind", "Operation"]

Kind = Literal["send", "receive", "compute", "copy"]

KINDS: tuple[Kind, ...] = ("send", "receive", "compute", "copy")

ELEMENT_BYTES = 4

# Size of the message that tells a member that an operation of other members has ended.
_SIGNAL_BYTES = ELEMENT_BYTES


@final
@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a member. Times are picoseconds; sizes, `read` and `write` are bytes.

    Attributes:
        id: Name, unique in the graph.
        kind: `send` to a peer, `receive` of a send with a tag, `compute`, or `copy` inside the member.
        member: Node at which the operation happens; the source of a send.
        peer: Target of a send, source of a receive.
        size: Bytes of a send or a copy; of a receive, 0 for the size of the send.
        read: Offset of the data in the member's buffer, or the name of a send or copy whose data the member
            holds; None for random data that nothing else writes.
        write: Offset for the data in the receiving member's buffer; None for a range of its own.
        combine: COPY replaces elements, REDUCE adds to them.
        tag: Number that joins sends to receives: the nth receive of a tag takes the nth send.
        after: Names of operations that have to end first.
        at_ps: Earliest begin, counted from the begin of the job.
        delay_ps: Time from the end of the last operation in `after` to the begin.
        compute_ps: Duration of a computation; of a send or copy, of the computation before it.
        unit: Computing unit of the member; a unit carries out one computation at a time.
    """

    id: str
    kind: Kind
    member: str
    peer: str = ""
    size: int = 0
    read: int | str | None = None
    write: int | None = None
    combine: Combine = Combine.COPY
    tag: int | None = None
    after: tuple[str, ...] = ()
    at_ps: int = 0
    delay_ps: int = 0
    compute_ps: int = 0
    unit: int = 0

    @property
    def ends_at(self) -> tuple[str, ...]:
        """Members that see the operation end."""
        return (self.member, self.peer) if self.kind == "send" else (self.member,)


@final
@dataclass(frozen=True)
class Graph:
    """Operations in their order; GraphError names the operation and the key that are wrong.

    With `signals`, an operation may wait for an operation that ends at other members only: the graph then
    adds a send of one element to the waiting member.
    """

    name: str
    operations: tuple[Operation, ...]
    signals: bool = False

    def __post_init__(self) -> None:
        if not self.operations:
            raise GraphError("the graph has no operations", remedy="give one or more operations")
        seen: dict[str, int] = {}
        for number, operation in enumerate(self.operations):
            if operation.id in seen:
                self._refuse(number, "id", f"two operations are called {operation.id!r}", "give each a name")
            seen[operation.id] = number
        for number, operation in enumerate(self.operations):
            self._check(number, operation, seen)
        object.__setattr__(self, "_given", seen)
        if self.signals:
            object.__setattr__(self, "operations", tuple(_with_signals(self.operations, seen)))
        self.receive_of  # noqa: B018  # raises for receives without a send
        self._check_cycles()

    @cached_property
    def number(self) -> Mapping[str, int]:
        """Index of each operation by its name."""
        return {operation.id: number for number, operation in enumerate(self.operations)}

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Names of all members, in the order of their first operations."""
        names: dict[str, None] = {}
        for operation in self.operations:
            names.setdefault(operation.member)
            if operation.peer:
                names.setdefault(operation.peer)
        return tuple(names)

    @cached_property
    def receive_of(self) -> Mapping[int, int]:
        """Index of the matching receive by index of the send; sends without a receive are left out."""
        sends: dict[tuple[str, str, int | None], deque[int]] = defaultdict(deque)
        for number, operation in enumerate(self.operations):
            if operation.kind == "send":
                sends[operation.member, operation.peer, operation.tag].append(number)
        taken: dict[int, int] = {}
        received = set()
        for number, operation in enumerate(self.operations):
            if operation.kind != "receive":
                continue
            channel = (operation.peer, operation.member, operation.tag)
            received.add(channel)
            if not sends[channel]:
                self._refuse(
                    number,
                    "tag",
                    f"{operation.member} receives from {operation.peer} with tag {operation.tag} once more "
                    "than is sent",
                    "add the send, or leave out the receive",
                )
            send = sends[channel].popleft()
            size = self.operations[send].size
            if operation.size not in (0, size):
                self._refuse(
                    number,
                    "receive",
                    f"{operation.size} bytes, but the send {self.operations[send].id!r} has {size}",
                    "give the size of the send, or leave it out with `receive: 0`",
                )
            taken[send] = number
        for channel in received:
            if sends[channel]:
                number = sends[channel][0]
                self._refuse(
                    number,
                    "tag",
                    f"no receive of {channel[1]} takes the send {self.operations[number].id!r}",
                    "add the receive, or give the send another tag",
                )
        return taken

    def _refuse(self, number: int, key: str, message: str, remedy: str) -> NoReturn:
        given: Mapping[str, int] = getattr(self, "_given", {})  # indices without the signals
        index = given.get(self.operations[number].id, number)
        raise GraphError(message, operation=index, key=key, remedy=remedy)

    def _check(self, number: int, operation: Operation, known: Mapping[str, int]) -> None:
        kind = operation.kind
        if operation.peer == operation.member:
            key = "to" if kind == "send" else "from"
            self._refuse(number, key, f"{operation.member} cannot send to itself", "take a `copy`")
        if kind in ("send", "copy") and operation.size < 1:
            self._refuse(number, kind, f"{operation.size} bytes", "give 1 byte or more")
        for key in ("at_ps", "delay_ps", "compute_ps"):
            if getattr(operation, key) < 0:
                self._refuse(number, f"{key[:-3]}_us", "a time before 0", "give 0 or more")
        for key in ("read", "write"):
            position = getattr(operation, key)
            if isinstance(position, int) and (position < 0 or position % ELEMENT_BYTES):
                remedy = f"give a multiple of {ELEMENT_BYTES}, 0 or more"
                self._refuse(number, key, f"position {position}", remedy)
        if operation.combine is Combine.REDUCE and operation.size % ELEMENT_BYTES:
            self._refuse(
                number, kind, f"{operation.size} bytes to add up", f"give a multiple of {ELEMENT_BYTES}"
            )
        for name in operation.after:
            if name not in known:
                self._refuse(number, "after", f"no operation is called {name!r}", "name an operation")
            other = self.operations[known[name]]
            if operation.member not in other.ends_at and not self.signals:
                self._refuse(
                    number,
                    "after",
                    f"{operation.member} does not see the end of {name!r}, which is on "
                    f"{' and '.join(other.ends_at)}",
                    f"let a send to {operation.member} tell it, or write `signals: true`",
                )
        if isinstance(operation.read, str):
            self._check_source(number, operation, known)

    def _check_source(self, number: int, operation: Operation, known: Mapping[str, int]) -> None:
        name = operation.read
        assert isinstance(name, str)
        other = self.operations[known[name]] if name in known else None
        holder = "" if other is None else other.peer if other.kind == "send" else other.member
        if other is None or other.kind in ("receive", "compute") or holder != operation.member:
            self._refuse(
                number,
                "read",
                f"{name!r} puts no data on {operation.member}",
                f"name a send to {operation.member} or a copy there, or give a position in bytes",
            )
        if operation.size > other.size:
            self._refuse(
                number,
                operation.kind,
                f"{operation.size} bytes of {name!r}, which has {other.size}",
                f"give {other.size} or less",
            )

    def waits(self) -> list[list[int]]:
        """Return, for each operation, the indices of the operations it has to wait for."""
        before = []
        for operation in self.operations:
            named = [*operation.after, operation.read] if isinstance(operation.read, str) else operation.after
            before.append([self.end_of(str(name), operation.member) for name in named])
        for send, receive in self.receive_of.items():
            before[receive].append(send)
        return before

    def end_of(self, name: str, member: str) -> int:
        """Return the index of the operation on `member` whose end means the end of operation `name`.

        This is the operation `name` itself. If the operation is a send and `member` is its target, this is
        the matching receive instead, if there is a receive.
        """
        index = self.number[name]
        return index if member == self.operations[index].member else self.receive_of.get(index, index)

    def _check_cycles(self) -> None:
        before = self.waits()
        missing = [len(set(indices)) for indices in before]
        after: list[list[int]] = [[] for _ in before]
        for index, indices in enumerate(before):
            for other in set(indices):
                after[other].append(index)
        free = [index for index, count in enumerate(missing) if not count]
        while free:
            for index in after[free.pop()]:
                missing[index] -= 1
                if not missing[index]:
                    free.append(index)
        stuck = next((index for index, count in enumerate(missing) if count), None)
        if stuck is None:
            return
        way: dict[int, None] = {}
        while stuck not in way:
            way[stuck] = None
            stuck = next(other for other in before[stuck] if missing[other])
        circle = [*way][[*way].index(stuck) :]
        names = [self.operations[index].id for index in circle]
        shown = names if len(names) <= 8 else [*names[:7], f"{len(names) - 7} more"]
        self._refuse(
            min(circle),
            "after",
            f"operations wait for each other in a cycle: {', '.join(shown)}",
            "take a name out of `after`",
        )


def _with_signals(operations: Iterable[Operation], known: Mapping[str, int]) -> Iterable[Operation]:
    """Yield the operations, each preceded by new sends that tell its member of ends at other members."""
    operations = tuple(operations)
    told: dict[tuple[str, str], str] = {}
    for operation in operations:
        after = []
        for name in operation.after:
            other = operations[known[name]]
            if operation.member in other.ends_at:
                after.append(name)
                continue
            signal = told.get((name, operation.member))
            if signal is None:
                signal = told[name, operation.member] = f"{name}>{operation.member}"
                source = other.ends_at[-1]
                yield Operation(signal, "send", source, operation.member, _SIGNAL_BYTES, after=(name,))
            after.append(signal)
        yield replace(operation, after=tuple(after))
