# SPDX-License-Identifier: Apache-2.0
"""The members of a collective in switches on a running testbed, and another tree in place of a lost one."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import final

from controller.errors import PlanError
from controller.trees.laying import lay_trees
from controller.trees.slots import Allotment
from controller.trees.tree import SwitchTree
from emulation.testbed import Testbed
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.data import Array
from emulation.traffic.tree.member import MemberParameters, TreeMember, TreePort
from emulation.traffic.tree.work import Block
from harness.run.in_switches.plan import TreePlan
from harness.run.in_switches.running import TreeSlots

__all__ = ["Members"]

# Trees that a job may lose before its members give up.
_MOVES = 16


@final
class Members:
    """Agents of a job, by name; rank r is `names[r]`.

    If a member reports a tree as lost, the members get another one, over links that `down` does not name, for
    the blocks whose results some member lacks. `moves` counts these trees.
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
    ) -> None:
        self._testbed = testbed
        self._slots = slots
        self._plan = plan
        self._names = tuple(names)
        self._down = down
        self.moves = 0
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
        self.agents: dict[str, TreeMember] = {}
        for rank, name in enumerate(names):
            ports = [self._port(name, each) for each in given]
            address = slots.fabric.node(name).address
            self.agents[name] = TreeMember(rank, address, inputs[rank], plan.work, ports, parameters)

    def attach(self, ended: Callable[[str], None]) -> None:
        """Let all members begin; `ended` is called with the name of a member that has all results."""
        for name, agent in self.agents.items():
            agent.on_done = partial(ended, name)
            agent.on_lost = self._lost
        for name, agent in self.agents.items():
            self._testbed.attach(name, agent)

    def take_back(self) -> None:
        """Take the slots of all trees back."""
        for allotment, blocks in self._blocks.values():
            self._slots.take_back(allotment, len(blocks))
        self._blocks.clear()

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
        """Give the members another tree; without one they give up after further timeouts."""
        if number not in self._blocks or self.moves == _MOVES:
            return
        old, carried = self._blocks[number]
        others = [each.tree for each, _ in self._blocks.values() if each.number != number]
        tree = self._other_tree(old.tree, others)
        if tree is None:
            return
        wanted = {block for agent in self.agents.values() for block in agent.lacking(number)}
        blocks = [block for block in carried if block in wanted]
        self._slots.take_back(old, len(carried))
        new = self._slots.give(tree, self._plan.slots)
        self.moves += 1
        del self._blocks[number]
        self._blocks[new.number] = new, blocks
        for name, agent in self.agents.items():
            answer = agent.move(number, self._port(name, new), blocks, self._testbed.now_ps)
            self._testbed.act(name, answer)

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
