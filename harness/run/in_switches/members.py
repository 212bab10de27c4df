# SPDX-License-Identifier: Apache-2.0
"""The members of a collective in switches on a running testbed, and what replaces a lost tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import final

from controller.errors import PlanError
from controller.trees.laying import lay_trees
from controller.trees.slots import Allotment
from controller.trees.tree import SwitchTree
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.testbed import Testbed
from emulation.traffic.host.spec import AgentSpec
from emulation.traffic.host.stats import Outcome
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.memory.agent import MemoryAgent
from emulation.traffic.schedule.data import Array
from emulation.traffic.schedule.schedule import Sliced
from emulation.traffic.tree.member import TreeMember
from emulation.traffic.tree.spec import MemberParameters, MemberSpec, TreePort
from emulation.traffic.tree.work import Block
from harness.run.in_switches.plan import TreePlan
from harness.run.in_switches.ring import AroundRing, RingRest, ring_rest
from harness.run.in_switches.running import TreeSlots

__all__ = ["Describe", "Members"]

Describe = Callable[[Sliced, Sequence[Array]], Mapping[str, AgentSpec]]
"""Returns the agents of a schedule among the members, by name."""

# Trees that a job may lose before its members go on by themselves.
_MOVES = 16


@final
class Members:
    """Agents of a job, by name; rank r is `names[r]`.

    If a member in virtual time reports a tree as lost, the members get another one, over links that `down`
    does not name, for the blocks whose results some member lacks. `moves` counts these trees. Without another
    tree the members add up these blocks around a ring, whose agents `describe` returns. In real time a member
    whose tree is lost gives up.
    """

    def __init__(
        self,
        testbed: Testbed,
        slots: TreeSlots,
        plan: TreePlan,
        names: Sequence[str],
        inputs: Sequence[Array],
        transport: TransportParameters,
        down: Callable[[], Set[str]],
        describe: Describe,
        slice_elements: int,
    ) -> None:
        self._testbed = testbed
        self._slots = slots
        self._plan = plan
        self._names = tuple(names)
        self._inputs = inputs
        self._down = down
        self._describe = describe
        self._slice_elements = slice_elements
        self.moves = 0
        self.ring: RingRest | None = None
        # Blocks of each tree in use, by its allotment.
        given = [slots.give(tree, plan.slots) for tree in plan.trees]
        self._blocks: dict[int, tuple[Allotment, Sequence[Block]]] = {
            each.number: (each, blocks) for each, blocks in zip(given, plan.work.by_tree, strict=True)
        }
        parameters = MemberParameters(
            initial_rto_ps=transport.initial_rto_ps,
            min_rto_ps=transport.min_rto_ps,
            max_rto_ps=transport.max_rto_ps,
        )
        self._specs = {
            name: MemberSpec(
                rank,
                slots.fabric.node(name).address,
                inputs[rank],
                plan.work,
                tuple(self._port(name, each) for each in given),
                parameters,
            )
            for rank, name in enumerate(names)
        }
        self._agents: dict[str, TreeMember] = {}
        self._open: set[str] = set()
        self._ended: Callable[[], None] = self.take_back

    def attach(self, ended: Callable[[], None]) -> None:
        """Let all members begin; `ended` is called once when all have all results."""
        self._open = set(self._names)
        self._ended = ended
        self._testbed.attach_agents(self._specs, on_done=self._member_ended)
        if isinstance(self._testbed, EmbeddedTestbed):
            for name in self._names:
                agent = self._agents[name] = self._testbed.agents.of(name)
                agent.on_lost = self._lost

    def take_back(self) -> None:
        """Take the slots of all trees back."""
        for allotment, blocks in self._blocks.values():
            self._slots.take_back(allotment, self._frames(blocks))
        self._blocks.clear()

    def outcome(self, name: str) -> Outcome:
        """Return the outcome of a member, with what the ring has added up."""
        outcome = self._testbed.outcome(name)
        assert not isinstance(outcome, MemoryAgent)
        if self.ring is None:
            return outcome
        return AroundRing(self.ring, self._names.index(name), self._agents[name].result, outcome)

    def _frames(self, blocks: Sequence[Block]) -> int:
        """Return how many sequence numbers the blocks of a tree have used, those of their scales included."""
        return (1 + self._plan.work.scaled) * len(blocks)

    def _member_ended(self, name: str) -> None:
        if name in self._open:
            self._open.remove(name)
            if not self._open:
                # Not from inside the callback of an agent that is processing a frame.
                self._testbed.at(self._testbed.now_ps, self._ended)

    def _port(self, name: str, allotment: Allotment) -> TreePort:
        tree = allotment.tree
        switch = tree.parents[name]
        return TreePort(
            allotment.number,
            tree.port(name, switch),
            self._slots.fabric.node(switch).address,
            tuple(tree.spans[other][0] for other in self._names),
            allotment.window,
            allotment.first_block,
        )

    def _lost(self, number: int) -> None:
        # Not from inside the callback of an agent that is processing a timeout.
        self._testbed.at(self._testbed.now_ps, partial(self._replace, number))

    def _replace(self, number: int) -> None:
        """Give the members another tree; without one they go on around a ring."""
        if number not in self._blocks or self.ring is not None:
            return
        old, carried = self._blocks[number]
        others = [each.tree for each, _ in self._blocks.values() if each.number != number]
        tree = None if self.moves == _MOVES else self._other_tree(old.tree, others)
        if tree is None:
            self._go_around()
            return
        blocks = self._lacking(number)
        self._slots.take_back(old, self._frames(carried))
        new = self._slots.give(tree, self._plan.slots)
        self.moves += 1
        del self._blocks[number]
        self._blocks[new.number] = new, blocks
        assert isinstance(self._testbed, EmbeddedTestbed)
        for name, agent in self._agents.items():
            answer = agent.move(number, self._port(name, new), blocks, self._testbed.now_ps)
            self._testbed.agents.act(name, answer)

    def _go_around(self) -> None:
        """Let the members add up around a ring what one of them lacks; maxima and minima are given up."""
        blocks = [block for number in self._blocks for block in self._lacking(number)]
        self.ring = ring_rest(self._plan.work, blocks, self._inputs, self._slice_elements)
        if self.ring is None:
            return
        self.take_back()
        self._open = set(self._names)
        specs = self._describe(self.ring.sliced, self.ring.inputs)
        self._testbed.attach_agents(specs, on_done=self._member_ended)

    def _lacking(self, number: int) -> list[Block]:
        """Return the blocks of a tree for which at least one member still waits for the result."""
        wanted = {block for agent in self._agents.values() for block in agent.lacking(number)}
        return [block for block in self._blocks[number][1] if block in wanted]

    def _other_tree(self, lost: SwitchTree, others: Sequence[SwitchTree]) -> SwitchTree | None:
        """Return a new tree, or None if no tree is left.

        It avoids the links of the lost tree and of the trees in use, as far as possible.
        """
        down = self._down()
        own = {link.name for link in lost.links.values()}
        used = {link.name for tree in others for link in tree.links.values()}
        for avoided in (own | used, used, own, set[str]()):
            try:
                return lay_trees(self._slots.fabric, self._names, failed=down | avoided, most=1)[0]
            except PlanError:
                continue
        return None
