# SPDX-License-Identifier: Apache-2.0
"""The members of a collective that switches reduce, on a running testbed; replaces a lost tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import final

from controller.errors import PlanError
from controller.trees.laying import lay_trees
from controller.trees.slots import Allotment
from controller.trees.tree import SwitchTree
from emulation.testbed import Testbed
from emulation.traffic.host.spec import AgentSpec
from emulation.traffic.host.stats import Outcome
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.memory.agent import MemoryAgent
from emulation.traffic.schedule.data import Array
from emulation.traffic.schedule.schedule import Sliced
from emulation.traffic.tree.spec import MemberParameters, MemberSpec, TreePort
from emulation.traffic.tree.work import Block
from emulation.tree_testbed import WaitingBlocks
from harness.run.in_switches.plan import TreePlan
from harness.run.in_switches.ring import AroundRing, RingRest, can_go_around, ring_rest
from harness.run.in_switches.running import TreeSlots

__all__ = ["Describe", "Members"]

Describe = Callable[[Sliced, Sequence[Array]], Mapping[str, AgentSpec]]
"""Function that returns agents for a schedule and inputs, by the name of the member."""

# Number of lost trees of a job that are replaced; after that the members use a ring.
_MOVES = 16


@final
class Members:
    """Agents of the members of a collective in switches; rank r is node `names[r]`, with array `inputs[r]`.

    `slots` gives the trees of `plan` their aggregator cells in switches. If a member reports a tree as lost,
    another tree carries the blocks with missing results, over links not in `down`. `moves` counts the
    replaced trees. Without another tree the members add up these blocks around a ring, in slices of
    `slice_elements`; `describe` returns the agents of the ring.
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
        # Allotment and blocks of each tree in use, by the number of the allotment.
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
        self._asked: set[int] = set()  # lost trees whose members have been asked for the blocks they lack
        self._leaving = False  # the members go around a ring, or are asked for the blocks of it
        self._open: set[str] = set()
        self._ended: Callable[[], None] = self.take_back

    def attach(self, ended: Callable[[], None]) -> None:
        """Attach the agents of all members; call `ended` once when all members have all results."""
        self._open = set(self._names)
        self._ended = ended
        self._testbed.attach_agents(self._specs, on_done=self._member_ended, on_tree_lost=self._lost)

    def take_back(self) -> None:
        """Return the slots of all trees to the controller."""
        for allotment, blocks in self._blocks.values():
            self._slots.take_back(allotment, self._frames(blocks))
        self._blocks.clear()

    def outcome(self, name: str) -> Outcome:
        """Return the outcome of a member, with the results of the ring if a tree was lost for good."""
        outcome = self._testbed.outcome(name)
        assert not isinstance(outcome, MemoryAgent)
        if self.ring is None:
            return outcome
        array = self._testbed.replaced_result(name)
        return AroundRing(self.ring, self._names.index(name), array, outcome)

    def _frames(self, blocks: Sequence[Block]) -> int:
        """Return the number of sequence numbers that the blocks of a tree use, including their scales."""
        return (1 + self._plan.work.scaled) * len(blocks)

    def _member_ended(self, name: str) -> None:
        if name in self._open:
            self._open.remove(name)
            if not self._open:
                # Call from the event loop: the agent that calls this method is still processing a frame.
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

    def _lost(self, _: str, number: int) -> None:
        """Ask the members which blocks of a lost tree they lack, unless they have been asked."""
        if number in self._blocks and number not in self._asked:
            self._asked.add(number)
            # Not from inside the callback of an agent that is processing a timeout.
            self._testbed.at(self._testbed.now_ps, partial(self._ask, number))

    def _ask(self, number: int) -> None:
        self._testbed.ask_waiting(self._names, number, partial(self._replace, number))

    def _replace(self, number: int, waiting: WaitingBlocks) -> None:
        """Replace the lost tree `number` by another tree, or by a ring if there is no other tree."""
        self._asked.remove(number)
        if number not in self._blocks or self._leaving:
            return
        old, carried = self._blocks[number]
        others = [each.tree for each, _ in self._blocks.values() if each.number != number]
        tree = None if self.moves == _MOVES else self._other_tree(old.tree, others)
        if tree is None:
            if can_go_around(self._plan.work, self._inputs):
                self._leaving = True
                self._gather({})
            return
        blocks = _lacking(carried, waiting)
        self._slots.take_back(old, self._frames(carried))
        new = self._slots.give(tree, self._plan.slots)
        self.moves += 1
        del self._blocks[number]
        self._blocks[new.number] = new, blocks
        self._testbed.move_members(number, {name: self._port(name, new) for name in self._names}, blocks)

    def _gather(self, lacking: Mapping[int, Sequence[Block]]) -> None:
        """Ask the members for the blocks that they lack, tree by tree, then start the ring."""
        number = next((each for each in self._blocks if each not in lacking), None)
        if number is None:
            # In real time the members may have received everything in the meantime.
            if blocks := [block for of_tree in lacking.values() for block in of_tree]:
                self._go_around(blocks)
            return
        carried = self._blocks[number][1]

        def answered(waiting: WaitingBlocks) -> None:
            self._gather({**lacking, number: _lacking(carried, waiting)})

        self._testbed.ask_waiting(self._names, number, answered)

    def _go_around(self, blocks: Sequence[Block]) -> None:
        """Attach agents to reduce the blocks around a ring of the members, without switches."""
        self.ring = ring_rest(blocks, self._inputs, self._slice_elements)
        self.take_back()
        self._open = set(self._names)
        specs = self._describe(self.ring.sliced, self.ring.inputs)
        self._testbed.attach_agents(specs, on_done=self._member_ended)

    def _other_tree(self, lost: SwitchTree, others: Sequence[SwitchTree]) -> SwitchTree | None:
        """Return a tree to replace the tree `lost`, or None if no tree is left.

        The tree avoids failed links, and as far as possible the links of `lost` and of `others`, which are in
        use.
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


def _lacking(carried: Sequence[Block], waiting: WaitingBlocks) -> list[Block]:
    """Return the blocks of a tree whose results at least one member waits for."""
    return [carried[index] for index in sorted(set().union(*waiting.values()))]
