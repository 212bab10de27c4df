# SPDX-License-Identifier: Apache-2.0
"""Specification of an NPU's agent in a collective that switches carry out, sans-IO.

The member sends the first `window` blocks of each tree. The result of a block opens the block that has the
next version of its slot, `window` blocks later. A block whose result does not come in time is sent again.
After several times the member reports its tree as lost, and may get another one for the blocks that a member
lacks.

Sums of float32 take two frames a block. The first has the member's scale of the block, and its result the
largest scale of all members. The second has the numbers as integers of that scale. A frame with the numbers
of a block has the scale of the block one window later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import final

import numpy as np

from emulation.traffic.frames.values import VALUE_BYTES, VL_DATA, Combining, ReductionKind
from emulation.traffic.host.iterations import IterationReport
from emulation.traffic.host.participant import Output
from emulation.traffic.host.stats import AgentStats, LostBlock
from emulation.traffic.schedule.data import Array
from emulation.traffic.tree.numbers import from_network, scaled_bits, to_network
from emulation.traffic.tree.spec import MemberSpec, TreePort
from emulation.traffic.tree.wire import EVERY_LEAF, ReductionFields, read_frame, write_frame
from emulation.traffic.tree.work import Block
from tests.oracle.scaled_numbers import block_scale, from_scaled, to_scaled

__all__ = ["TreeMember"]


class _Sent:
    """A frame under way."""

    __slots__ = ("deadline", "first_ps", "retries")

    def __init__(self, now: int, deadline: int) -> None:
        self.first_ps = now
        self.deadline = deadline
        self.retries = 0


@final
class _Tree:
    """Blocks of one tree by index: those that lack a result, and frames under way by index.

    With scales, the first `lead` frames have no numbers, and frame i has those of block i - lead.
    """

    __slots__ = ("blocks", "frames", "lacking", "lead", "port", "reported", "scales", "sent", "step")

    def __init__(
        self, port: TreePort, blocks: Sequence[Block], lacking: Iterable[int], *, scaled: bool
    ) -> None:
        self.port = port
        self.blocks = blocks
        self.lacking = set(lacking)
        self.lead = min(port.window, len(blocks)) if scaled else 0
        self.step = self.lead if scaled else port.window
        self.frames = len(blocks) + self.lead
        self.scales: dict[int, int] = {}
        self.reported = False
        self.sent: dict[int, _Sent] = {}


@final
class TreeMember:
    """One rank of a collective in switches.

    `spec.data` is its array, which does not change; `result` is the array that the collective makes of it.
    `wrapped_blocks` counts the results in which a sum has left the range of its values. `on_lost` is called
    with the number of a tree whose results do not come.
    """

    def __init__(self, spec: MemberSpec) -> None:
        work, data = spec.work, spec.data
        self.rank = spec.rank
        self.address = spec.address
        self.on_done: Callable[[], None] | None = None
        self.on_lost: Callable[[int], None] | None = None
        self.failed: LostBlock | None = None
        self.finished_ps: int | None = None
        self.wrapped_blocks = 0
        self._parameters = spec.parameters
        self._operation: Combining = work.operation
        self._item = data.dtype.itemsize
        self._dtype = data.dtype
        self._scaled = work.scaled
        self._bits = scaled_bits(len(spec.ports[0].leaves))
        self._data = to_network(data, work.operation)
        self._result = bytearray(self._data)
        self._trees = {
            port.tree: _Tree(port, blocks, range(len(blocks)), scaled=work.scaled)
            for port, blocks in zip(spec.ports, work.by_tree, strict=True)
        }
        self._due: list[tuple[int, int, int]] = []  # deadline, tree, frame; some are out of date
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
        return from_network(bytes(self._result), self._dtype, self._operation)

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
        """Return the blocks of a tree for which this member still waits for the result."""
        tree = self._trees[number]
        return [tree.blocks[index] for index in sorted(tree.lacking)]

    def move(self, number: int, port: TreePort, blocks: Sequence[Block], now: int) -> Output:
        """Leave a tree, and take another one for blocks whose results some member lacks.

        The member sends all of these blocks, also those of which it has the result.
        """
        old = self._trees.pop(number)
        lacking = {old.blocks[index] for index in old.lacking}
        indices = (index for index, block in enumerate(blocks) if block in lacking)
        tree = _Tree(port, blocks, indices, scaled=self._scaled)
        self._trees[port.tree] = tree
        out: list[tuple[bytes, int]] = []
        self._begin(tree, now, out)
        return self._answer(out, now)

    def _begin(self, tree: _Tree, now: int, out: list[tuple[bytes, int]]) -> None:
        for index in range(min(tree.step, tree.frames)):
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
        port = tree.port
        block = tree.blocks[max(0, index - tree.lead)]
        scale = 0
        if self._scaled and index < len(tree.blocks):
            scale = block_scale(self._floats(tree.blocks[index]))
        values = b""
        if index >= tree.lead and (block.source is None or block.source == self.rank):
            if self._scaled:
                numbers = to_scaled(self._floats(block), tree.scales[index - tree.lead], self._bits)
                values = numbers.astype(">i4").tobytes()
            else:
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
            scale=scale,
            values=values,
            route=port.port,
        )
        return write_frame(fields), VL_DATA

    def _floats(self, block: Block) -> Array:
        return np.frombuffer(self._data, "<f4", block.stop - block.start, 4 * block.start)

    def _take(self, tree: _Tree, fields: ReductionFields, now: int, out: list[tuple[bytes, int]]) -> None:
        index = fields.block - tree.port.first_block
        if index not in tree.sent:
            self._counts["duplicates"] += 1
            return
        number = index - tree.lead
        if number in tree.lacking:
            block = tree.blocks[number]
            if block.owner is None or block.owner == self.rank:
                size = (block.stop - block.start) * self._item
                if not fields.values:
                    self._junk["values"] += 1
                    return
                values = fields.values[:size]
                if self._scaled:
                    sums = np.frombuffer(values, ">i4")
                    values = from_scaled(sums, tree.scales[number], self._bits).astype("<f4").tobytes()
                self._result[block.start * self._item : block.stop * self._item] = values
            self.wrapped_blocks += fields.wrapped
            tree.lacking.discard(number)
        if self._scaled and index < len(tree.blocks):
            tree.scales[index] = fields.scale
        self._counts["received"] += 1
        self._measure(tree.sent.pop(index), now)
        # The result of a slot's one version opens its other one.
        following = index + tree.step
        if following < tree.frames:
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
