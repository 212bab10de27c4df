# SPDX-License-Identifier: Apache-2.0
"""Members of collectives in switches: agents in C++ (emulation/engine/hosts/tree), made from descriptions.

The specification is the agent in Python of tests/oracle/tree_member.py; tests compare both frame by frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from emulation import _engine
from emulation.traffic.host.agents import Agent, RepeatingAgent, make_agents
from emulation.traffic.host.iterations import IterationReport
from emulation.traffic.host.participant import Output
from emulation.traffic.host.spec import AgentSpec
from emulation.traffic.host.stats import AgentStats, LostBlock
from emulation.traffic.schedule.data import Array
from emulation.traffic.tree.numbers import from_network, to_network
from emulation.traffic.tree.spec import MemberSpec, TreePort
from emulation.traffic.tree.work import Block

__all__ = ["TreeMember", "make_all", "make_members"]


@final
class TreeMember(_engine.TreeMember):
    """Agent of a rank of a collective in switches; `wrapped_blocks` counts results with an overflowed sum."""

    def __init__(self, spec: MemberSpec, shares: Sequence[_engine.TreeBlocks]) -> None:
        work, parameters = spec.work, spec.parameters
        content = np.frombuffer(to_network(spec.data, work.operation), np.uint8)
        super().__init__(
            rank=spec.rank,
            address=spec.address,
            data=content,
            trees=[(_port(port), share) for port, share in zip(spec.ports, shares, strict=True)],
            initial_rto_ps=parameters.initial_rto_ps,
            min_rto_ps=parameters.min_rto_ps,
            max_rto_ps=parameters.max_rto_ps,
            report_after=parameters.report_after,
            max_retries=parameters.max_retries,
            operation=int(work.operation),
            item_bytes=spec.data.dtype.itemsize,
            scaled=work.scaled,
        )
        self.rank = spec.rank
        self.address = spec.address
        self._dtype = spec.data.dtype
        self._operation = work.operation
        self._blocks = {port.tree: blocks for port, blocks in zip(spec.ports, work.by_tree, strict=True)}

    @property
    def result(self) -> Array:
        """The rank's array, with all results received so far."""
        return from_network(self.array().tobytes(), self._dtype, self._operation)

    @property
    def stats(self) -> AgentStats:
        """Counts of contributions sent and retransmitted, and of results received and received again."""
        return AgentStats(*self.counts())

    @property
    def failed(self) -> LostBlock | None:
        """The block for whose result the member has given up; None if it has not."""
        failure = self.failure()
        return None if failure is None else LostBlock(self.rank, *failure)

    @property
    def times(self) -> Sequence[tuple[int, int]]:
        """Empty: only traffic graphs have tasks."""
        return ()

    @property
    def log(self) -> Sequence[IterationReport]:
        """Empty: the collective has no iterations."""
        return ()

    def lacking(self, number: int) -> list[Block]:
        """Return the blocks of tree `number` whose results this member has not received yet."""
        blocks = self._blocks[number]
        return [blocks[index] for index in self.lacking_of(number)]

    def move(self, number: int, port: TreePort, blocks: Sequence[Block], now: int) -> Output:
        """Leave tree `number`, and send `blocks`, whose results some member lacks, up the tree of `port`.

        The member also sends blocks whose results it has, since other members need its values.
        """
        del self._blocks[number]
        self._blocks[port.tree] = tuple(blocks)
        return self.move_to(number, _port(port), _share(blocks), now)

    def _set_on_done(self, call: Callable[[], None]) -> None:
        self.call_when_done(call)

    def _set_on_lost(self, call: Callable[[int], None]) -> None:
        self.call_when_lost(call)

    on_done = property(fset=_set_on_done, doc="Called when the results of all blocks are there.")
    on_lost = property(fset=_set_on_lost, doc="Called with the number of a tree whose results do not come.")


def make_members(specs: Sequence[MemberSpec]) -> list[TreeMember]:
    """Return the agent of each description; agents with the same `Work` object share its blocks."""
    shares: dict[int, list[_engine.TreeBlocks]] = {}
    for spec in specs:
        if id(spec.work) not in shares:
            shares[id(spec.work)] = [_share(blocks) for blocks in spec.work.by_tree]
    return [TreeMember(spec, shares[id(spec.work)]) for spec in specs]


def make_all(
    specs: Sequence[AgentSpec | MemberSpec], threads: int = 1
) -> list[Agent | RepeatingAgent | TreeMember]:
    """Return the agent of each description, in order; `threads` draw the arrays of an AgentSpec."""
    agents = iter(make_agents([spec for spec in specs if isinstance(spec, AgentSpec)], threads))
    members = iter(make_members([spec for spec in specs if isinstance(spec, MemberSpec)]))
    return [next(agents if isinstance(spec, AgentSpec) else members) for spec in specs]


def _port(port: TreePort) -> tuple[Any, ...]:
    return port.tree, port.port, port.switch, list(port.leaves), port.window, port.first_block


def _share(blocks: Sequence[Block]) -> _engine.TreeBlocks:
    """Convert the blocks of a tree to the engine's object; source or owner -1 means all ranks."""
    rows = [
        (
            block.start,
            block.stop,
            -1 if block.source is None else block.source,
            -1 if block.owner is None else block.owner,
        )
        for block in blocks
    ]
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return _engine.TreeBlocks(*(np.ascontiguousarray(column) for column in columns))
