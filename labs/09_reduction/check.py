# SPDX-License-Identifier: Apache-2.0
"""Check of lab 9: the student's slot, compiled, between workers and a network that loses and repeats."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from controller.p4runtime.replication import multicast_group
from controller.plan.entry import Entry, Exact
from emulation.embedded.testbed import EmbeddedTestbed
from harness.lessons.attempt import Attempt, Verdict, failed, passed
from harness.lessons.p4_program import compiled_program
from harness.run.boot import filled
from topologies import full_mesh

FILE = "slot.p4"
SWITCH = "npu0"
BLOCKS = 40
WINDOW = 4
VALUES = 8
EVERY_WORKER = 1
CONTRIBUTION, RESULT = 1, 2

_FRAME = struct.Struct(">6s6sHBBH32s")
_ETHERTYPE = 0x88B6


@dataclass(frozen=True)
class Trouble:
    """Probabilities of what the network does.

    A `late` frame comes again when its cell has another block.
    """

    repeated: float = 0.0
    lost: float = 0.0
    late: float = 0.0


class Slots:
    """The student's program on a switch; worker w is behind port w + 1."""

    def __init__(self, testbed: EmbeddedTestbed, workers: int) -> None:
        self._testbed = testbed
        self.workers = workers

    def send(self, worker: int, block: int, values: bytes) -> dict[int, tuple[int, int, bytes]]:
        """Send a contribution; return kind, block and values of the frames that leave, by worker."""
        frame = _FRAME.pack(b"\2" * 6, b"\4" * 6, _ETHERTYPE, CONTRIBUTION, 0, block, values)
        out = {}
        for port, answer in self._testbed.network.process(0, worker + 1, frame):
            *_, kind, _, number, summed = _FRAME.unpack(answer)
            out[port - 1] = kind, number, summed
        return out


class Exchange:
    """Workers that send their blocks through the slots; `wrong` is the first fault of the switch."""

    def __init__(self, slots: Slots, random: Random, trouble: Trouble) -> None:
        self._slots, self._random, self._trouble = slots, random, trouble
        count = slots.workers
        self._data = [[random.randbytes(4 * VALUES) for _ in range(BLOCKS + 1)] for _ in range(count)]
        self._next = [1] * count  # block that a worker sends next
        self._open: list[set[int]] = [set() for _ in range(count)]  # blocks that await their result
        self._done: list[set[int]] = [set() for _ in range(count)]
        self._taken: dict[int, set[int]] = {block: set() for block in range(1, BLOCKS + 1)}
        self._copies: list[tuple[int, int]] = []
        self.wrong = ""

    def run(self) -> None:
        """Let workers send in random order until all have all results or the switch does something wrong."""
        for _ in range(200 * BLOCKS):
            if self.wrong or all(len(done) == BLOCKS for done in self._done):
                return
            self._step()
        lacking = min(block for block in self._taken if any(block not in done for done in self._done))
        self.wrong = (
            self.wrong or f"block {lacking} never reaches all workers, although they ask again and again"
        )

    def _step(self) -> None:
        random = self._random
        if self._copies and random.random() < 0.3:
            old = [copy for copy in self._copies if self._is_old(*copy)]
            if old:
                copy = random.choice(old)
                self._copies.remove(copy)
                self._deliver(*copy, "a late copy of")
                return
        worker = random.randrange(self._slots.workers)
        waiting = sorted(self._open[worker])
        fresh = self._next[worker] <= BLOCKS and (
            self._next[worker] <= WINDOW or self._next[worker] - WINDOW in self._done[worker]
        )
        if fresh and (not waiting or random.random() < 0.7):
            block = self._next[worker]
            self._next[worker] += 1
            self._open[worker].add(block)
            if random.random() < self._trouble.late:
                self._copies.append((worker, block))
            if random.random() < self._trouble.lost:
                return  # the contribution is lost
            self._deliver(worker, block, "")
            if random.random() < self._trouble.repeated and not self._wrong_or_done(worker, block):
                self._deliver(worker, block, "a second copy of")
        elif waiting and (self._trouble.lost or self._trouble.late):
            self._deliver(worker, random.choice(waiting), "again,")

    def _is_old(self, worker: int, block: int) -> bool:
        """Return whether a copy's cell has had a contribution to a later block."""
        later = block + 2 * WINDOW
        return later <= BLOCKS and bool(self._taken[later])

    def _wrong_or_done(self, worker: int, block: int) -> bool:
        return bool(self.wrong) or block in self._done[worker]

    def _deliver(self, worker: int, block: int, word: str) -> None:
        """Let a contribution arrive at the switch, and judge and distribute what leaves."""
        everyone = set(range(self._slots.workers))
        answers = self._slots.send(worker, block, self._data[worker][block])
        before = set(self._taken[block])
        stale = word.startswith("a late") and self._is_old(worker, block)
        if not stale:
            self._taken[block].add(worker)
        what = f"{word} worker {worker}'s frame of block {block}".strip()
        complete = self._taken[block] == everyone
        if stale or not complete:
            if answers:
                have = len(before)
                why = (
                    "its cell has a later block"
                    if stale
                    else f"{have} of {len(everyone)} workers had sent before"
                )
                self.wrong = f"{what}: {len(answers)} frames left, and none should: {why}"
            return
        wanted = {worker} if before == everyone else everyone
        if set(answers) != wanted:
            receivers = ", ".join(map(str, sorted(answers))) or "nobody"
            self.wrong = f"{what} should bring the result to {_named(wanted)}, and it went to {receivers}"
            return
        right = _sum([own[block] for own in self._data])
        for receiver, (kind, number, values) in answers.items():
            if kind != RESULT or number != block:
                self.wrong = (
                    f"{what}: kind {kind}, block {number} left; it should be kind {RESULT}, block {block}"
                )
                return
            if values != right:
                at = next(i for i in range(VALUES) if values[4 * i : 4 * i + 4] != right[4 * i : 4 * i + 4])
                got, due = (int.from_bytes(each[4 * at : 4 * at + 4], "big") for each in (values, right))
                self.wrong = f"{what}: value {at} of the result is {got:#010x} and should be {due:#010x}"
                return
            if self._random.random() >= self._trouble.lost:
                self._open[receiver].discard(block)
                self._done[receiver].add(block)


def sums(attempt: Attempt) -> Verdict:
    """Every worker sends each block once, in any order within a window."""
    return _judged(attempt, "sums", "nothing is lost or repeated", Trouble())


def repeated(attempt: Attempt) -> Verdict:
    """Frames come twice before their block is complete."""
    return _judged(attempt, "repeated", "half of the frames come twice", Trouble(repeated=0.5))


def lost(attempt: Attempt) -> Verdict:
    """Contributions and results are lost, so workers send again."""
    return _judged(attempt, "lost", "a fifth of the frames is lost", Trouble(repeated=0.2, lost=0.2))


def late(attempt: Attempt) -> Verdict:
    """Copies of frames come when their cell has a later block."""
    return _judged(attempt, "late", "frames come late as well", Trouble(repeated=0.2, lost=0.2, late=0.4))


def _judged(attempt: Attempt, purpose: str, what: str, trouble: Trouble) -> Verdict:
    random = attempt.random(purpose)
    expected = f"3 exchanges of {BLOCKS} blocks, in which {what}: every worker gets every sum"
    for number in range(1, 4):
        workers = random.randint(2, 6)
        with _running(attempt, workers) as slots:
            exchange = Exchange(slots, random, trouble)
            exchange.run()
        if exchange.wrong:
            return failed(expected, f"exchange {number}, {workers} workers: {exchange.wrong}", FILE)
    return passed(expected, "all did")


@contextmanager
def _running(attempt: Attempt, workers: int) -> Iterator[Slots]:
    program = compiled_program(attempt)
    fabric = full_mesh((workers + 1,))
    rows = [
        Entry(
            "worker",
            (("port", Exact(worker + 1)),),
            "set_worker",
            (("own", 1 << worker), ("all", (1 << workers) - 1)),
        )
        for worker in range(workers)
    ]
    testbed = EmbeddedTestbed(fabric)
    with filled(testbed, {SWITCH: program}, {SWITCH: rows}) as up:
        up.client.replicate(SWITCH, [multicast_group(EVERY_WORKER, tuple(range(1, workers + 1)))])
        yield Slots(testbed, workers)


def _sum(blocks: Sequence[bytes]) -> bytes:
    """Return the sums of values of 32 bits, which wrap."""
    columns = zip(*(struct.unpack(f">{VALUES}I", block) for block in blocks), strict=True)
    return struct.pack(f">{VALUES}I", *(sum(column) & 0xFFFFFFFF for column in columns))


def _named(workers: set[int]) -> str:
    return f"worker {min(workers)} alone" if len(workers) == 1 else "all workers"
