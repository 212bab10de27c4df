# SPDX-License-Identifier: Apache-2.0
"""A program of random operations on borrowed pages, with a check of every returned value, sans-IO.

Operations leave in the order of the program, many at a time. An operation waits while its bytes overlap the
bytes of an operation without a response, as in a processor's load-store queue. So the value that it must
return is known when it leaves. Stores and atomics go to all copies of a page, loads to the first living copy.
If a lender is given up, the program uses the other copies of its pages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import final

from emulation.traffic.frames.values import Operation, Status
from emulation.traffic.memory.extents import Directory
from emulation.traffic.memory.memory import ATOMIC_BYTES, Memory, operands
from emulation.traffic.memory.requester import Requester

__all__ = ["Borrower", "Mix", "Report"]

_COUNTER = -1  # address that marks an operation on a shared counter


@final
@dataclass(frozen=True, slots=True)
class Mix:
    """Weights of the kinds of operations in a program; `size` is the bytes of a load, store or message."""

    load: int = 40
    store: int = 30
    fetch_add: int = 10
    compare_swap: int = 10
    counter: int = 5
    message: int = 5
    size: int = 64

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """(kind, weight) of each kind whose weight is not 0."""
        names = ("load", "store", "fetch_add", "compare_swap", "counter", "message")
        return [(name, weight) for name in names if (weight := getattr(self, name))]


@final
@dataclass(slots=True)
class Report:
    """Outcome of a borrower's program.

    `operations` counts ended operations, and `latency_ps` is the time that each took. `counted` are the
    values that each shared counter returned, and `sent` the messages, in their order. `moved_pages` counts
    lost page copies. `wrong` counts failed operations and unexpected values, and `first_wrong` describes the
    first of them.
    """

    operations: int = 0
    latency_ps: list[int] = field(default_factory=list)
    counted: dict[int, list[int]] = field(default_factory=dict)
    sent: list[bytes] = field(default_factory=list)
    lost_lenders: list[int] = field(default_factory=list)
    moved_pages: int = 0
    wrong: int = 0
    first_wrong: str = ""


@final
class _Step:
    """An operation of a borrower's program.

    `expected` is the value that the operation must return; `waits` are the lenders that have not responded.
    """

    __slots__ = ("address", "began_ps", "counter", "data", "expected", "length", "operation", "waits")

    def __init__(self, operation: Operation, address: int, length: int = 0, data: bytes = b"") -> None:
        self.operation = operation
        self.address = address
        self.length = length
        self.data = data
        self.expected: bytes | None = None
        self.counter = 0
        self.began_ps = -1
        self.waits: set[int] = set()

    @property
    def bytes(self) -> range:
        """Bytes read or changed by the operation."""
        return range(self.address, self.address + max(self.length, 1))


@final
class Borrower:
    """The program of one borrower: random loads, stores, atomics and messages to its pages on lenders.

    `own` is the CNA of the borrower. `requesters` are the program's connections by lender, and `mailbox` is
    the node that receives its messages. `lost` is the reason why the program cannot continue, or empty.
    `report` is the outcome so far.
    """

    def __init__(
        self,
        own: int,
        directory: Directory,
        requesters: Mapping[int, Requester],
        *,
        operations: int,
        mix: Mix,
        seed: int,
        mailbox: int | None = None,
    ) -> None:
        self._own = own
        self._directory = directory
        self._pages = directory.pages[own]
        self._requesters = requesters
        self._mix = mix
        self._left = operations
        self._mailbox = mailbox
        self._random = Random(f"{seed} {own}")
        self._shadow = Memory(len(self._pages) * directory.page_bytes)
        self._waiting: _Step | None = None  # drawn, but not sent yet
        self._open: list[_Step] = []
        self._again: deque[_Step] = deque()  # loads whose lender was given up
        self._dead: set[int] = set()
        self.report = Report()
        self.lost = ""

    @property
    def done(self) -> bool:
        """True once every operation has its response."""
        return not self._left and self._waiting is None and not self._open

    @property
    def image(self) -> bytes:
        """Expected content of the borrowed pages, concatenated in order of their addresses."""
        return self._shadow.content

    def living(self, page: int) -> list[tuple[int, int]]:
        """Return the copies (lender, first byte) of a page on lenders not given up."""
        return [copy for copy in self._pages[page].copies if copy[0] not in self._dead]

    def pump(self, now: int) -> list[bytes]:
        """Return the requests allowed to leave now."""
        out: list[bytes] = []
        while self._again and not self.lost and self._leave(self._again[0], now, out):
            self._again.popleft()
        while not self.lost and (self._waiting is not None or self._left):
            if self._waiting is None:
                self._waiting = self._draw()
                self._left -= 1
            step = self._waiting
            if any(_overlap(step, other) for other in self._open) or not self._leave(step, now, out):
                break
            self._open.append(step)
            self._waiting = None
        return out

    def responded(self, lender: int, step: object, status: Status, data: bytes, now: int) -> None:
        """Check a lender's response to the operation `step`; the last response ends the operation."""
        assert isinstance(step, _Step)
        if status is not Status.DONE:
            self._complain(f"{step.operation.name} at {step.address}: {status.name}")
        elif step.expected is not None and data != step.expected:
            words = f"{data.hex()} instead of {step.expected.hex()}"
            self._complain(f"{step.operation.name} at {step.address} returned {words}")
        elif step.address == _COUNTER:
            value = int.from_bytes(data, "little")
            self.report.counted.setdefault(step.counter, []).append(value)
        step.waits.discard(lender)
        if not step.waits:
            self._end(step, now)

    def give_up(self, lender: int, now: int) -> None:
        """Continue without a lender, with the other copies of its pages; set `lost` if that is impossible."""
        self._dead.add(lender)
        self.report.lost_lenders.append(lender)
        if lender in (self._directory.counter_lender, self._mailbox):
            pending = [step for step in self._open if lender in step.waits and step.address == _COUNTER]
            mail = [step for step in self._open if step.operation is Operation.MESSAGE]
            if pending or (mail and lender == self._mailbox):
                self.lost = "shared counters are gone" if pending else "the receiver of messages is gone"
        for page in range(len(self._pages)):
            if lender in (copy[0] for copy in self._pages[page].copies):
                self.report.moved_pages += 1
                if not self.living(page):
                    self.lost = f"no copy of page {page} is left"
        for step in list(self._open):
            if lender in step.waits:
                step.waits.discard(lender)
                if step.operation is Operation.LOAD and not self.lost:
                    self._again.append(step)
                elif not step.waits:
                    self._end(step, now)

    def _end(self, step: _Step, now: int) -> None:
        self._open.remove(step)
        self.report.operations += 1
        self.report.latency_ps.append(now - step.began_ps)

    def _complain(self, words: str) -> None:
        self.report.wrong += 1
        self.report.first_wrong = self.report.first_wrong or words

    def _targets(self, step: _Step) -> list[tuple[int, int]]:
        """Return (lender, address in the lender's memory) of each target of an operation."""
        if step.operation is Operation.MESSAGE:
            assert self._mailbox is not None
            return [(self._mailbox, 0)]
        if step.address == _COUNTER:
            return [(self._directory.counter_lender, step.counter * ATOMIC_BYTES)]
        page, offset = divmod(step.address, self._directory.page_bytes)
        copies = self.living(page)
        wanted = copies[:1] if step.operation is Operation.LOAD else copies
        return [(lender, first + offset) for lender, first in wanted]

    def _leave(self, step: _Step, now: int, out: list[bytes]) -> bool:
        """Add an operation's requests to `out` if all its lenders' windows have room; return True if so."""
        targets = self._targets(step)
        if any(lender in self._dead for lender, _ in targets):
            self.lost = f"{step.operation.name} has no lender left"
            return False
        if not all(self._requesters[lender].has_room() for lender, _ in targets):
            return False
        if step.began_ps < 0:
            step.began_ps = now
            self._expect(step)
        for lender, address in targets:
            step.waits.add(lender)
            length = step.length if step.operation is Operation.LOAD else 0
            requester = self._requesters[lender]
            out.append(requester.request(step.operation, address, now, step, length=length, data=step.data))
        return True

    def _expect(self, step: _Step) -> None:
        """Set the expected value of an operation, by executing it on the shadow copy of the pages."""
        if step.operation is Operation.MESSAGE:
            self.report.sent.append(step.data)
        elif step.address != _COUNTER:
            _, value = self._shadow.execute(step.operation, step.address, step.length, step.data)
            step.expected = value

    def _draw(self) -> _Step:
        """Draw the next operation of the program."""
        random, mix = self._random, self._mix
        kinds = [
            (kind, weight)
            for kind, weight in mix.kinds
            if (kind != "counter" or self._directory.counters)
            and (kind != "message" or self._mailbox is not None)
        ]
        kind = random.choices([name for name, _ in kinds], [weight for _, weight in kinds])[0]
        if kind == "message":
            return _Step(Operation.MESSAGE, 0, data=random.randbytes(mix.size))
        if kind == "counter":
            step = _Step(Operation.FETCH_ADD, _COUNTER, ATOMIC_BYTES, operands(1))
            step.counter = random.randrange(self._directory.counters)
            return step
        size = mix.size if kind in ("load", "store") else ATOMIC_BYTES
        page = random.randrange(len(self._pages))
        places = (self._directory.page_bytes - size) // ATOMIC_BYTES + 1
        address = page * self._directory.page_bytes + random.randrange(places) * ATOMIC_BYTES
        if kind == "load":
            return _Step(Operation.LOAD, address, size)
        if kind == "store":
            return _Step(Operation.STORE, address, size, random.randbytes(size))
        if kind == "fetch_add":
            return _Step(Operation.FETCH_ADD, address, size, operands(random.getrandbits(64)))
        _, now_there = self._shadow.execute(Operation.LOAD, address, size, b"")
        right = int.from_bytes(now_there, "little")
        guess = right if random.random() < 0.5 else random.getrandbits(64)
        return _Step(Operation.COMPARE_SWAP, address, size, operands(guess, random.getrandbits(64)))


def _overlap(first: _Step, second: _Step) -> bool:
    """Return whether two operations have a byte in common; False for counters and messages."""
    if Operation.MESSAGE in (first.operation, second.operation) or _COUNTER in (
        first.address,
        second.address,
    ):
        return False
    return max(first.bytes.start, second.bytes.start) < min(first.bytes.stop, second.bytes.stop)
