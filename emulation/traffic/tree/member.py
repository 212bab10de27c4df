# SPDX-License-Identifier: Apache-2.0
"""The agent of an NPU in a collective that switches carry out, sans-IO.

The member sends the first `window` blocks of each tree. The result of a block opens the block that has the
next version of its slot, `window` blocks later. A block whose result does not come in time is sent again.
After several times the member reports its tree as lost, and may get another one for the blocks that a member
lacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import final

import numpy as np

from emulation.traffic.frames.values import VALUE_BYTES, VL_DATA, Combining, ReductionKind
from emulation.traffic.host.iterations import IterationReport
from emulation.traffic.host.participant import Output
from emulation.traffic.host.stats import AgentStats
from emulation.traffic.schedule.data import Array
from emulation.traffic.tree.wire import EVERY_LEAF, ReductionFields, read_frame, write_frame
from emulation.traffic.tree.work import Block, Work

__all__ = ["LostBlock", "MemberParameters", "TreeMember", "TreePort"]


@final
@dataclass(frozen=True, slots=True)
class LostBlock:
    """A block whose result never came: the member gives the collective up."""

    rank: int
    tree: int
    block: int
    at_ps: int

    def __str__(self) -> str:
        return f"rank {self.rank} has no result of block {self.block} of tree {self.tree} at {self.at_ps} ps"


@final
@dataclass(frozen=True, slots=True)
class TreePort:
    """A member's place in a tree.

    Attributes:
        tree: Number of the tree in frames.
        port: Port of the member's own switch that leads to the first switch of the tree.
        switch: CNA of that switch.
        leaves: Leaf number of each rank.
        window: Slots of the tree.
        first_block: Number of its first block, above all that its cells have had before.
    """

    tree: int
    port: int
    switch: int
    leaves: tuple[int, ...]
    window: int
    first_block: int = 1


@final
@dataclass(frozen=True, slots=True)
class MemberParameters:
    """Timeouts of a block in ps, the first before a round trip is known, and repetitions of a block.

    After `report_after` repetitions of a block the member reports its tree as lost, after `max_retries` it
    gives the collective up.
    """

    initial_rto_ps: int = 500_000_000
    min_rto_ps: int = 20_000_000
    max_rto_ps: int = 10_000_000_000
    report_after: int = 4
    max_retries: int = 12


class _Sent:
    """A block under way."""

    __slots__ = ("deadline", "first_ps", "retries")

    def __init__(self, now: int, deadline: int) -> None:
        self.first_ps = now
        self.deadline = deadline
        self.retries = 0


@final
class _Tree:
    """Blocks of one tree by index: those that lack a result, and those under way."""

    __slots__ = ("blocks", "lacking", "port", "reported", "sent")

    def __init__(self, port: TreePort, blocks: Sequence[Block], lacking: Iterable[int]) -> None:
        self.port = port
        self.blocks = blocks
        self.lacking = set(lacking)
        self.reported = False
        self.sent: dict[int, _Sent] = {}


@final
class TreeMember:
    """One rank of a collective in switches.

    `data` is its array, which does not change; `result` is the array that the collective makes of it.
    `wrapped_blocks` counts the results in which a sum has left the range of its values. `on_lost` is called
    with the number of a tree whose results do not come.
    """

    def __init__(
        self,
        rank: int,
        address: int,
        data: Array,
        work: Work,
        ports: Sequence[TreePort],
        parameters: MemberParameters | None = None,
    ) -> None:
        self.rank = rank
        self.address = address
        self.on_done: Callable[[], None] | None = None
        self.on_lost: Callable[[int], None] | None = None
        self.failed: LostBlock | None = None
        self.finished_ps: int | None = None
        self.wrapped_blocks = 0
        self._parameters = parameters or MemberParameters()
        self._operation: Combining = work.operation
        self._item = data.dtype.itemsize
        self._dtype = data.dtype
        self._data = data.astype(data.dtype.newbyteorder(">")).tobytes()
        self._result = bytearray(self._data)
        self._trees = {
            port.tree: _Tree(port, blocks, range(len(blocks)))
            for port, blocks in zip(ports, work.by_tree, strict=True)
        }
        self._due: list[tuple[int, int, int]] = []  # deadline, tree, block; some are out of date
        self._rtt_ps = 0
        self._rtt_var_ps = 0
        self._counts: Counter[str] = Counter()
        self._junk: Counter[str] = Counter()

    @property
    def done(self) -> bool:
        """True once the results of all blocks are there."""
        return self.finished_ps is not None

    @property
    def result(self) -> Array:
        """The array with the results that have come."""
        return np.frombuffer(bytes(self._result), self._dtype.newbyteorder(">")).astype(self._dtype)

    @property
    def times(self) -> Sequence[tuple[int, int]]:
        """Empty: the collective is no graph."""
        return ()

    @property
    def log(self) -> Sequence[IterationReport]:
        """Empty: the collective has no iterations."""
        return ()

    @property
    def stats(self) -> AgentStats:
        """Counts: contributions sent and sent again, results received and received again."""
        return AgentStats(
            sent=self._counts["sent"],
            retransmitted=self._counts["again"],
            received=self._counts["received"],
            duplicates=self._counts["duplicates"],
            acks_sent=0,
            acks_received=0,
            rtt_ps=self._rtt_ps,
            junk=dict(sorted(self._junk.items())),
        )

    def start(self, now: int) -> Output:
        """Send the first window of every tree."""
        out: list[tuple[bytes, int]] = []
        for tree in self._trees.values():
            self._begin(tree, now, out)
        return self._answer(out, now)

    def lacking(self, number: int) -> list[Block]:
        """Return the blocks of a tree whose results have not come."""
        tree = self._trees[number]
        return [tree.blocks[index] for index in sorted(tree.lacking)]

    def move(self, number: int, port: TreePort, blocks: Sequence[Block], now: int) -> Output:
        """Leave a tree, and take another one for blocks whose results some member lacks.

        The member sends all of these blocks, also those of which it has the result.
        """
        old = self._trees.pop(number)
        lacking = {old.blocks[index] for index in old.lacking}
        tree = _Tree(port, blocks, (index for index, block in enumerate(blocks) if block in lacking))
        self._trees[port.tree] = tree
        out: list[tuple[bytes, int]] = []
        self._begin(tree, now, out)
        return self._answer(out, now)

    def _begin(self, tree: _Tree, now: int, out: list[tuple[bytes, int]]) -> None:
        for index in range(min(tree.port.window, len(tree.blocks))):
            out.append(self._send(tree, index, now))

    def on_frame(self, frame: bytes, now: int) -> Output:
        """Take a result; anything else is counted and dropped."""
        fields = read_frame(frame)
        out: list[tuple[bytes, int]] = []
        if isinstance(fields, str):
            self._junk[fields] += 1
        elif fields.kind != ReductionKind.RESULT or fields.dcna != self.address:
            self._junk["connection"] += 1
        elif (tree := self._trees.get(fields.tree)) is None:
            self._junk["tree"] += 1
        else:
            self._take(tree, fields, now, out)
        return self._answer(out, now)

    def on_timer(self, now: int) -> Output:
        """Send again the blocks whose time is over."""
        out: list[tuple[bytes, int]] = []
        while self._due and self._due[0][0] <= now and self.failed is None:
            due = heappop(self._due)
            if not self._is_due(*due):
                continue
            _, number, index = due
            tree = self._trees[number]
            sent = tree.sent[index]
            if sent.retries == self._parameters.max_retries:
                self.failed = LostBlock(self.rank, number, tree.port.first_block + index, now)
                break
            if sent.retries == self._parameters.report_after and not tree.reported:
                tree.reported = True
                if self.on_lost is not None:
                    self.on_lost(number)
            sent.retries += 1
            self._counts["again"] += 1
            sent.deadline = now + min(self._rto_ps << sent.retries, self._parameters.max_rto_ps)
            heappush(self._due, (sent.deadline, number, index))
            out.append(self._frame(tree, index))
        return self._answer(out, now)

    @property
    def _rto_ps(self) -> int:
        if not self._rtt_ps:
            return self._parameters.initial_rto_ps
        return max(self._parameters.min_rto_ps, self._rtt_ps + 4 * self._rtt_var_ps)

    def _answer(self, out: list[tuple[bytes, int]], now: int) -> Output:
        if self.finished_ps is None and not any(tree.lacking for tree in self._trees.values()):
            self.finished_ps = now
            if self.on_done is not None:
                self.on_done()
        while self._due and not self._is_due(*self._due[0]):
            heappop(self._due)
        return out, self._due[0][0] if self._due and self.failed is None else None

    def _is_due(self, deadline: int, number: int, index: int) -> bool:
        tree = self._trees.get(number)
        sent = None if tree is None else tree.sent.get(index)
        return sent is not None and sent.deadline == deadline

    def _send(self, tree: _Tree, index: int, now: int) -> tuple[bytes, int]:
        sent = tree.sent[index] = _Sent(now, now + self._rto_ps)
        heappush(self._due, (sent.deadline, tree.port.tree, index))
        self._counts["sent"] += 1
        return self._frame(tree, index)

    def _frame(self, tree: _Tree, index: int) -> tuple[bytes, int]:
        block, port = tree.blocks[index], tree.port
        values = b""
        if block.source is None or block.source == self.rank:
            values = self._data[block.start * self._item : block.stop * self._item]
            values = values.ljust(VALUE_BYTES, b"\0")
        fields = ReductionFields(
            ReductionKind.CONTRIBUTION,
            port.tree,
            port.first_block + index,
            self.address,
            port.switch,
            self._operation,
            wide=self._item == 8,
            owner=EVERY_LEAF if block.owner is None else port.leaves[block.owner],
            values=values,
            route=port.port,
        )
        return write_frame(fields), VL_DATA

    def _take(self, tree: _Tree, fields: ReductionFields, now: int, out: list[tuple[bytes, int]]) -> None:
        index = fields.block - tree.port.first_block
        if index not in tree.sent:
            self._counts["duplicates"] += 1
            return
        block = tree.blocks[index]
        if index in tree.lacking and (block.owner is None or block.owner == self.rank):
            size = (block.stop - block.start) * self._item
            if not fields.values:
                self._junk["values"] += 1
                return
            self._result[block.start * self._item : block.stop * self._item] = fields.values[:size]
        self._counts["received"] += 1
        self.wrapped_blocks += fields.wrapped and index in tree.lacking
        self._measure(tree.sent.pop(index), now)
        tree.lacking.discard(index)
        # The result of a slot's one version opens its other one.
        following = index + tree.port.window
        if following < len(tree.blocks):
            out.append(self._send(tree, following, now))

    def _measure(self, sent: _Sent, now: int) -> None:
        """Smooth the round trip (RFC 6298) of a block that was sent once."""
        if sent.retries:
            return
        taken = now - sent.first_ps
        if not self._rtt_ps:
            self._rtt_ps, self._rtt_var_ps = taken, taken // 2
            return
        self._rtt_var_ps += (abs(taken - self._rtt_ps) - self._rtt_var_ps) // 4
        self._rtt_ps += (taken - self._rtt_ps) // 8
